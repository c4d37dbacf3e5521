"""From what the target accepts per source back to the mix: which sources lag, and a recipe that gives them more, a little at a time.

It knows shares, acceptance lengths and counts; it measures nothing. The same figures give the same recipe.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from core.errors import InputError
from core.mix.difference import difference
from core.mix.presets import Weights
from core.mix.recipe import Recipe
from core.mix.recipe_file import checked_recipe

DAMPING = 0.5
"""A source that accepts half of the mean would get exp(0.5 * 0.5), 1.28 times its share: one round is a step, not a jump."""
BOUND = 1.5
"""No share becomes more than 1.5 times as large or as small in one round."""
FLOOR = 0.01
"""No source falls below this share (or below what it had, where that was less): what is not trained on is forgotten."""
PROMPTS = 8
"""Prompts that the mean counts for against a source's own: five prompts are not yet an opinion."""
MAX_EPOCHS = 2.0
"""How often the rows of a source may be used for a larger share; beyond that more rows are what it needs."""


class NothingToSuggest(InputError):
    """There are no figures of two sources that could be compared."""


@dataclass(frozen=True)
class Accepted:
    """What was measured of one source."""

    length: float
    """tokens per round, the target's own included"""
    prompts: int


@dataclass(frozen=True)
class Given:
    """What one source gave to the dataset that the measured drafter was trained on."""

    rows: int
    """conversations, held-out ones too"""
    available: int
    """usable conversations it has"""
    trainable_tokens: int


@dataclass(frozen=True)
class Advice:
    """One source: how it does, what it would get, and why."""

    name: str
    accepted: Accepted | None
    behind: float
    """how far below the mean it is, as a share of the mean and counted with few prompts as little; negative where it leads"""
    share: float
    suggested_share: float
    rows: int | None
    suggested_rows: int | None
    trainable_tokens: int | None
    """more trainable tokens than before, estimated by what its rows have; negative for fewer"""
    reason: str

    @property
    def lags(self) -> bool:
        """Whether it would get more."""
        return self.suggested_share > self.share * 1.005


@dataclass(frozen=True)
class Suggestion:
    """A recipe for the next round, with a reason for every source (the furthest behind first)."""

    recipe: Recipe
    sources: tuple[Advice, ...]
    mean: float
    """acceptance length over the sources, weighted by their shares"""
    changes: list[str]
    """the recipe as a diff, in lines"""
    notes: list[str]
    """what holds for the whole, and what weights cannot repair"""

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "name": self.recipe.name,
            "mean": self.mean,
            "sources": [{**asdict(one), "lags": one.lags} for one in self.sources],
            "changes": self.changes,
            "notes": self.notes,
            "recipe": self.recipe.model_dump(mode="json"),
        }


def accepted_by_source(report: Mapping[str, Any]) -> dict[str, Accepted]:
    """What an evaluation report says of each source."""
    prompts = report["prompts_by_source"]
    return {name: Accepted(float(length), int(prompts[name])) for name, length in report["by_source"].items()}


def suggest(
    recipe: Recipe,
    accepted: Mapping[str, Accepted],
    given: Mapping[str, Given] | None = None,
    *,
    name: str | None = None,
    damping: float = DAMPING,
    bound: float = BOUND,
    floor: float = FLOOR,
) -> Suggestion:
    """The recipe with more of the sources whose drafts are accepted less, called `name` (default: the recipe's own).

    A share is multiplied by exp(damping * how far behind the mean), kept within `bound` and above `floor`, and all are scaled so that
    the weights keep their sum. Sources that were not measured keep their weight. With `given` the mix also keeps its size: a source
    whose rows do not suffice may use them up to `MAX_EPOCHS` times. Raises `NothingToSuggest`.
    """
    weights = {entry.name: entry.weight for entry in recipe.sources if entry.weight > 0}
    total = sum(weights.values())
    shares = {source: weight / total for source, weight in weights.items()}
    measured = {source: accepted[source] for source in sorted(weights) if source in accepted and accepted[source].prompts > 0}
    if len(measured) < 2:
        raise NothingToSuggest(
            f"Of the recipe's sources {', '.join(measured) or 'none'} was measured, and it takes two to compare: evaluate more prompts."
        )
    part = sum(shares[source] for source in measured)
    mean = sum(shares[source] * found.length for source, found in measured.items()) / part
    behind = {source: _behind(found, mean) for source, found in measured.items()}
    wanted = {source: shares[source] * math.exp(damping * behind[source]) for source in measured}
    lowest = {source: max(shares[source] / bound, min(shares[source], floor)) for source in measured}
    highest = {source: shares[source] * bound for source in measured}
    new_shares = shares | _scaled(wanted, lowest, highest, part)
    changed, notes = _changed(recipe, shares, new_shares, given or {}, name)
    advice = [_advice(source, measured.get(source), behind.get(source, 0.0), mean, shares, new_shares, given or {}) for source in weights]
    advice.sort(key=lambda one: (-one.behind, one.name))
    return Suggestion(changed, tuple(advice), mean, difference(recipe, changed), notes)


def _behind(found: Accepted, mean: float) -> float:
    """(mean - length) / mean, with the length drawn towards the mean as if `PROMPTS` prompts of it had been measured too."""
    drawn = (found.prompts * found.length + PROMPTS * mean) / (found.prompts + PROMPTS)
    return (mean - drawn) / mean


def _scaled(wanted: Weights, lowest: Weights, highest: Weights, total: float) -> Weights:
    """`wanted` times one factor, each kept between its limits, so that they sum to `total` (which lies between the limits' sums)."""
    low, high = 0.0, max(highest[name] / wanted[name] for name in wanted)
    for _ in range(200):
        factor = (low + high) / 2
        got = sum(min(highest[name], max(lowest[name], factor * wanted[name])) for name in sorted(wanted))
        low, high = (factor, high) if got < total else (low, factor)
    return {name: min(highest[name], max(lowest[name], high * wanted[name])) for name in wanted}


def _changed(recipe: Recipe, shares: Weights, new: Weights, given: Mapping[str, Given], name: str | None) -> tuple[Recipe, list[str]]:
    """The recipe with the new shares, its size kept, epochs raised where rows run out; and what is to be said about that."""
    total = sum(entry.weight for entry in recipe.sources)
    value = recipe.model_dump(mode="json")
    value["name"] = name or recipe.name
    notes = []
    for entry in value["sources"]:
        source = entry["name"]
        if source not in shares or math.isclose(new[source], shares[source], rel_tol=0.005):
            continue
        entry["weight"] = _neat(new[source] * total)
        had = given.get(source)
        if had is None or not had.available:
            continue
        needed = math.ceil(had.rows * new[source] / shares[source]) + 1  # shares come out as whole rows, which may give one more
        limit = min(entry["max_rows"] or math.inf, entry["max_epochs"] * had.available)
        if needed > limit:
            entry["max_epochs"] = max(entry["max_epochs"], min(MAX_EPOCHS, math.ceil(needed / had.available * 20) / 20))
        if needed > min(entry["max_rows"] or math.inf, entry["max_epochs"] * had.available):
            notes.append(f"{source} has only {had.available:,} rows, used {entry['max_epochs']:g} times at most: import more of it.")
    rows = sum(had.rows for had in given.values())
    if rows and recipe.budget.amount is None:
        # Without a limit the total would shrink until the larger share fits the rows there are.
        value["budget"] |= {"amount": rows, "unit": "rows"}
        notes.append(f"The size stays at {rows:,} conversations, so that a round of it costs as much as the one before.")
    if notes and any("import more" in note for note in notes):
        value["on_shortfall"] = "redistribute"
    return checked_recipe(value), notes


def _advice(
    source: str, found: Accepted | None, behind: float, mean: float, shares: Weights, new: Weights, given: Mapping[str, Given]
) -> Advice:
    had = given.get(source)
    ratio = new[source] / shares[source]
    advice = Advice(
        name=source,
        accepted=found,
        behind=behind,
        share=shares[source],
        suggested_share=new[source],
        rows=had.rows if had else None,
        suggested_rows=round(had.rows * ratio) if had else None,
        trainable_tokens=round(had.trainable_tokens * (ratio - 1)) if had else None,
        reason="",
    )
    return replace(advice, reason=_reason(advice, mean))


def _reason(advice: Advice, mean: float) -> str:
    found = advice.accepted
    if found is None:
        return "was not measured, so its weight stays"
    side = "below" if found.length < mean else "above"
    prompts = f"{found.prompts} prompt{'' if found.prompts == 1 else 's'}"
    said = f"{found.length:.2f} tokens per round, {abs(mean - found.length) / mean:.0%} {side} the mean of {mean:.2f} ({prompts})"
    if math.isclose(advice.share, advice.suggested_share, rel_tol=0.005):
        return f"{said}: its share stays"
    more = f"share {advice.share:.1%} → {advice.suggested_share:.1%}"
    if advice.trainable_tokens is None or advice.rows is None or advice.suggested_rows is None:
        return f"{said}: {more}"
    return f"{said}: {more}, {advice.suggested_rows - advice.rows:+,} conversations, {advice.trainable_tokens:+,} trainable tokens"


def _neat(weight: float) -> float:
    """Four significant digits, as a person would write it."""
    return float(f"{weight:.4g}")
