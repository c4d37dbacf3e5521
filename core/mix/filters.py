"""What a recipe's filters and repairs let through, rule by rule, so that each can say how many rows it removes and show some.

A rule looks at columns of the index or at columns worked out once (`columns`). It knows no duplicates and no plans.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from core.mix import columns
from core.mix.measured import Measured
from core.mix.ranking import Mask, Rows, kept_rows
from core.mix.recipe import Recipe
from core.mix.rules import FINISHES, Filters
from core.mix.supply import NoFigures
from core.sources import Source
from core.watch import Watcher

RowTokens = Callable[[Source], Measured]
"""Figures of all rows of a source for the recipe's target (`core.tokens.row_tokens`)."""


@dataclass(frozen=True)
class Check:
    """One rule and what it says of a source's rows. `scope` is "all", a domain or the source: where the recipe says it."""

    rule: str
    """As a person reads it: `min_turns = 2`."""
    scope: str
    passes: Mask
    """`[rows of the index]`"""


@dataclass(frozen=True)
class Removed:
    """What one rule takes from a source's kept rows."""

    rule: str
    scope: str
    alone: int
    """Rows that fail it, whatever the other rules say."""
    first: int
    """Rows that pass every rule before it and fail it: these figures add up to all that is removed."""
    examples: tuple[int, ...]
    """Up to ten of the rows that fail it (numbers of the index)."""


def checks_of(recipe: Recipe, source: Source, tokens: RowTokens | None = None, watcher: Watcher | None = None) -> Iterator[Check]:
    """Every rule that the recipe has for a source, those for all first, then those of its domain, then its own.

    Raises `NoFigures` where a rule asks for tokens and `tokens` is not given, `Cancelled`.
    """
    entry = recipe.source(source.name)
    for scope, filters in scopes_of(recipe, source):
        for rule, passes in _rules(filters, source, tokens, watcher):
            yield Check(rule, scope, passes)
    if entry is not None and "drop" in entry.repairs.values():
        for code, passes in _repairs(entry.repairs, source):
            yield Check(f'repairs.{code} = "drop"', source.name, passes)


def scopes_of(recipe: Recipe, source: Source) -> list[tuple[str, Filters]]:
    """(where the recipe says it: "all", the domain or the name; filters that hold for a source); what asks nothing is left out."""
    entry = recipe.source(source.name)
    domain = source.domain or "other"
    said = [("all", recipe.filters), (domain, recipe.domain_filters.get(domain)), (source.name, entry.filters if entry else None)]
    return [(scope, filters) for scope, filters in said if filters is not None and filters.asks]


def has_rules(recipe: Recipe, source: Source) -> bool:
    """Whether any rule is said for a source, so that its rows have to be looked at."""
    entry = recipe.source(source.name)
    return bool(scopes_of(recipe, source)) or bool(entry and "drop" in entry.repairs.values())


def removed_by(checks: list[Check], source: Source, examples: int = 10) -> list[Removed]:
    """How many kept rows each rule removes, alone and after those before it, with some of them."""
    kept = kept_rows(source)
    left = np.ones(len(kept), np.bool_)
    found = []
    for check in checks:
        fails = ~check.passes[kept]
        found.append(Removed(check.rule, check.scope, int(fails.sum()), int((fails & left).sum()), tuple(kept[fails][:examples].tolist())))
        left &= ~fails
    return found


def _rules(filters: Filters, source: Source, tokens: RowTokens | None, watcher: Watcher | None) -> Iterator[tuple[str, Mask]]:
    index = source.index()
    for column in ("turns", "chars", "tokens"):
        low, high = getattr(filters, f"min_{column}"), getattr(filters, f"max_{column}")
        if low is None and high is None:
            continue
        values = _tokens(source, tokens) if column == "tokens" else _column(index, column)
        if low is not None:
            yield f"min_{column} = {low}", values >= low
        if high is not None:
            yield f"max_{column} = {high}", values <= high
    for column in ("has_tools", "has_reasoning"):
        if (wanted := getattr(filters, column)) is not None:
            yield f"{column} = {str(wanted).lower()}", _column(index, column) == wanted
    if filters.finish is not None:
        wanted_ends = [FINISHES.index(finish) for finish in filters.finish]
        yield f"finish = {list(filters.finish)}", np.isin(columns.finishes(source, watcher), wanted_ends)
    for expression in filters.match:
        yield f"match {expression!r}", np.asarray(columns.matches(source, expression, watcher))
    for expression in filters.no_match:
        yield f"no_match {expression!r}", ~columns.matches(source, expression, watcher)
    if filters.max_nontext is not None:
        yield f"max_nontext = {filters.max_nontext:g}", columns.nontext(source, watcher) <= np.float32(filters.max_nontext)
    if filters.max_repetition is not None:
        repeated = columns.repetition(source, filters.repetition_ngram, watcher)
        yield f"max_repetition = {filters.max_repetition:g}", repeated <= np.float32(filters.max_repetition)
    if filters.languages is not None:  # the slowest comes last
        codes = [code.encode() for code in filters.languages]
        yield f"languages = {list(filters.languages)}", np.isin(columns.languages(source, watcher), codes)


def _column(index: pa.Table, name: str) -> npt.NDArray[np.generic]:
    return np.asarray(index[name].to_numpy())


def _tokens(source: Source, tokens: RowTokens | None) -> npt.NDArray[np.int64]:
    if tokens is None:
        raise NoFigures(f"A filter of {source.name} asks for tokens, which nobody has measured here; give the tokens of its rows.")
    measured = tokens(source)
    rows: Rows = np.arange(len(source.index()))
    at, found = measured.places(rows)
    if not found.all():
        raise NoFigures(f"A filter of {source.name} asks for tokens, and {int((~found).sum()):,} of its rows are not measured.")
    return measured.tokens[at].astype(np.int64)


def _repairs(policy: Mapping[str, str], source: Source) -> Iterator[tuple[str, Mask]]:
    column = source.index()["repairs"]
    lists = [chunk for chunk in column.chunks if len(chunk)]
    lengths = np.concatenate([np.diff(chunk.offsets.to_numpy()) for chunk in lists]) if lists else np.zeros(0, np.int64)
    row = np.repeat(np.arange(len(column)), lengths)
    codes = np.array([code for chunk in lists for code in chunk.flatten().to_pylist()], dtype=object)
    for wanted, action in policy.items():
        if action != "drop":
            continue
        passes = np.ones(len(column), np.bool_)
        hit = codes == wanted if wanted != "all" else ~np.isin(codes.astype(str), [code for code in policy if code != "all"])
        passes[row[hit]] = False
        yield wanted, passes
