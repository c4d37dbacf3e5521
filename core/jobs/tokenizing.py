"""Tokenize a recipe into a verified dataset."""

from pathlib import Path
from typing import Any, ClassVar, Literal

from core.jobs.job import Job
from core.watch import Watcher


class TokenizeJob(Job):
    """Make the dataset `out` from a recipe, given as its TOML text so that later edits of the file do not touch this run."""

    kind: ClassVar[str] = "tokenize"
    recipe: str
    out: Path
    workers: int = 1
    overwrite: bool = False
    resume: bool = True
    """Continue from what an interrupted run of the same recipe finished here, if there is any."""
    encoder: Literal["auto", "hf"] = "auto"
    shard_size: int | None = None
    """Conversations per shard; None leaves it to their number."""

    @property
    def title(self) -> str:
        """The dataset's name."""
        return f"tokenize {self.out.name}"

    def owns(self) -> list[Path]:
        """The dataset's folder."""
        return [self.out]

    def perform(self, watcher: Watcher) -> dict[str, Any]:
        """Returns the tokenize report."""
        from core.mix import parse_recipe
        from core.tokens import tokenize

        report = tokenize(
            self.workspace,
            parse_recipe(self.recipe),
            self.out,
            workers=self.workers,
            overwrite=self.overwrite,
            resume=self.resume,
            encoder=self.encoder,
            shard_size=self.shard_size,
            watcher=watcher,
        )
        return report.to_json()
