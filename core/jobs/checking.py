"""Work out what a recipe's rules ask of its rows: figures for filters, duplicates, matches with benchmarks."""

from pathlib import Path
from typing import Any, ClassVar

from core.jobs.job import Job
from core.watch import Watcher


class CheckJob(Job):
    """Check the rows of a recipe, given as its TOML text. What is found stays in the workspace, where plans and screens read it."""

    kind: ClassVar[str] = "check"
    recipe: str

    @property
    def title(self) -> str:
        """What is checked."""
        return f"check rows for {self._name}"

    @property
    def _name(self) -> str:
        from core.mix import parse_recipe

        return parse_recipe(self.recipe).name

    def owns(self) -> list[Path]:
        """The folder of groups: two searches at a time would only take each other's memory."""
        return [self.workspace.duplicates]

    def perform(self, watcher: Watcher) -> dict[str, Any]:
        """Returns `{"recipe", "usable": {source: rows}, "removed": {source: {rule: rows}}, "duplicates", "matches"}`; the last two are
        numbers of groups, null where the recipe does not ask.
        """
        from core.mix import contamination_report, duplicate_groups, parse_recipe, usable_rows
        from core.sources import Library
        from core.tokens import row_tokens

        recipe, library = parse_recipe(self.recipe), Library(self.workspace)
        usable = usable_rows(recipe, library, row_tokens(recipe, watcher), watcher)
        return {
            "recipe": recipe.digest,
            "usable": {name: part.count for name, part in usable.items()},
            "removed": {name: dict(part.removed) for name, part in usable.items()},
            "duplicates": duplicate_groups(recipe, library, watcher).count if recipe.duplicates.asks else None,
            "matches": len(contamination_report(recipe, library, watcher).groups()) if recipe.contamination.asks else None,
        }
