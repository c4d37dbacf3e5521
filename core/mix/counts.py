"""How many rows of each source the weights and the budget come to, in whatever units they are said.

It knows weights, caps and what each source's rows hold (`supply`). It does not know what a plan shows.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from core.mix.apportion import largest_remainder, largest_total, redistribute, rounded
from core.mix.recipe import Recipe, Unit
from core.mix.supply import Supply

_STEPS = 200
"""Halvings of an interval of doubles until nothing lies between its ends; it ends sooner."""


@dataclass(frozen=True)
class Wanted:
    """Rows per source: what the weights ask for, and what the sources and their caps give of it; the totals in the budget's unit."""

    asked: dict[str, int]
    given: dict[str, int]
    total_asked: int
    total_given: int
    short: bool
    """Whether the plan fails: something is missing that is not made up for."""


def counts_of(recipe: Recipe, supplies: Mapping[str, Supply], caps: Mapping[str, int]) -> Wanted:
    """The counts of a recipe; raises `NoFigures` where tokens are asked for and not known."""
    return _in_tokens(recipe, supplies, caps) if recipe.needs_tokens else _in_rows(recipe, caps)


def _in_rows(recipe: Recipe, caps: Mapping[str, int]) -> Wanted:
    weights = {entry.name: Fraction(str(entry.weight)) for entry in recipe.sources}
    amount = recipe.budget.amount
    asked = largest_remainder(weights, amount if amount is not None else largest_total(weights, caps))
    given = {name: min(rows, caps[name]) for name, rows in asked.items()}
    if recipe.on_shortfall == "redistribute" and given != asked:
        given = redistribute(weights, caps, sum(asked.values()))
    total_asked, total_given = sum(asked.values()), sum(given.values())
    return Wanted(asked, given, total_asked, total_given, total_given < total_asked)


def _in_tokens(recipe: Recipe, supplies: Mapping[str, Supply], caps: Mapping[str, int]) -> Wanted:
    """Every source gives `level` times its weight, in its own unit; the level is the highest at which the budget holds."""
    scale = _Scale(
        {entry.name: (float(entry.weight), entry.unit) for entry in recipe.sources if entry.weight > 0},
        supplies,
        caps,
        recipe.budget.unit,
    )
    none = {entry.name: 0 for entry in recipe.sources}
    amount = recipe.budget.amount
    if amount is None:
        level = scale.highest_within_caps()
        rows = none | {name: min(int(at + 1e-9), caps[name]) for name, at in scale.positions(level, capped=False).items()}
        total = round(scale.total(rows))
        return Wanted(rows, rows, total, total, False)
    asked = none | scale.rows(amount, capped=False)
    given = {name: min(rows, caps[name]) for name, rows in asked.items()}
    if given == asked:
        return Wanted(asked, given, amount, amount, False)
    if recipe.on_shortfall == "redistribute":
        given = none | scale.rows(amount, capped=True)
    short = given != asked if recipe.on_shortfall == "fail" else all(given[name] == caps[name] for name in scale.weights)
    return Wanted(asked, given, amount, min(amount, round(scale.total(given))), short and scale.total(given) < amount)


@dataclass(frozen=True)
class _Scale:
    weights: Mapping[str, tuple[float, Unit]]
    supplies: Mapping[str, Supply]
    caps: Mapping[str, int]
    unit: Unit

    def positions(self, level: float, *, capped: bool) -> dict[str, float]:
        """Rows and parts of rows of each source at a level."""
        found = {name: self.supplies[name].position(unit, level * weight) for name, (weight, unit) in self.weights.items()}
        return {name: min(at, float(self.caps[name])) for name, at in found.items()} if capped else found

    def total(self, rows: Mapping[str, int]) -> float:
        """What whole rows hold, in the budget's unit."""
        return math.fsum(self.supplies[name].amount(self.unit, rows[name]) for name in self.weights)

    def highest_within_caps(self) -> float:
        """The highest level at which no source is above its cap."""
        return min(self.supplies[name].amount(unit, self.caps[name]) / weight for name, (weight, unit) in self.weights.items())

    def rows(self, budget: int, *, capped: bool) -> dict[str, int]:
        """Whole rows for a budget: exactly it in rows, and as near to it as whole rows come from below in tokens."""

        def held(level: float) -> float:
            positions = self.positions(level, capped=capped)
            if self.unit == "rows":
                return math.fsum(positions.values())
            return self.total({name: int(at) for name, at in positions.items()})

        if capped and self.total(dict(self.caps)) <= budget:
            return {name: self.caps[name] for name in self.weights}
        low, high = 0.0, 1.0
        while held(high) <= budget:
            low, high = high, 2 * high
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            low, high = (middle, high) if held(middle) <= budget else (low, middle)
        positions = self.positions(low, capped=capped)
        if self.unit != "rows":
            return {name: int(at) for name, at in positions.items()}
        # Rows without a token take no room on a token scale: there a level holds many row counts, and the budget says which.
        beyond = self.positions(high, capped=capped)
        left = budget - sum(map(int, positions.values()))
        for name in sorted(positions):
            more = min(max(left - len(positions), 0), int(beyond[name]) - int(positions[name]))
            positions[name], left = positions[name] + more, left - more
        return rounded({name: Fraction(at) for name, at in positions.items()}, budget)
