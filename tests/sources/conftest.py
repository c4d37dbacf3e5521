"""Raw rows that every dialect reader takes as they are, and files of them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from core.sources import Source, import_source
from core.workspace import Workspace


def talk(question: str, answer: str | None = "An answer.") -> dict[str, Any]:
    """A canonical row; without an answer it is a prompt."""
    messages = [{"role": "user", "content": question}]
    return {"messages": messages if answer is None else [*messages, {"role": "assistant", "content": answer}]}


def write_rows(path: Path, rows: Sequence[Any]) -> Path:
    """The rows as JSON Lines; text stands as it is, so that it can be broken."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def imported(workspace: Workspace, tmp_path: Path) -> Callable[..., Source]:
    """Imports rows as a source: `imported(rows, name="s", …)`."""

    def import_rows(rows: Sequence[Any], name: str = "talks", **options: Any) -> Source:
        return import_source(workspace, name, write_rows(tmp_path / "raw" / f"{name}.jsonl", rows), **options)

    return import_rows
