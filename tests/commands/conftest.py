"""Runs the real command as a process, as a shell or a program would."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        """The one JSON object on stdout."""
        lines = self.out.splitlines()
        assert len(lines) == 1, self.out
        return json.loads(lines[0])

    @property
    def rows(self) -> list[Any]:
        """The JSON Lines on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]


class Mixdown:
    """`mixdown ARGS` in a workspace of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *args: object, stdin: str | bytes | None = None, code: int | None = 0) -> Ran:
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        env = os.environ | {"MIXDOWN_HOME": str(self.home), "COLUMNS": "160"}
        done = subprocess.run(
            [sys.executable, "-m", "core.cli", *map(str, args)], input=raw, capture_output=True, cwd=ROOT, env=env, check=False, timeout=300
        )
        ran = Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in ran.err, ran.err
        assert code is None or ran.code == code, f"exit {ran.code}: {ran.err}"
        return ran


@pytest.fixture
def mixdown(tmp_path: Path) -> Mixdown:
    return Mixdown(tmp_path / "home")


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """A small source: good rows in ShareGPT form, one broken line, one row that no one can use."""
    rows = [
        {"id": str(n), "conversations": [{"from": "human", "value": f"What is {n} plus one?"}, {"from": "gpt", "value": f"It is {n + 1}."}]}
        for n in range(40)
    ]
    lines = [json.dumps(row) for row in rows]
    lines.insert(7, '{"id": "broken", ')
    lines.insert(9, json.dumps({"id": "odd", "conversations": [{"from": "narrator", "value": "x"}, {"from": "gpt", "value": "y"}]}))
    path = tmp_path / "chats.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path
