"""Train a drafter on a dataset, then measure what the target accepts from it."""

from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from core.jobs.evaluating import measure
from core.jobs.job import Job
from core.watch import Watcher


class TrainJob(Job):
    """Train the drafter `out`; `settings` are those of `core.drafter.TrainSettings` that differ from the defaults.

    With `evaluate` the acceptance length before and after is measured on the dataset's held-out prompts, at most `prompts` of them.
    """

    kind: ClassVar[str] = "train"
    data: Path
    target: str
    out: Path
    settings: dict[str, Any] = Field(default_factory=dict)
    evaluate: bool = True
    prompts: int | None = None

    @property
    def title(self) -> str:
        """The drafter's name and the dataset's."""
        return f"train {self.out.name} on {self.data.name}"

    def owns(self) -> list[Path]:
        """The drafter's folder."""
        return [self.out]

    def perform(self, watcher: Watcher) -> dict[str, Any]:
        """Returns `{"train", "evaluation", "untrained"}`; the reports are null without `evaluate`."""
        from core.drafter import TrainSettings, train

        target = Path(self.target)
        trained = train(self.data, target, self.out, TrainSettings(**self.settings), watcher)
        reports = measure(self.out, target, watcher, self.prompts) if self.evaluate else {"evaluation": None, "untrained": None}
        return {"train": trained.to_json(), **reports}
