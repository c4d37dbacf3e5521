"""Folders of data files, among them what `save_to_disk` writes."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.sources import UnreadableSource, read_rows
from core.sources.readers import data_files, empty_files


def test_files_of_all_kinds_are_read_in_order_as_one_sequence(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.jsonl").write_text('{"n": 0}\n{"n": 1}\n')
    pq.write_table(pa.table({"n": [2]}), tmp_path / "b" / "one.parquet")
    (tmp_path / "c.csv").write_text("n\n3\n")
    rows = list(read_rows(tmp_path))
    assert [row.value["n"] for row in rows] == [0, 1, 2, "3"]
    assert [row.position for row in rows] == [0, 1, 2, 3]


def test_descriptions_beside_the_data_are_not_data(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text('{"n": 0}\n')
    for name in ("README.md", "LICENSE", "expected.json", "dataset_info.json", ".hidden.jsonl", "make.py", "state.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.jsonl").write_text('{"n": 9}\n')
    assert [file.path.name for file in data_files(tmp_path)] == ["data.jsonl"]


def test_a_bad_row_names_its_file_below_the_folder(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "x.jsonl").write_text('{"n": 0}\nbad\n')
    *_, last = read_rows(tmp_path)
    assert str(last.detail).startswith("part/x.jsonl line 2")


def test_a_wrong_file_in_a_folder_is_named_before_any_row_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"n": 0}\n')
    (tmp_path / "b.jsonl").write_text("<html>gone</html>")
    with pytest.raises(UnreadableSource, match=r"b\.jsonl' is not what its name says"):
        read_rows(tmp_path)


def test_an_empty_file_costs_nothing_but_itself(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"n": 0}\n')
    for name, content in {"b.jsonl": b"", "c.csv": b"\n", "d.json": b" ", "e.jsonl.gz": gzip.compress(b""), "f.parquet": b""}.items():
        (tmp_path / name).write_bytes(content)
    assert [row.value for row in read_rows(tmp_path)] == [{"n": 0}]
    assert empty_files(tmp_path) == ["b.jsonl", "c.csv", "d.json", "e.jsonl.gz", "f.parquet"]
    with pytest.raises(UnreadableSource, match="empty"):
        read_rows(tmp_path / "b.jsonl")


@pytest.mark.parametrize("files", [(), ("README.md",), ("notes.txt", "expected.json")])
def test_a_folder_without_data_files_is_refused(tmp_path: Path, files: tuple[str, ...]) -> None:
    for name in files:
        (tmp_path / name).write_text("x")
    with pytest.raises(UnreadableSource, match="holds no data files"):
        read_rows(tmp_path)


def test_a_saved_data_set_is_read_by_its_state(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    saved = datasets.Dataset.from_list([{"n": index, "tags": ["x"] * index} for index in range(5)])
    saved.save_to_disk(tmp_path / "set", num_shards=2)
    (tmp_path / "set" / "cache-123.arrow").write_bytes(b"left by a map")
    assert [row.value for row in read_rows(tmp_path / "set")] == [{"n": index, "tags": ["x"] * index} for index in range(5)]
    datasets.DatasetDict({"train": saved, "test": saved.select([0])}).save_to_disk(tmp_path / "sets")
    assert [row.value["n"] for row in read_rows(tmp_path / "sets")] == [0, 0, 1, 2, 3, 4]


def test_a_saved_data_set_that_lacks_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-0.arrow"}]}))
    with pytest.raises(UnreadableSource, match=r"lacks its file 'data-0\.arrow'"):
        read_rows(tmp_path)


def test_a_link_back_to_its_own_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "a.jsonl").write_text('{"n": 0}\n')
    (tmp_path / "part" / "up").symlink_to(tmp_path)
    (tmp_path / "other").symlink_to(tmp_path / "part")
    assert [file.path.relative_to(tmp_path).as_posix() for file in data_files(tmp_path)] == ["other/a.jsonl", "part/a.jsonl"]
