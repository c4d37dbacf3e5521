"""Measure what the target accepts from a drafter, and what its untrained twin would have got."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from core.jobs.job import Job
from core.runs.files import write_json
from core.watch import Watcher

REPORT = "evaluation.json"
"""In the drafter's folder: `{"evaluation", "untrained"}`, each an evaluation report."""

UNTRAINED_PROMPTS, UNTRAINED_TOKENS = 24, 32
"""An untrained drafter gains nothing wherever one looks; a few short answers show it."""


LONGEST_ANSWER = 96
"""Tokens of an answer that is measured: long enough for a dozen rounds."""


class EvaluateJob(Job):
    """Decode the drafter's held-out prompts speculatively and plainly, and compare."""

    kind: ClassVar[str] = "evaluate"
    drafter: Path
    target: str
    prompts: int | None = None
    max_new_tokens: int | None = None
    trees: tuple[int, ...] = ()
    prompt_lookup: bool = False
    temperature: float = 0.0
    seed: int = 0
    thinking: str = "as-is"
    confidence: float | None = None

    @property
    def title(self) -> str:
        """The drafter's name."""
        return f"evaluate {self.drafter.name}"

    def owns(self) -> list[Path]:
        """The drafter's folder: the report is written into it."""
        return [self.drafter]

    def perform(self, watcher: Watcher) -> dict[str, Any]:
        """Returns `{"evaluation", "untrained"}`."""
        names = ("trees", "prompt_lookup", "temperature", "seed", "thinking", "confidence")
        besides = {name: value for name in names if (value := getattr(self, name)) is not None}
        return measure(self.drafter, Path(self.target), watcher, self.prompts, self.max_new_tokens, besides)


def measure(
    drafter: Path,
    target: Path,
    watcher: Watcher,
    prompts: int | None = None,
    max_new_tokens: int | None = None,
    besides: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Evaluate a drafter and its untrained twin; the reports are also kept in the drafter's folder.

    `besides`: the fields of `core.drafter.Measured`, what to measure of the trained one besides the greedy chain.
    """
    from core.drafter import Measured, evaluate

    measured = Measured(**(besides or {}))  # refuses before any work

    longest = max_new_tokens or LONGEST_ANSWER
    fewer = min(UNTRAINED_PROMPTS, prompts or UNTRAINED_PROMPTS)
    untrained = evaluate(drafter, target, limit=fewer, max_new_tokens=UNTRAINED_TOKENS, untrained=True, watcher=watcher)
    trained = evaluate(drafter, target, limit=prompts, max_new_tokens=longest, measured=measured, watcher=watcher)
    reports = {"evaluation": trained.to_json(), "untrained": untrained.to_json()}
    write_json(drafter / REPORT, reports)
    return reports
