"""The whole path in one piece of work: bundled sources in, a measured drafter out. What `mixdown demo` and the first visit do."""

import time
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from core.jobs.evaluating import measure
from core.jobs.importing import ImportJob, bundled_items
from core.jobs.job import Job
from core.watch import Watcher
from core.workspace import BUNDLED_TARGET, Workspace

TRAIN_SECONDS = 118.0
"""What a newcomer waits gladly; on two cores that other work used too the target then accepted 3.05 tokens a round."""


VALIDATION = 0.09
"""Share of the conversations held out: about two hundred prompts, some of every source."""


class DemoJob(Job):
    """Import what ships, mix it by size, tokenize, train for `train_seconds`, measure before and after.

    `name` is what the recipe, the dataset and the drafter are called in the workspace.
    """

    kind: ClassVar[str] = "demo"
    name: str
    train_seconds: float = TRAIN_SECONDS
    workers: int = 2

    @property
    def title(self) -> str:
        """What it is."""
        return "demo: bundled sources to a measured drafter"

    def owns(self) -> list[Path]:
        """The sources it imports, the dataset and the drafter it makes."""
        return [*self._imports.owns(), self.workspace.dataset(self.name), self.workspace.drafter(self.name)]

    @property
    def _imports(self) -> ImportJob:
        return ImportJob(home=self.home, items=bundled_items(self.workspace))

    def perform(self, watcher: Watcher) -> dict[str, Any]:
        """Returns the object that `mixdown demo --json` prints."""
        from core.drafter import TrainSettings, train
        from core.mix import dump_recipe, recipe_for
        from core.sources import Library
        from core.tokens import tokenize

        began = time.monotonic()
        imports = self._imports
        imports.perform(watcher)
        library = Library(self.workspace)
        names = [item.name for item in imports.items]
        with_rows = [name for name in names if library.source(name).rows > 0]
        recipe = recipe_for(library, self.name, str(BUNDLED_TARGET), sources=with_rows, validation=VALIDATION)
        dump_recipe(recipe, self.workspace.recipe(self.name))

        dataset, drafter = self.workspace.dataset(self.name), self.workspace.drafter(self.name)
        made = tokenize(self.workspace, recipe, dataset, workers=self.workers, watcher=watcher).to_json()
        train(dataset, BUNDLED_TARGET, drafter, TrainSettings(max_seconds=self.train_seconds), watcher)
        reports = measure(drafter, BUNDLED_TARGET, watcher)

        ledgers = [library.source(name).ledger for name in names]
        trained = reports["evaluation"]
        return {
            "rows": {state: sum(getattr(ledger, state) for ledger in ledgers) for state in _STATES},
            "dataset": {key: made[key] for key in ("path", "rows", "tokens", "trainable_tokens", "verified")},
            "drafter": {
                "path": str(drafter),
                "acceptance_length_before": reports["untrained"]["acceptance_length"],
                **{key: trained[key] for key in ("acceptance_length", "lossless", "prompts", "by_source", "by_domain")},
            },
            "seconds": round(time.monotonic() - began, 1),
        }


_STATES = ("read", "kept", "prompt_only", "quarantined")


def free_name(workspace: Workspace, base: str) -> str:
    """`base`, or `base-2`, `base-3`, … where a dataset or drafter has that name already."""
    names = (base if number == 1 else f"{base}-{number}" for number in count(1))
    return next(name for name in names if not workspace.dataset(name).exists() and not workspace.drafter(name).exists())
