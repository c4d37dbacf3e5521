"""What a source's conversations become in tokens, before anything is tokenized: from those that are known, else from a few of them.

It measures through the recipe's own template and supervision; it does not make plans beyond asking how many rows one needs.
"""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from core.mix import Measured, Plan, Recipe, Shortfall, TokenEstimate, Usable, estimate_from, plan, trained_order, usable_rows
from core.sources import Library, Source
from core.tokens.measuring import Meter
from core.watch import Watcher

SAMPLE = 48
"""Conversations per source: the mean length is then good to about 10 %, and twenty sources take a few seconds."""


def sample_estimate(
    recipe: Recipe, library: Library, sample: int = SAMPLE, usable: Mapping[str, Usable] | None = None
) -> Callable[[str], TokenEstimate | None]:
    """A function from a source's name to its mean tokens per conversation with their error; None for a source without rows.

    The sample is what a mix with the recipe's seed takes first, and all that is known of what it takes next: once the source was
    tokenized for this target, everything. What is measured is kept beside the source. Raises the errors of `Target.load`.
    """
    meter = Meter(recipe)
    usable = usable if usable is not None else usable_rows(recipe, library, row_tokens(recipe))
    known: dict[str, TokenEstimate | None] = {}

    def estimate(name: str) -> TokenEstimate | None:
        if name not in known:
            known[name] = _estimate(meter, usable[name], recipe, sample)
        return known[name]

    return estimate


def row_tokens(recipe: Recipe, watcher: Watcher | None = None) -> Callable[[Source], Measured]:
    """A function from a source to the figures of all its rows, for filters by tokens; those not known yet are counted at the call."""

    def measured(source: Source) -> Measured:
        return Meter(recipe, watcher).measured(source, np.arange(len(source.index())))

    return measured


def settled_plan(recipe: Recipe, library: Library, watcher: Watcher | None = None, usable: Mapping[str, Usable] | None = None) -> Plan:
    """The plan of a recipe with every figure it depends on counted row by row: the same on any machine, whatever was known before.

    Only the rows that the plan takes are measured, and only where the recipe weighs or limits tokens. Raises the errors of `plan`
    and of `Target.load`, `Cancelled`.
    """
    usable = usable if usable is not None else usable_rows(recipe, library, row_tokens(recipe, watcher))
    if not recipe.needs_tokens:
        return plan(recipe, library, usable=usable)
    meter = Meter(recipe, watcher)
    orders = {name: trained_order(recipe, part) for name, part in usable.items()}
    count = {name: min(SAMPLE, len(order)) for name, order in orders.items()}
    while True:
        for name, order in orders.items():
            meter.measured(usable[name].source, order[: count[name]])
        short: Shortfall | None = None
        try:
            made = plan(recipe, library, sample_estimate(recipe, library, usable=usable), usable)
        except Shortfall as error:
            made, short = error.plan, error
        needed = {part.name: min(part.rows + part.shortfall, len(orders[part.name])) for part in made.sources}
        if all(count[name] >= rows for name, rows in needed.items()):
            if short is not None:
                raise short
            return made
        count = {name: max(count[name], min(int(rows * 1.05) + SAMPLE, len(orders[name]))) for name, rows in needed.items()}


def _estimate(meter: Meter, usable: Usable, recipe: Recipe, sample: int) -> TokenEstimate | None:
    order = trained_order(recipe, usable)
    return known_estimate(meter.measured(usable.source, order[:sample]), order) if len(order) else None


def known_estimate(measured: Measured, order: npt.NDArray[np.int64]) -> TokenEstimate | None:
    """The estimate from what is known of a source, whose rows a mix takes in this order; None where the first of them is not known."""
    at, found = measured.places(order)
    first = at[: int(np.argmin(found))] if not found.all() else at
    if not len(first):
        return None
    part = Measured(measured.row[first], measured.tokens[first], measured.trainable_tokens[first], measured.training_rows[first])
    return estimate_from(part, len(order), known=measured)
