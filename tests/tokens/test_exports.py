import json
import shutil

import datasets
import pyarrow.parquet as pq
import pytest

from core.sources import Library
from core.tokens import tokenize
from core.tokens.exports import ExportExists, ExportUnwritable, TokenizerChanged, export
from core.tokens.target import load_target


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


def test_the_text_of_a_row_is_what_the_template_rendered_as_far_as_the_row_goes(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    export(tmp_path / "set", tmp_path / "rows.txt", "text")
    lines = [json.loads(line) for line in (tmp_path / "rows.txt").read_text().splitlines()]
    rows = datasets.load_from_disk(str(tmp_path / "set")).with_format(None)
    assert [line["row_id"] for line in lines] == rows["row_id"]
    assert [line["source"] for line in lines] == rows["source"]
    library, template = Library(two_sources), load_target(recipe).template
    rendered: dict[str, str] = {}
    for name in ("facts", "talks"):
        for row in library.source(name).index()["row"].to_pylist():
            conversation = library.source(name).conversation(row)
            if not any("forbidden" in message.content for message in conversation.messages):
                rendered[conversation.row_id] = template.render(([one.to_json() for one in conversation.messages], None))
    for line in lines:
        assert line["text"] and rendered[line["row_id"]].startswith(line["text"])
    assert sum(rendered[line["row_id"]] == line["text"] for line in lines) > len(lines) / 2


def test_text_is_refused_for_another_tokenizer(two_sources, recipe, tmp_path, target):
    copy = tmp_path / "target"
    shutil.copytree(target, copy)
    mine = recipe.model_copy(update={"target": recipe.target.model_copy(update={"path": str(copy)})})
    tokenize(two_sources, mine, tmp_path / "set")
    (copy / "tokenizer.json").write_text((copy / "tokenizer.json").read_text() + "\n")
    with pytest.raises(TokenizerChanged, match="not the one the rows were made with"):
        export(tmp_path / "set", tmp_path / "rows.txt", "text")
    assert not (tmp_path / "rows.txt").exists()


def test_an_export_that_cannot_be_written_is_one_sentence(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    with pytest.raises(ExportUnwritable, match="cannot be written"):
        export(tmp_path / "set", tmp_path / "nowhere" / "rows.jsonl", "jsonl")
