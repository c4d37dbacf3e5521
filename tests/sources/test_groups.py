"""Row groups of several dialects in one Parquet file."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from core.sources import import_source
from core.sources.groups import group_mixtures, mixed
from core.workspace import Workspace

PAIRS = [{"messages": None, "instruction": f"ask {number}", "output": "said"} for number in range(700)]
TALKS = [{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "instruction": None, "output": None}] * 300
SCHEMA = pa.schema(
    [
        ("messages", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
        ("instruction", pa.string()),
        ("output", pa.string()),
    ]
)


def write(path: Path, *groups: list[dict]) -> Path:
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for rows in groups:
            writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
    return path


def test_a_file_that_changes_in_its_middle_says_so_though_its_first_rows_do_not(workspace: Workspace, tmp_path: Path) -> None:
    path = write(tmp_path / "both.parquet", PAIRS, TALKS)
    groups = group_mixtures(path)
    assert [(group.number, group.rows, group.detection.dialect) for group in groups] == [
        (1, 700, "instruction_pair"),
        (2, 300, "openai_messages"),
    ]
    source = import_source(workspace, "both", path)
    assert source.ledger.kept == 1_000
    assert set(source.info["detection"]["mixture"]) == {"instruction_pair"}
    assert [group["dialect"] for group in source.info["row_groups"]] == ["instruction_pair", "openai_messages"]
    assert source.warnings == (
        "The row groups are of several dialects, each row is read by its own: instruction_pair (both.parquet row group 1); "
        "openai_messages (both.parquet row group 2).",
    )


def test_groups_of_one_dialect_and_other_formats_say_nothing(tmp_path: Path) -> None:
    assert mixed(group_mixtures(write(tmp_path / "one.parquet", PAIRS, PAIRS))) is None
    (tmp_path / "a.jsonl").write_text("{}")
    assert group_mixtures(tmp_path / "a.jsonl") == []


def test_a_damaged_group_is_left_to_the_reader_of_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "both.parquet", PAIRS, TALKS)
    start = pq.read_metadata(path).row_group(1).column(0).data_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + 40] = b"\xff" * 40
    path.write_bytes(data)
    assert [group.number for group in group_mixtures(path)] in ([1], [1, 2])
