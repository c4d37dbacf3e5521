import json

import datasets
import pyarrow.parquet as pq
import pytest

from core.tokens import tokenize
from core.tokens.exports import ExportExists, export


def test_exports_hold_the_rows_of_the_dataset_in_order(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    rows = datasets.load_from_disk(str(tmp_path / "set")).with_format(None)
    assert export(tmp_path / "set", tmp_path / "rows.jsonl", "jsonl") == len(rows)
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [line["input_ids"] for line in lines] == rows["input_ids"]
    assert [line["loss_mask"] for line in lines] == [[int(one) for one in mask] for mask in rows["loss_mask"]]
    export(tmp_path / "set", tmp_path / "rows.parquet", "parquet")
    table = pq.read_table(tmp_path / "rows.parquet")
    assert table["input_ids"].to_pylist() == rows["input_ids"]
    assert table["row_id"].to_pylist() == rows["row_id"]
    assert sorted(path.name for path in tmp_path.glob("*.writing")) == []


def test_an_export_never_replaces_a_file(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    (tmp_path / "rows.jsonl").write_text("mine")
    with pytest.raises(ExportExists):
        export(tmp_path / "set", tmp_path / "rows.jsonl", "jsonl")
    assert (tmp_path / "rows.jsonl").read_text() == "mine"
