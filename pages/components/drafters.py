"""The drafters of the workspace with what was measured of them. It reads folders and runs; it draws nothing."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.runs import Run
from pages.components import current


@dataclass(frozen=True)
class Drafter:
    """A trained drafter: the run that made it, its evaluation report and the one of its untrained twin, where they were measured."""

    name: str
    run: Run
    after: dict[str, Any] | None
    before: dict[str, Any] | None


def drafters(runs: list[Run]) -> list[Drafter]:
    """The drafters that finished runs have made, newest first."""
    found: dict[str, Drafter] = {}
    for run in runs:
        if run.state == "done" and run.kind == "train" and run.result:
            name = Path(run.spec["out"]).name
            found.setdefault(name, Drafter(name, run, run.result.get("evaluation"), run.result.get("untrained")))
    return list(found.values())


def next_name() -> str:
    """`drafter-7`, where there are six."""
    folder = current.workspace().drafters
    taken = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    number = 1
    while f"drafter-{number}" in taken:
        number += 1
    return f"drafter-{number}"
