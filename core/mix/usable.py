"""Which rows of each source a recipe may take at all: kept ones that pass its filters and repeat nothing they should not.

It puts the rules in their order and counts what each removes. What a rule means stands in its own module.
"""

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import orjson

from core.errors import InputError
from core.mix.benchmarks import benchmark_stamp
from core.mix.contamination import contamination_report
from core.mix.duplicates import beside_held_out, duplicate_groups, kept_of_groups
from core.mix.filters import RowTokens, checks_of, has_rules
from core.mix.ranking import Rows, held_out, kept_rows, ranked
from core.mix.recipe import Recipe
from core.sources import Library, Source
from core.watch import Watcher


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


def usable_rows(recipe: Recipe, library: Library, tokens: RowTokens | None = None, watcher: Watcher | None = None) -> dict[str, Usable]:
    """The usable rows of every source of the recipe, by name; `tokens` is needed where a filter asks for them.

    Columns that filters need and nobody has worked out yet are worked out here, told to the watcher: minutes for a million rows the
    first time, nothing after that. A recipe that differs in weights, caps and budgets alone gets the same rows from memory.

    Raises `EmptyLibrary`, `SourceMissing` and the errors of the rules.
    """
    if not library.names():
        raise EmptyLibrary("No source was imported yet; import one (`mixdown import`, or the Sources page) and plan again.")
    sources = {entry.name: library.source(entry.name) for entry in recipe.sources}
    if not (recipe.contamination.asks or recipe.duplicates.asks or any(has_rules(recipe, source) for source in sources.values())):
        return {name: Usable(source, source.rows) for name, source in sources.items()}
    key = usable_key(recipe, sources)
    with _lock:
        if (known := _known.get(key)) is not None:
            return dict(known)
    found = _worked_out(recipe, library, sources, tokens, watcher)
    with _lock:
        _known[key] = found
        while len(_known) > _MOST_KNOWN:
            del _known[next(iter(_known))]
    return dict(found)


def usable_key(recipe: Recipe, sources: Mapping[str, Source]) -> str:
    """What the usable rows depend on: rules, imports, which sources have a weight, and for filters by tokens the target."""
    rules = recipe.model_dump(
        mode="json", include={"filters", "domain_filters", "duplicates", "contamination", "validation", "supervision"}
    )
    if not _asks_for_tokens(recipe):
        del rules["supervision"]
    else:
        rules["target"] = recipe.target.model_dump(mode="json")
    own = [
        [entry.name, sources[entry.name].version, entry.filters.model_dump(mode="json"), entry.repairs, entry.weight > 0]
        for entry in sorted(recipe.sources, key=lambda entry: entry.name)
    ]
    stamps = [benchmark_stamp(said) for said in recipe.contamination.benchmarks]
    return hashlib.sha256(orjson.dumps([rules, own, stamps], option=orjson.OPT_SORT_KEYS)).hexdigest()


def _asks_for_tokens(recipe: Recipe) -> bool:
    every = [recipe.filters, *recipe.domain_filters.values(), *(entry.filters for entry in recipe.sources)]
    return any(filters.min_tokens is not None or filters.max_tokens is not None for filters in every)


_MOST_KNOWN = 8
"""Results kept in memory, eight bytes a row each."""
_known: dict[str, dict[str, Usable]] = {}
_lock = threading.Lock()


def _worked_out(
    recipe: Recipe, library: Library, sources: Mapping[str, Source], tokens: RowTokens | None, watcher: Watcher | None
) -> dict[str, Usable]:
    usable = {name: _filtered(recipe, source, tokens, watcher) for name, source in sources.items()}
    if recipe.contamination.asks:
        repeated = contamination_report(recipe, library, watcher).dropped()
        usable = {name: without(part, repeated[name], "contamination") for name, part in usable.items()}
    return _without_duplicates(recipe, library, usable, watcher) if recipe.duplicates.asks else usable


def _without_duplicates(recipe: Recipe, library: Library, usable: dict[str, Usable], watcher: Watcher | None) -> dict[str, Usable]:
    """One row of each group; and none that is a duplicate of a row held out, which `within` or `across` alone may leave."""
    groups = duplicate_groups(recipe, library, watcher)
    mixed = {entry.name: usable[entry.name] for entry in recipe.sources if entry.weight > 0}
    gone = kept_of_groups(recipe, groups, {name: part.rows for name, part in mixed.items()})
    left = {name: without(part, gone[name], "duplicates") for name, part in mixed.items()}
    if recipe.validation > 0:
        held = {name: held_out(part.source, recipe.validation) for name, part in left.items()}
        gone = beside_held_out(groups, {name: part.rows for name, part in left.items()}, held)
        left = {name: without(part, gone[name], "duplicates of held-out rows") for name, part in left.items()}
    return usable | left


def _filtered(recipe: Recipe, source: Source, tokens: RowTokens | None, watcher: Watcher | None) -> Usable:
    if not has_rules(recipe, source):
        return Usable(source, source.rows)
    rows = kept_rows(source)
    removed: dict[str, int] = {}
    for check in checks_of(recipe, source, tokens, watcher):
        passing = check.passes[rows]
        if not passing.all():
            removed[check.rule] = removed.get(check.rule, 0) + int((~passing).sum())
            rows = rows[passing]
    return Usable(source, len(rows), removed, rows)


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
