"""Parquet and Arrow files, whole and broken."""

import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.sources import UnreadableSource, read_rows

TABLE = pa.table(
    {
        "id": [f"r{index}" for index in range(600)],
        "messages": [[{"role": "user", "content": "é" * (index % 7)}, {"role": "assistant", "content": None}] for index in range(600)],
    }
)


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)


def write_file(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)


WRITERS = {
    "rows.parquet": lambda table, path: pq.write_table(table, path, row_group_size=100),
    "rows.arrow": write_file,
    "stream.arrow": write_stream,
}


@pytest.mark.parametrize("name", WRITERS)
def test_rows_come_out_as_they_went_in(tmp_path: Path, name: str) -> None:
    WRITERS[name](TABLE, tmp_path / name)
    rows = list(read_rows(tmp_path / name))
    assert [row.value for row in rows] == TABLE.to_pylist()
    assert [row.position for row in rows] == list(range(600))


@pytest.mark.parametrize("name", WRITERS)
def test_a_table_without_rows_is_refused(tmp_path: Path, name: str) -> None:
    WRITERS[name](TABLE.slice(0, 0), tmp_path / name)
    with pytest.raises(UnreadableSource, match="holds no rows"):
        read_rows(tmp_path / name)


def test_a_row_group_that_cannot_be_decoded_costs_its_own_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(TABLE.select(["id"]), path, row_group_size=100, compression="zstd", use_dictionary=False, write_page_checksum=True)
    column = pq.read_metadata(path).row_group(2).column(0)
    data = bytearray(path.read_bytes())
    middle = column.data_page_offset + column.total_compressed_size // 2
    data[middle : middle + 8] = b"\xaa" * 8
    path.write_bytes(data)
    rows = list(read_rows(path))
    assert [row.position for row in rows] == list(range(600))
    assert [row.position for row in rows if row.problem] == list(range(200, 300))
    assert {row.problem for row in rows if row.problem} == {"unreadable"}
    assert "row group 3" in str(rows[200].detail)
    assert rows[300].value == {"id": "r300"}


def test_a_cut_arrow_stream_keeps_the_batches_before_the_break(tmp_path: Path) -> None:
    write_stream(TABLE, tmp_path / "rows.arrow")
    data = (tmp_path / "rows.arrow").read_bytes()
    (tmp_path / "rows.arrow").write_bytes(data[: len(data) // 2])
    *kept, last = read_rows(tmp_path / "rows.arrow")
    assert len(kept) % 100 == 0
    assert 100 <= len(kept) < 600
    assert last.problem == "unreadable"
    assert "later rows cannot be reached" in str(last.detail)


def test_a_cut_arrow_file_is_refused(tmp_path: Path) -> None:
    write_file(TABLE, tmp_path / "rows.arrow")
    data = (tmp_path / "rows.arrow").read_bytes()
    (tmp_path / "rows.arrow").write_bytes(data[: len(data) // 2])
    with pytest.raises(UnreadableSource, match="damaged Arrow file"):
        read_rows(tmp_path / "rows.arrow")


def test_a_damaged_batch_of_an_arrow_file_costs_its_own_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.arrow"
    table = pa.table({"text": [f"batch {index // 100} " + "é" * 20 for index in range(300)]})
    write_file(table, path)
    data = path.read_bytes()
    wrong = data.replace("batch 1 é".encode(), b"batch 1 \xff\xff", 1)
    path.write_bytes(wrong)
    rows = list(read_rows(path))
    assert [row.problem for row in rows].count("unreadable") == 1
    assert [row.value for row in rows if not row.problem] == [*table.slice(0, 100).to_pylist(), *table.slice(200).to_pylist()]


def test_values_that_json_does_not_have_become_json_values(tmp_path: Path) -> None:
    table = pa.table(
        {
            "when": [datetime.datetime(2024, 5, 1, 12, 0, tzinfo=datetime.UTC)],
            "text": pa.array([b"bytes \xc3\xa9"], pa.binary()),
            "image": pa.array([b"\xff\x00"], pa.binary()),
            "price": pa.array([Decimal("1.5")], pa.decimal128(4, 2)),
            "pairs": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
            "kind": pa.array(["x"]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    (row,) = read_rows(tmp_path / "rows.parquet")
    assert row.value == {
        "when": "2024-05-01T12:00:00+00:00",
        "text": "bytes é",
        "image": {"base64": "/wA="},
        "price": 1.5,
        "pairs": {"k": 1},
        "kind": "x",
    }


def test_nulls_that_arrow_adds_to_arguments_go_and_other_nulls_stay(tmp_path: Path) -> None:
    rows = [
        {"messages": [{"content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"port": "Brest"}}}]}], "input": None},
        {"messages": [{"content": "x", "tool_calls": [{"function": {"name": "g", "arguments": {"city": "Rome"}}}]}], "input": "y"},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    assert [row.value for row in read_rows(tmp_path / "rows.parquet")] == rows
