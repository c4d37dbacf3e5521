"""What else a trainer may want of a dataset, by command."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.commands.conftest import Mixdown


@pytest.fixture
def dataset(mixdown: Mixdown, chats: Path, tmp_path: Path) -> Path:
    """A dataset of a few rows in shards of ten conversations."""
    out = tmp_path / "set"
    mixdown("tokenize", "--source", chats, "--out", out, "--shard-size", 10, "--json")
    return out


def test_export_writes_each_form_and_says_how_many_rows(mixdown: Mixdown, dataset: Path, tmp_path: Path) -> None:
    assert len(list(dataset.glob("data-*.arrow"))) == 4
    rows = mixdown("verify", dataset, "--json").value["rows"]
    for form, name in (("jsonl", "rows.jsonl"), ("parquet", "rows.parquet"), ("text", "text.jsonl")):
        said = mixdown("export", dataset, tmp_path / name, "--form", form, "--json").value
        assert said == {"path": str(tmp_path / name), "form": form, "rows": rows}
    first = json.loads((tmp_path / "rows.jsonl").read_text().splitlines()[0])
    assert set(first) == {"input_ids", "loss_mask"} and len(first["input_ids"]) == len(first["loss_mask"])
    assert pq.read_metadata(tmp_path / "rows.parquet").num_rows == rows
    assert "plus one?" in json.loads((tmp_path / "text.jsonl").read_text().splitlines()[0])["text"]
    assert "exists already" in mixdown("export", dataset, tmp_path / "rows.jsonl", code=2).err
    assert "no dataset" in mixdown("export", tmp_path, tmp_path / "new.jsonl", code=2).err
    assert "cannot be written" in mixdown("export", dataset, tmp_path / "nowhere" / "new.jsonl", code=2).err


def test_vocabulary_shows_coverage_and_writes_the_mappings_of_one_size(mixdown: Mixdown, dataset: Path, tmp_path: Path) -> None:
    said = mixdown("vocabulary", dataset, "--size", 40, "--out", tmp_path / "draft", "--json").value
    d2t, t2d = np.load(tmp_path / "draft" / "d2t.npy"), np.load(tmp_path / "draft" / "t2d.npy")
    assert said["size"] == len(d2t) == t2d.sum() == 40 and 0 < said["covered"] <= 1
    assert np.flatnonzero(t2d).tolist() == (np.arange(40) + d2t).tolist()
    shown = mixdown("vocabulary", dataset)
    assert shown.out == "" and "covers" in shown.err
    assert "together" in mixdown("vocabulary", dataset, "--size", 40, code=2).err
    assert "cannot be made" in mixdown("vocabulary", dataset, "--size", 10**7, "--out", tmp_path / "other", code=2).err
    assert not (tmp_path / "other").exists()
    assert "no dataset" in mixdown("vocabulary", tmp_path, code=2).err


def test_every_choice_of_supervision_can_be_given_by_hand(mixdown: Mixdown, chats: Path, tmp_path: Path) -> None:
    given = {
        "layout": "turn", "supervise": "content", "thinking": "off", "seq_length": 512, "turns": "last", "special_tokens": "as_text",
        "overlong": "drop",
    }  # fmt: skip
    options = [part for name, value in given.items() for part in (f"--{name.replace('_', '-')}", value)]
    out = tmp_path / "set"
    mixdown("tokenize", "--source", chats, "--out", out, *options, "--no-reasoning", "--no-tool-calls", "--json")
    made = json.loads((out / "manifest.json").read_text())["recipe"]["supervision"]
    assert {name: made[name] for name in (*given, "reasoning", "tool_calls")} == {**given, "reasoning": False, "tool_calls": False}
