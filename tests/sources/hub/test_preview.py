"""A look at the first rows without the rest."""

import gzip
import io
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.sources import HubReference, first_rows
from core.sources.hub import preview
from core.sources.hub.preview import PreviewTooLarge
from core.sources.hub.troubles import HubGated
from tests.sources.hub_server import HubServer

WANTED = HubReference("people/talks")
RANDOM = random.Random(3)
ROWS = [{"question": f"{number} {RANDOM.randbytes(400).hex()}", "response": "yes"} for number in range(6_000)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), sink, row_group_size=6_000, data_page_size=20_000, use_dictionary=False, compression="none")
    return sink.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("train.jsonl", LINES),
        ("train.json", json.dumps(ROWS).encode()),
        ("train.json", json.dumps(ROWS, indent=1).encode()),
        ("train.jsonl.gz", gzip.compress(LINES, 1)),
        ("train.csv", ("question,response\n" + "".join(f"{row['question']},yes\n" for row in ROWS)).encode()),
        ("train.parquet", parquet()),
    ],
)
def test_the_first_rows_come_from_the_beginning_of_the_file(hub: HubServer, name: str, data: bytes) -> None:
    hub.add("people/talks", {name: data}, large={name})
    served = 0

    def count(path: str, sent: int) -> None:
        nonlocal served
        served = max(served, sent) if name != "train.parquet" else served + min(hub.chunk, sent)

    hub.on_body = count
    found = first_rows(WANTED, 5)
    assert [row.value for row in found] == ROWS[:5]
    assert all(row.problem is None for row in found)
    assert served < len(data) * 0.7


def test_a_short_file_is_shown_whole(hub: HubServer) -> None:
    hub.add("people/talks", {"train.jsonl": LINES[: LINES.index(b"\n") + 1] + b"{broken\n"})
    whole, broken = first_rows(WANTED, 50)
    assert whole.value == ROWS[0]
    assert broken.problem == "bad_json"


def test_a_cut_row_is_never_shown(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "_FIRST_BYTES", 3_000)
    monkeypatch.setattr(preview, "MOST_BYTES", 12_000)
    hub.add("people/talks", {"train.jsonl": LINES})
    found = first_rows(WANTED, 1_000)
    assert [row.value for row in found] == ROWS[: len(found)]
    assert 5 < len(found) < 15


def test_a_row_longer_than_a_preview_may_be_is_one_sentence(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "_FIRST_BYTES", 100)
    monkeypatch.setattr(preview, "MOST_BYTES", 300)
    hub.add("people/talks", {"train.jsonl": LINES})
    with pytest.raises(PreviewTooLarge, match="import it to see its rows"):
        first_rows(WANTED, 5)


def test_a_gated_set_has_no_preview_either(hub: HubServer) -> None:
    hub.add("people/talks", {"train.jsonl": LINES}, gated=True)
    with pytest.raises(HubGated):
        first_rows(WANTED, 5)


def test_files_here_are_looked_at_in_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES)
    assert [row.value for row in first_rows(tmp_path / "a.jsonl", 3)] == ROWS[:3]
