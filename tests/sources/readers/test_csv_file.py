"""CSV and TSV files."""

import csv
import gzip
from pathlib import Path

import pytest

from core.sources import UnreadableSource, read_rows

ROWS = [{"instruction": 'say "hi",\nplease', "output": "hi"}, {"instruction": "", "output": "é" * 200_000}]


def write(path: Path, delimiter: str = ",", encoding: str = "utf-8") -> None:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, ["instruction", "output"], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(ROWS)


def test_records_become_objects_of_strings(tmp_path: Path) -> None:
    write(tmp_path / "rows.csv")
    write(tmp_path / "rows.tsv", delimiter="\t")
    write(tmp_path / "bom.csv", encoding="utf-8-sig")
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress((tmp_path / "rows.csv").read_bytes()))
    for name in ("rows.csv", "rows.tsv", "bom.csv", "rows.csv.gz"):
        # csv ends its own lines with CR LF; a line end inside a field is the field's own
        assert [row.value for row in read_rows(tmp_path / name)] == ROWS


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_what_stands_between_fields_is_seen_in_the_header(tmp_path: Path, name: str, delimiter: str) -> None:
    write(tmp_path / name, delimiter=delimiter)
    assert [row.value for row in read_rows(tmp_path / name)] == ROWS
    (tmp_path / name).write_text(f"sep={delimiter}\n" + (tmp_path / name).read_text())
    assert [row.value["output"] for row in read_rows(tmp_path / name)] == [row["output"] for row in ROWS]


def test_an_unnamed_first_column_is_a_column(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(",prompt,response\n0,a;b,c\n")
    assert [row.value for row in read_rows(tmp_path / "rows.csv")] == [{"": "0", "prompt": "a;b", "response": "c"}]


def test_one_column_needs_nothing_between_fields(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("text\nhello\n")
    assert [row.value for row in read_rows(tmp_path / "rows.csv")] == [{"text": "hello"}]


def test_a_record_with_another_number_of_fields_costs_itself(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3\n\n4,5,6\n7,8\n")
    rows = list(read_rows(tmp_path / "rows.csv"))
    assert [row.problem or row.value for row in rows] == [{"a": "1", "b": "2"}, "unreadable", "unreadable", {"a": "7", "b": "8"}]
    assert rows[1].detail == "rows.csv line 3: 1 fields where the header names 2"


def test_a_wrong_byte_costs_its_record(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(b"a,b\n1,\xe9\n3,4\n")
    rows = list(read_rows(tmp_path / "rows.csv"))
    assert [row.problem or row.value for row in rows] == ["bad_encoding", {"a": "3", "b": "4"}]
    assert "line 2: byte 0xe9" in str(rows[0].detail)


def test_a_header_that_names_a_column_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,a\n1,2\n")
    with pytest.raises(UnreadableSource, match="no usable header"):
        read_rows(tmp_path / "rows.csv")


def test_a_header_alone_holds_no_rows(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n")
    with pytest.raises(UnreadableSource, match="holds no rows"):
        read_rows(tmp_path / "rows.csv")


def test_lines_may_end_as_an_old_mac_ended_them(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(b'a,b\r1,"x\ry"\r2,z\r')
    assert [row.value for row in read_rows(tmp_path / "rows.csv")] == [{"a": "1", "b": "x\ry"}, {"a": "2", "b": "z"}]
