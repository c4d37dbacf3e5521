"""Measure what the target accepts from a drafter."""

from pathlib import Path
from typing import Any, ClassVar

from core.jobs.job import Job
from core.watch import Watcher


class EvaluateJob(Job):
    """Decode the drafter's held-out prompts speculatively and plainly, and compare."""

    kind: ClassVar[str] = "evaluate"
    drafter: Path
    target: str
    prompts: int | None = None
    max_new_tokens: int | None = None

    @property
    def title(self) -> str:
        """The drafter's name."""
        return f"evaluate {self.drafter.name}"

    def owns(self) -> list[Path]:
        """The drafter's folder: the report is written into it."""
        return [self.drafter]

    def perform(self, watcher: Watcher) -> dict[str, Any]:
        """Returns the evaluation report."""
        from core.drafter import evaluate

        options = {} if self.max_new_tokens is None else {"max_new_tokens": self.max_new_tokens}
        return evaluate(self.drafter, self.target, limit=self.prompts, watcher=watcher, **options).to_json()
