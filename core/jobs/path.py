"""The whole path in one piece of work: bundled sources in, a measured drafter out. What `mixdown demo` and the first visit do."""

import time
from pathlib import Path
from typing import Any, ClassVar

from core.jobs.importing import ImportJob, bundled_items
from core.jobs.job import Job
from core.watch import Watcher
from core.workspace import BUNDLED_TARGET

DEMO = "demo"
TRAIN_SECONDS = 110.0
"""Enough for an acceptance length above 3 on two busy cores, and inside the two minutes that a newcomer waits gladly."""


class DemoJob(Job):
    """Import what ships, mix it evenly, tokenize, train for `train_seconds`, measure before and after."""

    kind: ClassVar[str] = "demo"
    train_seconds: float = TRAIN_SECONDS
    workers: int = 2

    @property
    def title(self) -> str:
        """What it is."""
        return "demo: bundled sources to a measured drafter"

    def owns(self) -> list[Path]:
        """The demo's dataset and drafter."""
        return [self.workspace.dataset(DEMO), self.workspace.drafter(DEMO)]

    def perform(self, watcher: Watcher) -> dict[str, Any]:
        """Returns the object that `mixdown demo --json` prints."""
        from core.drafter import TrainSettings, evaluate, train
        from core.mix import dump_recipe, recipe_for
        from core.sources import Library
        from core.tokens import tokenize

        began = time.monotonic()
        ImportJob(home=self.home, items=bundled_items(self.workspace)).perform(watcher)
        library = Library(self.workspace)
        recipe = recipe_for(library, DEMO, target=str(BUNDLED_TARGET))
        self.workspace.recipes.mkdir(parents=True, exist_ok=True)
        self.workspace.recipe(DEMO).write_text(dump_recipe(recipe), encoding="utf-8")

        dataset, drafter = self.workspace.dataset(DEMO), self.workspace.drafter(DEMO)
        made = tokenize(self.workspace, recipe, dataset, workers=self.workers, overwrite=True, watcher=watcher)
        train(dataset, BUNDLED_TARGET, drafter, TrainSettings(max_seconds=self.train_seconds, overwrite=True), watcher)
        report = evaluate(drafter, BUNDLED_TARGET, watcher=watcher)

        ledgers = [source.ledger for source in library.sources()]
        return {
            "rows": {state: sum(getattr(ledger, state) for ledger in ledgers) for state in ("read", "kept", "prompt_only", "quarantined")},
            "dataset": {
                "path": str(dataset),
                "rows": made.rows,
                "tokens": made.tokens,
                "trainable_tokens": made.trainable_tokens,
                "verified": made.verified,
            },
            "drafter": {
                "path": str(drafter),
                "acceptance_length_before": report.untrained,
                "acceptance_length": report.acceptance_length,
                "lossless": report.lossless,
                "prompts": report.prompts,
                "by_source": report.by_source,
                "by_domain": report.by_domain,
            },
            "seconds": round(time.monotonic() - began, 1),
        }
