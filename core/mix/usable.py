"""Which rows of each source a recipe may take at all: kept ones that pass its filters and repeat nothing they should not.

It puts the rules in their order and counts what each removes. What a rule means stands in its own module.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from core.errors import InputError
from core.mix.measured import Measured
from core.mix.ranking import Rows, held_out, kept_rows, ranked
from core.mix.recipe import Recipe
from core.sources import Library, Source


class EmptyLibrary(InputError):
    """No source was imported yet."""


@dataclass(frozen=True)
class Usable:
    """The usable rows of one source: how many, and why others are not. `removed` counts each row once, by the first rule against it."""

    source: Source
    count: int
    removed: Mapping[str, int] = field(default_factory=dict)
    chosen: Rows | None = field(default=None, repr=False)

    @property
    def rows(self) -> Rows:
        """Their numbers, rising."""
        return kept_rows(self.source) if self.chosen is None else self.chosen


RowTokens = Callable[[Source], Measured]
"""Figures of all rows of a source for the recipe's target (`core.tokens.row_tokens`)."""


def usable_rows(recipe: Recipe, library: Library, tokens: RowTokens | None = None) -> dict[str, Usable]:
    """The usable rows of every source of the recipe, by name; `tokens` is needed where a filter asks for them.

    Raises `EmptyLibrary`, `SourceMissing` and the errors of the rules.
    """
    if not library.names():
        raise EmptyLibrary("No source was imported yet; import one (`mixdown import`, or the Sources page) and plan again.")
    sources = {entry.name: library.source(entry.name) for entry in recipe.sources}
    return {name: Usable(source, source.rows) for name, source in sources.items()}


def trained_order(recipe: Recipe, usable: Usable) -> Rows:
    """The usable rows that are not held out, in the order in which the recipe's mix takes them."""
    rows = usable.rows
    return ranked(usable.source, rows[~held_out(usable.source, recipe.validation)[rows]], recipe.seed)


def without(usable: Usable, removed: Rows, reason: str) -> Usable:
    """What is left when some rows are taken out; rows that are out already do not count again."""
    rows = usable.rows
    left = rows[~np.isin(rows, removed)]
    gone = len(rows) - len(left)
    if not gone:
        return usable
    return Usable(usable.source, len(left), {**usable.removed, reason: usable.removed.get(reason, 0) + gone}, left)
