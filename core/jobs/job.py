"""What every job is: a record that survives as JSON, a title, the folders it owns while it works, and the doing.

It does not know the single kinds beyond their names.
"""

import importlib
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, cast

from pydantic import BaseModel, ConfigDict

from core.runs import Run, RunStore
from core.watch import Watcher
from core.workspace import Workspace

KINDS = {
    "import": "core.jobs.importing:ImportJob",
    "check": "core.jobs.checking:CheckJob",
    "tokenize": "core.jobs.tokenizing:TokenizeJob",
    "train": "core.jobs.training:TrainJob",
    "evaluate": "core.jobs.evaluating:EvaluateJob",
    "demo": "core.jobs.path:DemoJob",
}


class Job(BaseModel):
    """One piece of work. `home` is the workspace folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ClassVar[str]
    home: Path

    @property
    def workspace(self) -> Workspace:
        """The workspace it works in."""
        return Workspace(self.home)

    @property
    @abstractmethod
    def title(self) -> str:
        """A few words for a list of runs."""

    @abstractmethod
    def owns(self) -> list[Path]:
        """Folders nobody else may write while this works."""

    @property
    def grace(self) -> float | None:
        """Seconds it needs to reach a safe point when it is asked to stop, where that is long."""
        return None

    @abstractmethod
    def perform(self, watcher: Watcher) -> dict[str, Any]:
        """Do it; returns a JSON object. Raises `MixdownError` with a sentence for people."""


def run(kind: str, spec: dict[str, Any], watcher: Watcher) -> dict[str, Any]:
    """What a run's process calls ("core.jobs:run")."""
    module, _, name = KINDS[kind].partition(":")
    job = cast(type[Job], getattr(importlib.import_module(module), name))
    return job.model_validate(spec).perform(watcher)


def begin(job: Job) -> Run:
    """Start the job in the background and return at once; the same job started twice is one run."""
    spec = job.model_dump(mode="json")
    return _store(job).start(job.kind, spec, entry="core.jobs:run", title=job.title, owns=job.owns(), grace=job.grace)


def perform_here(job: Job, echo: Watcher | None = None) -> dict[str, Any]:
    """Do the job in this process, recorded like a background run, and return its result; raises `RunError`."""
    done = _store(job).execute(job.kind, job.model_dump(mode="json"), entry="core.jobs:run", title=job.title, owns=job.owns(), echo=echo)
    return cast(dict[str, Any], done.result)


def _store(job: Job) -> RunStore:
    return RunStore(job.workspace.runs)
