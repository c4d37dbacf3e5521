"""Files that are not what their names say, and paths that are no source at all."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import InputError
from core.sources import UnreadableSource, read_rows


def parquet_bytes(tmp_path: Path) -> bytes:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "made")
    return (tmp_path / "made").read_bytes()


CONTENTS = {
    "html": (b"  <!DOCTYPE html><html><body>Not found</body></html>", "an HTML page"),
    "html without doctype": (b"\n<HTML lang='en'>", "an HTML page"),
    "xml": (b"<?xml version='1.0'?><a/>", "an XML document"),
    "pdf": (b"%PDF-1.7\n1 0 obj", "a PDF document"),
    "zip": (b"PK\x03\x04" + b"\0" * 60, "a zip archive"),
    "png": (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    "lfs pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", "a Git LFS pointer"),
    "utf-16": ('{"a": 1}'.encode("utf-16"), "UTF-16 text"),
    "binary": (b"\x01\0\0\0" * 40, "binary data"),
    "gzip": (gzip.compress(b'{"a": 1}\n'), "gzip-compressed data"),
}


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl", "rows.csv", "rows.parquet", "rows.arrow"])
@pytest.mark.parametrize("kind", CONTENTS)
def test_a_file_that_is_not_what_its_name_says_is_refused_with_what_it_is(tmp_path: Path, kind: str, name: str) -> None:
    content, found = CONTENTS[kind]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableSource, match="is not what its name says") as error:
        read_rows(tmp_path / name)
    assert found in str(error.value)
    assert name in str(error.value)


def test_parquet_under_another_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(parquet_bytes(tmp_path))
    with pytest.raises(UnreadableSource, match="it holds Parquet data"):
        read_rows(tmp_path / "rows.jsonl")


def test_text_under_a_compressed_or_columnar_name_is_refused(tmp_path: Path) -> None:
    for name in ("rows.jsonl.gz", "rows.jsonl.zst", "rows.parquet", "rows.arrow"):
        (tmp_path / name).write_text('{"a": 1}\n')
        with pytest.raises(UnreadableSource, match="is not what its name says"):
            read_rows(tmp_path / name)


def test_what_is_inside_a_compressed_file_is_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(b"<html><body>sign in</body></html>"))
    with pytest.raises(UnreadableSource, match="an HTML page"):
        read_rows(tmp_path / "rows.jsonl.gz")


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_bytes(parquet_bytes(tmp_path)[:-20])
    with pytest.raises(UnreadableSource, match="damaged Parquet file"):
        read_rows(tmp_path / "rows.parquet")


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl", "rows.csv", "rows.parquet", "rows.arrow", "rows.jsonl.gz"])
def test_an_empty_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(UnreadableSource, match="is empty"):
        read_rows(tmp_path / name)


def test_a_compressed_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(UnreadableSource, match="there is no row in it"):
        read_rows(tmp_path / "rows.jsonl.gz")


def test_other_kinds_of_files_are_refused_with_the_kinds_that_are_read(tmp_path: Path) -> None:
    for name in ("rows.txt", "rows", "rows.xlsx", "rows.gz", ".jsonl"):
        (tmp_path / name).write_text('{"a": 1}\n')
        with pytest.raises(UnreadableSource, match=r"give \.json, \.jsonl"):
            read_rows(tmp_path / name)


def test_a_missing_path_is_refused_before_any_row(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSource, match=r"nowhere\.jsonl' does not exist"):
        read_rows(tmp_path / "nowhere.jsonl")


def test_every_refusal_is_one_sentence_about_the_input(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_bytes(b"%PDF-1.7")
    with pytest.raises(InputError) as error:
        read_rows(tmp_path / "rows.json")
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2
