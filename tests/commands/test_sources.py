"""Sources from the command line: files, the catalogue and the hub; previews, mappings, acceptance, selections."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.conftest import Mixdown
from tests.sources.hub_server import HubServer, hub_server

GSM8K = [{"question": f"How much is {number} and 1?", "answer": f"<<{number}+1>> #### {number + 1}"} for number in range(20)]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    with hub_server() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def jsonl(rows: list) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_a_catalogue_name_and_a_hub_id_are_fetched_from_the_hub(mixdown: Mixdown, hub: HubServer) -> None:
    card = {
        "configs": [{"config_name": "main", "data_files": [{"split": split, "path": f"main/{split}.jsonl"} for split in ("train", "test")]}]
    }
    hub.add("openai/gsm8k", {"main/train.jsonl": jsonl(GSM8K), "main/test.jsonl": jsonl(GSM8K[:3])}, card=card)
    assert mixdown("import", "gsm8k", "--json").value["sources"]["gsm8k"]["prompt_only"] == 20
    assert (
        mixdown("import", "openai/gsm8k", "--config", "main", "--split", "test", "--json").value["sources"]["gsm8k-test"]["raw_rows"] == 3
    )
    shown = mixdown("import", "openai/gsm8k", "--split", "test", "--preview", "2", "--json").rows
    assert shown == GSM8K[:2]
    assert "no config 'x': choose one of main" in mixdown("import", "openai/gsm8k", "--config", "x", code=2).err
    assert "has been renamed" not in mixdown("import", "no/such", code=2).err
    assert "may have been renamed" in mixdown("import", "no/such", code=2).err


def test_what_is_neither_path_nor_name_is_one_sentence(mixdown: Mixdown, tmp_path: Path) -> None:
    assert "the catalogue has no source of that name" in mixdown("import", "nonsense", code=2).err
    assert "does not exist" in mixdown("import", tmp_path / "gone.jsonl", code=2).err
    assert "does not exist" in mixdown("import", "gone/rows.jsonl", code=2).err


def test_columns_are_mapped_rows_filtered_and_written(mixdown: Mixdown, tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(jsonl([{"frage": f"Frage {number}", "antwort": "ja" * number} for number in range(1, 11)]))
    assert mixdown("import", path, "--preview", 1, "--json").rows == [{"frage": "Frage 1", "antwort": "ja"}]
    assert mixdown("import", path, "--json").value["sources"]["odd"]["kept"] == 0
    assert mixdown("import", path, "--map", "prompt=frage", "--map", "response=antwort", "--json").value["sources"]["odd"]["kept"] == 10
    found = mixdown("rows", "odd", "--where", "chars=..16", "--sort", "chars", "--descending", "--json").rows
    assert [row["row"] for row in found] == [3, 2, 1, 0]
    out = tmp_path / "out.jsonl"
    assert "4 conversations" in mixdown("rows", "odd", "--where", "chars=..16", "--out", out).err
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert written[0]["messages"] == [{"role": "user", "content": "Frage 1"}, {"role": "assistant", "content": "ja"}]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert "cannot be filtered by 'nothing'" in mixdown("rows", "odd", "--where", "nothing=1", code=2).err


def test_a_source_with_little_that_can_be_used_is_accepted_by_name(mixdown: Mixdown, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps({"instruction": "Say hi.", "output": "Hi."}) + "\nbroken\nbroken\n")
    mixdown("import", path)
    assert "accepted with 1 rows" in mixdown("accept", "bad").err
    (row,) = [row for row in mixdown("sources", "--json").rows if row["name"] == "bad"]
    assert row["problem"] is None
