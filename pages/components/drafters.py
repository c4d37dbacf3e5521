"""The drafters of the workspace with what was measured of them. It reads folders and runs; it draws nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.jobs.evaluating import REPORT
from core.runs import Run
from core.runs.files import read_json
from pages.components import current


@dataclass(frozen=True)
class Drafter:
    """A trained drafter: what its training recorded, and the reports of it and of its untrained twin where they were measured.

    `run` is the run that trained it, None where its record was deleted or it was trained elsewhere.
    """

    folder: Path
    made_at: float
    training: dict[str, Any]
    after: dict[str, Any] | None
    before: dict[str, Any] | None
    run: Run | None

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name


def drafters(runs: Sequence[Run]) -> list[Drafter]:
    """The drafters of the workspace, newest first."""
    folder = current.workspace().drafters
    if not folder.is_dir():
        return []
    made_by = {run.spec["out"]: run for run in reversed(runs) if run.kind == "train" and run.state == "done"}
    found = []
    for path in folder.iterdir():
        training = read_json(path / "training_state.json")
        if path.name.startswith(".") or training is None:
            continue
        reports = read_json(path / REPORT) or {}
        made_at = (path / "training_state.json").stat().st_mtime
        found.append(Drafter(path, made_at, training, reports.get("evaluation"), reports.get("untrained"), made_by.get(str(path))))
    return sorted(found, key=lambda drafter: (-drafter.made_at, drafter.name))


def next_name() -> str:
    """`drafter-7`, where there are six; a training that was stopped and may go on keeps its name (in a hidden folder, `.NAME.…`)."""
    folder = current.workspace().drafters
    found = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    taken = {name[1:].rpartition(".")[0] if name.startswith(".") else name for name in found}
    number = 1
    while f"drafter-{number}" in taken:
        number += 1
    return f"drafter-{number}"
