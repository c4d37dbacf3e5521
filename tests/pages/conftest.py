"""Workspaces for the screens: an empty one, and one with two small sources."""

import json
from pathlib import Path

import pytest

from core.sources import import_source
from core.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]


def row(number: int) -> dict:
    return {
        "messages": [
            {"role": "user", "content": f"What is {number} plus one?"},
            {"role": "assistant", "content": f"It is {number + 1}."},
        ]
    }


@pytest.fixture
def home(tmp_path, monkeypatch) -> Workspace:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MIXDOWN_HOME", str(tmp_path / "home"))
    return Workspace(tmp_path / "home")


@pytest.fixture
def sources(home, tmp_path) -> Workspace:
    for name, rows in (("sums", 30), ("more-sums", 20)):
        lines = [json.dumps(row(number)) for number in range(rows)] + ["{broken"]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
        import_source(home, name, tmp_path / f"{name}.jsonl", domain="math")
    return home
