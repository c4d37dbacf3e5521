"""From weights to integer counts, with what was asked and what comes out side by side.

It knows how many usable rows each source has. It does not pick rows (`sampling`) and knows tokens only as figures it is told.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from core.dialects import CODES
from core.errors import InputError
from core.mix.counts import Wanted, counts_of
from core.mix.planned import Plan, PlannedSource, Shares
from core.mix.recipe import UNITS, Recipe, RecipeSource, Unit
from core.mix.supply import Supply, TokenEstimate
from core.mix.usable import Usable, usable_rows
from core.sources import Library, Source


class EmptySource(InputError):
    """A source with a weight that has no row to train on."""


class SpoiltSource(InputError):
    """A source with a weight of which most rows could not be used."""


class OtherwiseImported(InputError):
    """The recipe wants a source's rows handled in another way than its import did."""


class Shortfall(InputError):
    """The weights ask for more rows than the sources and their caps give; `plan` shows what they would give."""

    def __init__(self, message: str, plan: Plan) -> None:
        super().__init__(message)
        self.plan = plan


Estimate = Callable[[str], TokenEstimate | None]


def plan(
    recipe: Recipe,
    library: Library,
    estimate: Estimate | None = None,
    usable: Mapping[str, Usable] | None = None,
    supplies: Mapping[str, Supply] | None = None,
) -> Plan:
    """The recipe's integer counts, by largest remainder (ties go to the name first in the alphabet), whatever the order in the file.

    A source's cap is `max_epochs` times its usable rows, rounded down, and at most `max_rows`. Without a budget the total is the largest
    at which no source's exact share is above its cap. With one, a source whose count is above its cap makes the plan fail
    with `Shortfall`, or, where the recipe says `redistribute`, stays at its cap while the others share the rest by their weights;
    a budget above all caps together is a `Shortfall` in both. A budget in tokens is filled with whole rows, never beyond it.

    `estimate` gives token figures per source name; a recipe that weighs or limits tokens needs them. `usable` is `usable_rows(recipe,
    library)` and `supplies` is `supply_of` per source, where the caller has them: what is left are weights, caps and the budget.
    Raises `Shortfall`, `EmptyLibrary`, `EmptySource`, `SpoiltSource`, `NoFigures`, `OtherwiseImported`, the errors of filters, and
    `SourceMissing` for a source that was not imported.
    """
    usable = usable if usable is not None else usable_rows(recipe, library)
    for entry in recipe.sources:
        if entry.weight > 0:
            _check(entry, usable[entry.name])
    caps = {entry.name: _cap(entry, usable[entry.name].count) for entry in recipe.sources}
    supplies = supplies or {entry.name: supply_of(recipe, usable[entry.name], estimate) for entry in recipe.sources}
    wanted = counts_of(recipe, supplies, caps)
    planned = _planned(recipe, usable, supplies, caps, wanted)
    if wanted.short:
        raise Shortfall(_too_few(planned, wanted, recipe), planned)
    return planned


def supply_of(recipe: Recipe, usable: Usable, estimate: Estimate | None) -> Supply:
    """What the usable rows of a source hold; depends on the recipe's seed and share of validation, not on weights or caps."""
    figures = estimate(usable.source.name) if estimate is not None and usable.count else None
    if figures is None:
        return Supply(usable.source.name, usable.count)
    return Supply.of(usable.source, usable.rows, figures, recipe.seed, recipe.validation)


def _check(entry: RecipeSource, usable: Usable) -> None:
    if not usable.count:
        raise EmptySource(_nothing_in(entry.name, usable))
    if problem := usable.source.problem:
        raise SpoiltSource(f"The source {entry.name} cannot be mixed as it is. {problem}")
    if otherwise := _handled_otherwise(entry, usable.source):
        raise OtherwiseImported(otherwise)


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


def _planned(recipe: Recipe, usable: Mapping[str, Usable], supplies: Mapping[str, Supply], caps: Mapping[str, int], wanted: Wanted) -> Plan:
    asked = {unit: _amounts(supplies, wanted.asked, unit) for unit in UNITS}
    given = {unit: _amounts(supplies, wanted.given, unit) for unit in UNITS}
    everything = sum(entry.weight for entry in recipe.sources)
    share_unit: Unit = recipe.weights_unit if asked[recipe.weights_unit] is not None else "rows"
    one_unit = all(entry.unit == share_unit for entry in recipe.sources if entry.weight > 0)
    parts = []
    for entry in sorted(recipe.sources, key=lambda entry: entry.name):
        name, supply, source = entry.name, supplies[entry.name], usable[entry.name]
        rows, short = wanted.given[name], max(0, wanted.asked[name] - wanted.given[name])
        shares = {unit: _shares(asked[unit], given[unit], name) for unit in UNITS}
        if one_unit:
            # The weights themselves, not the whole rows nearest to them.
            shares[share_unit] = Shares(entry.weight / everything, shares[share_unit].realised if shares[share_unit] else 0.0)  # type: ignore[union-attr]
        known = supply.figures is not None
        main = shares[share_unit] or Shares(0.0, 0.0)
        parts.append(
            PlannedSource(
                name=name,
                domain=source.source.domain or "other",
                available=source.count,
                rows=rows,
                epochs=rows / source.count if source.count else 0.0,
                share_requested=main.requested,
                share_realised=main.realised,
                tokens=round(supply.amount("tokens", rows)) if known else None,
                trainable_tokens=round(supply.amount("trainable_tokens", rows)) if known else None,
                shortfall=short,
                limit=_binding(entry, source.count) if short else None,
                weight=entry.weight,
                unit=entry.unit,
                cap=caps[name],
                shares=shares,
                exact=supply.exact(rows),
                tokens_error=supply.error("tokens", rows) if known else None,
                trainable_error=supply.error("trainable_tokens", rows) if known else None,
                shortfall_tokens=_beyond(supply, "tokens", rows, short) if known else None,
                shortfall_trainable_tokens=_beyond(supply, "trainable_tokens", rows, short) if known else None,
                removed=dict(source.removed),
            )
        )
    return Plan(tuple(parts), sum(wanted.given.values()), recipe.budget.amount, recipe.budget.unit, share_unit)


def _beyond(supply: Supply, unit: Unit, rows: int, short: int) -> int:
    return round(supply.amount(unit, rows + short) - supply.amount(unit, rows))


def _amounts(supplies: Mapping[str, Supply], rows: Mapping[str, int], unit: Unit) -> dict[str, float] | None:
    if unit != "rows" and any(supplies[name].figures is None for name, count in rows.items() if count):
        return None
    return {name: supplies[name].amount(unit, count) if count else 0.0 for name, count in rows.items()}


def _shares(asked: Mapping[str, float] | None, given: Mapping[str, float] | None, name: str) -> Shares | None:
    if asked is None or given is None:
        return None
    all_asked, all_given = sum(asked.values()), sum(given.values())
    return Shares(asked[name] / all_asked if all_asked else 0.0, given[name] / all_given if all_given else 0.0)


def _binding(entry: RecipeSource, available: int) -> str:
    if entry.max_rows is not None and entry.max_rows <= entry.max_epochs * available:
        return f"max_rows = {entry.max_rows}"
    return f"{available} rows × max_epochs = {entry.max_epochs:g}"


def _too_few(planned: Plan, wanted: Wanted, recipe: Recipe) -> str:
    what = "; ".join(
        f"{source.name} lacks {source.shortfall:,} of {source.rows + source.shortfall:,} rows ({source.limit})"
        for source in planned.sources
        if source.shortfall
    )
    unit = recipe.budget.unit.replace("_", " ")
    if recipe.on_shortfall == "redistribute":
        return (
            f"All sources give {wanted.total_given:,} of the {wanted.total_asked:,} {unit} of the budget: "
            f"lower the budget or raise the caps ({what})."
        )
    return (
        f"The mix is {wanted.total_asked - wanted.total_given:,} {unit} short of {wanted.total_asked:,}: {what}. "
        'Lower the budget, raise the caps, or set on_shortfall = "redistribute".'
    )


def _nothing_in(name: str, usable: Usable) -> str:
    if usable.removed:
        rules = ", ".join(f"{rule} {count:,}" for rule, count in usable.removed.items())
        return f"No row of {name} is left to train on ({rules}): loosen what the recipe asks of it, or take it out."
    prompt_only = usable.source.ledger.prompt_only
    why = f" ({prompt_only:,} rows have prompts only, which are never trained on)" if prompt_only else ""
    return f"The source {name} has no row to train on{why}; set its weight to 0, take it out of the recipe, or import it again."
