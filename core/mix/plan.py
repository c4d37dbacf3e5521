"""From weights to integer counts, with what was asked and what comes out side by side.

It knows how many rows each source has. It does not pick rows (`sampling`) and knows tokens only as figures it is told.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from core.dialects import CODES
from core.errors import InputError
from core.mix.recipe import Recipe, RecipeSource
from core.sources import Library, Source


class EmptyLibrary(InputError):
    """No source was imported yet."""


class EmptySource(InputError):
    """A source with a weight that has no row to train on."""


class SpoiltSource(InputError):
    """A source with a weight of which most rows could not be used."""


@dataclass(frozen=True)
class TokenEstimate:
    """What one conversation of a source becomes on average, measured on a sample through the template."""

    tokens: float
    trainable_tokens: float
    training_rows: float = 1.0
    sampled: int = 0


@dataclass(frozen=True)
class PlannedSource:
    """One source's part of the plan. Rows are conversations, shares are fractions of all rows, tokens are estimates or None."""

    name: str
    domain: str
    available: int
    rows: int
    epochs: float
    share_requested: float
    share_realised: float
    tokens: int | None
    trainable_tokens: int | None
    shortfall: int
    """Rows the weights ask for beyond what the source and its caps give."""
    limit: str | None
    """What binds, in words, where there is a shortfall."""


@dataclass(frozen=True)
class Plan:
    """Integer counts per source, sorted by name; `total` is their sum, `budget` what was asked (None: as much as the weights allow)."""

    sources: tuple[PlannedSource, ...]
    total: int
    budget: int | None

    def source(self, name: str) -> PlannedSource:
        """The part of one source; raises KeyError."""
        return next(source for source in self.sources if source.name == name)

    def to_json(self) -> dict[str, Any]:
        """`{"sources": [...], "total", "budget", "tokens", "trainable_tokens"}`; token figures are null until every source has one."""
        return {
            "sources": [asdict(source) for source in self.sources],
            "total": self.total,
            "budget": self.budget,
            "tokens": _sum([source.tokens for source in self.sources]),
            "trainable_tokens": _sum([source.trainable_tokens for source in self.sources]),
        }


class OtherwiseImported(InputError):
    """The recipe wants a source's rows handled in another way than its import did."""


class Shortfall(InputError):
    """The weights ask for more rows than the sources and their caps give; `plan` shows what they would give."""

    def __init__(self, message: str, plan: Plan) -> None:
        super().__init__(message)
        self.plan = plan


Estimate = Callable[[str], TokenEstimate | None]


def plan(recipe: Recipe, library: Library, estimate: Estimate | None = None) -> Plan:
    """The recipe's integer counts, by largest remainder (ties go to the name first in the alphabet), whatever the order in the file.

    A source's cap is `max_epochs` times its kept rows, rounded down, and at most `max_rows`. Without a budget the total is the largest
    whole number at which no source's exact share is above its cap. With one, a source whose count is above its cap makes the plan fail
    with `Shortfall`, or, where the recipe says `redistribute`, stays at its cap while the others share the rest by their weights;
    a budget above all caps together is a `Shortfall` in both.

    `estimate` gives token figures per source name. Raises `Shortfall`, `EmptyLibrary`, `EmptySource`, `SpoiltSource`,
    `OtherwiseImported`, and `SourceMissing` for a source that was not imported.
    """
    if not library.sources():
        raise EmptyLibrary("No source was imported yet; import one (`mixdown import`, or the Sources page) and plan again.")
    known = {entry.name: library.source(entry.name) for entry in recipe.sources}
    available = {name: source.rows for name, source in known.items()}
    for entry in recipe.sources:
        if entry.weight > 0 and available[entry.name] == 0:
            raise EmptySource(_nothing_in(entry.name, known[entry.name].ledger.prompt_only))
        if entry.weight > 0 and (problem := known[entry.name].problem):
            raise SpoiltSource(f"The source {entry.name} cannot be mixed as it is. {problem}")
        if entry.weight > 0 and (otherwise := _handled_otherwise(entry, known[entry.name])):
            raise OtherwiseImported(otherwise)
    caps = {entry.name: _cap(entry, available[entry.name]) for entry in recipe.sources}
    weights = {entry.name: Fraction(str(entry.weight)) for entry in recipe.sources}
    asked = recipe.budget.amount
    wanted = largest_remainder(weights, asked if asked is not None else _largest_total(weights, caps))
    given = {name: min(rows, caps[name]) for name, rows in wanted.items()}
    if recipe.on_shortfall == "redistribute" and given != wanted:
        given = redistribute(weights, caps, sum(wanted.values()))
    estimates = {entry.name: estimate(entry.name) if estimate is not None else None for entry in recipe.sources}
    planned = _planned(recipe, known, wanted, given, estimates)
    if planned.total < sum(wanted.values()):
        raise Shortfall(_too_few(planned, sum(wanted.values()), recipe), planned)
    return planned


def largest_remainder(weights: Mapping[str, Fraction], total: int) -> dict[str, int]:
    """Whole numbers that sum to `total`, each within one of its exact share (Hamilton's method), in exact arithmetic.

    A higher weight never lowers its source's count. A higher total can, by a single row (the method's Alabama paradox), only where it
    adds less than one row to that source's share.
    """
    everything = sum(weights.values(), Fraction(0))
    shares = {name: total * weight / everything for name, weight in weights.items()}
    counts = {name: math.floor(share) for name, share in shares.items()}
    most_left = sorted(shares, key=lambda name: (counts[name] - shares[name], name))
    for name in most_left[: total - sum(counts.values())]:
        counts[name] += 1
    return counts


def redistribute(weights: Mapping[str, Fraction], caps: Mapping[str, int], total: int) -> dict[str, int]:
    """Counts by weight where every source whose share is above its cap gets the cap and the others share the rest.

    The sum is `total`, or that of all caps (of sources with a weight) where they give less.
    """
    open_weights = {name: weight for name, weight in weights.items() if weight > 0}
    counts = dict.fromkeys(weights, 0)
    left = total
    while open_weights:
        everything = sum(open_weights.values())
        full = [name for name, weight in open_weights.items() if left * weight >= caps[name] * everything]
        if not full:
            return counts | largest_remainder(open_weights, left)
        for name in full:
            counts[name] = caps[name]
            left -= caps[name]
            del open_weights[name]
    return counts


def _handled_otherwise(entry: RecipeSource, source: Source) -> str | None:
    """What the import did about the codes that the recipe names, where that is something else than the recipe says."""
    if not entry.policy:
        return None
    done: dict[str, str] = source.info.get("policy") or {}
    found = {code: done.get(code, CODES[code].default) for code in entry.policy}
    wrong = [f"{code} is {found[code]} instead of {wanted}" for code, wanted in entry.policy.items() if found[code] != wanted]
    if not wrong:
        return None
    again = " ".join(["mixdown import", entry.name, "--again", *(f"--policy {code}={action}" for code, action in entry.policy.items())])
    return f"{entry.name} was imported otherwise than the recipe says ({', '.join(wrong)}): run `{again}`."


def _cap(entry: RecipeSource, available: int) -> int:
    cap = math.floor(Fraction(str(entry.max_epochs)) * available)
    return cap if entry.max_rows is None else min(cap, entry.max_rows)


def _largest_total(weights: Mapping[str, Fraction], caps: Mapping[str, int]) -> int:
    everything = sum(weights.values(), Fraction(0))
    return min(math.floor(caps[name] * everything / weight) for name, weight in weights.items() if weight > 0)


def _planned(
    recipe: Recipe,
    known: Mapping[str, Source],
    wanted: Mapping[str, int],
    given: Mapping[str, int],
    estimates: Mapping[str, TokenEstimate | None],
) -> Plan:
    everything = sum(entry.weight for entry in recipe.sources)
    total = sum(given.values())
    parts = []
    for entry in sorted(recipe.sources, key=lambda entry: entry.name):
        source, rows, figures = known[entry.name], given[entry.name], estimates[entry.name]
        short = max(0, wanted[entry.name] - rows)
        by_rows = entry.max_rows is not None and entry.max_rows <= entry.max_epochs * source.rows
        binds = f"max_rows = {entry.max_rows}" if by_rows else f"{source.rows} rows × max_epochs = {entry.max_epochs:g}"
        parts.append(
            PlannedSource(
                name=entry.name,
                domain=source.domain or "other",
                available=source.rows,
                rows=rows,
                epochs=rows / source.rows if source.rows else 0.0,
                share_requested=entry.weight / everything,
                share_realised=rows / total if total else 0.0,
                tokens=round(figures.tokens * rows) if figures else None,
                trainable_tokens=round(figures.trainable_tokens * rows) if figures else None,
                shortfall=short,
                limit=binds if short else None,
            )
        )
    return Plan(tuple(parts), total, recipe.budget.amount)


def _too_few(planned: Plan, wanted: int, recipe: Recipe) -> str:
    short = [
        f"{source.name} lacks {source.shortfall:,} of {source.rows + source.shortfall:,} rows ({source.limit})"
        for source in planned.sources
        if source.shortfall
    ]
    what = "; ".join(short)
    if recipe.on_shortfall == "redistribute":
        return f"All sources give {planned.total:,} of the {wanted:,} rows of the budget: lower the budget or raise the caps ({what})."
    return (
        f"The mix is {wanted - planned.total:,} rows short of {wanted:,}: {what}. "
        'Lower the budget, raise the caps, or set on_shortfall = "redistribute".'
    )


def _nothing_in(name: str, prompt_only: int) -> str:
    why = f" ({prompt_only:,} rows have prompts only, which are never trained on)" if prompt_only else ""
    return f"The source {name} has no row to train on{why}; set its weight to 0, take it out of the recipe, or import it again."


def _sum(figures: list[int | None]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if len(known) == len(figures) else None
