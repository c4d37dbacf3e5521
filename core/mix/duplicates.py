"""Groups of rows that are the same in another's clothes, within and across sources, and which row of each group stays.

Exact duplicates are equal when case and white space do not count. Near ones share at least the threshold of their word shingles: pairs
come from MinHash, and each is then compared shingle by shingle, so that the estimate decides nothing. It knows rows, not plans.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import xxhash

from core.mix.duplicate_groups import DuplicateGroups, group_key, load_groups, save_groups
from core.mix.minhash import Pairs, agreement, candidates, shingles, signatures
from core.mix.ranking import Hashes, kept_rows
from core.mix.recipe import Recipe
from core.mix.rules import Duplicates
from core.sources import Library, Source
from core.sources.text import loads
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled

STEP = 1024
_DOUBT = 0.12
"""Three standard errors of an estimated overlap at 0.8: pairs that seem this much under the threshold are not compared."""
_REMEMBERED = 4096
"""Rows whose shingles are kept at hand."""


def duplicate_groups(recipe: Recipe, library: Library, watcher: Watcher | None = None) -> DuplicateGroups:
    """The groups among all kept rows of the recipe's sources, whatever their weights and filters; kept in the workspace.

    The first time minutes for a million rows, in memory of some hundred bytes a row; signatures stand beside each source, so another
    set of sources takes seconds. Raises `Cancelled`.
    """
    sources = [library.source(name) for name in sorted(entry.name for entry in recipe.sources)]
    key = group_key(recipe.duplicates, sources)
    found = load_groups(library.workspace, key)
    if found is None:
        found = find_groups(recipe.duplicates, sources, watcher)
        save_groups(library.workspace, key, found)
    return found


def find_groups(rules: Duplicates, sources: Sequence[Source], watcher: Watcher | None = None) -> DuplicateGroups:
    """The groups among the kept rows of some sources."""
    watcher = watcher or Unwatched()
    rows = [kept_rows(source) for source in sources]
    owner = np.repeat(np.arange(len(sources)), [len(part) for part in rows])
    row = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    union = _Union(len(row))
    same = np.concatenate(
        [same_hashes(source, watcher)[part] for source, part in zip(sources, rows, strict=True)] or [np.zeros(0, np.uint64)]
    )
    order = np.argsort(same, kind="stable")
    equal = np.flatnonzero(same[order][1:] == same[order][:-1])
    union.join(np.stack([order[equal], order[equal + 1]], axis=1))
    exact = union.roots().copy()
    if rules.near:
        _join_near(rules, sources, rows, owner, row, union, watcher)
    return DuplicateGroups.of(tuple(source.name for source in sources), owner, row, union.roots(), exact)


def same_hashes(source: Source, watcher: Watcher | None = None) -> Hashes:
    """A hash of each row's normalised content, `[rows of the index]`: roles, texts, calls and tools; case and white space do not count."""
    watcher = watcher or Unwatched()

    def fill(out: npt.NDArray[Any]) -> None:
        written = source.written()
        for start in range(0, len(written), STEP):
            batch = written.slice(start, STEP).to_pylist()
            out[start : start + len(batch)] = [_same_hash(record["messages"], record["tools"]) for record in batch]
            watcher.progress(Progress(f"contents of {source.name}", start + len(batch), len(written), "rows"))
            stop_if_cancelled(watcher)

    return source.computed("same-1", fill, np.uint64)


def _same_hash(messages: str, tools: str | None) -> int:
    said = [
        {
            "role": message["role"],
            "content": _plain(message["content"]),
            "reasoning": _plain(message.get("reasoning_content") or ""),
            "calls": _plain([call["function"] for call in message.get("tool_calls", ())]),
        }
        for message in _parsed(messages)
    ]
    return xxhash.xxh3_64_intdigest(orjson.dumps([said, _plain(_parsed(tools)) if tools else None], option=orjson.OPT_SORT_KEYS))


def _plain(value: Any) -> Any:
    """A JSON value with its texts in lower case and single spaces; numbers as texts, because they may be longer than orjson writes."""
    if isinstance(value, str):
        return " ".join(value.lower().split()).encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool | float | None) else str(value)


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:  # integers beyond 64 bits
        return loads(text)


def _join_near(
    rules: Duplicates,
    sources: Sequence[Source],
    rows: Sequence[Pairs],
    owner: Pairs,
    row: Pairs,
    union: "_Union",
    watcher: Watcher,
) -> None:
    parts = [signatures(source, rules.shingle, watcher) for source in sources]
    compare = _Comparison(sources, owner, row, rules)
    tried = np.zeros(0, np.uint64)
    for number, found in enumerate(candidates(parts, rows, rules.threshold), 1):
        roots = union.roots()
        apart = found[roots[found[:, 0]] != roots[found[:, 1]]]
        keys, first = np.unique(apart[:, 0].astype(np.uint64) * np.uint64(len(row)) + apart[:, 1].astype(np.uint64), return_index=True)
        new = ~np.isin(keys, tried, assume_unique=True)
        pairs = apart[first[new]]
        likely = agreement(parts, owner, row, pairs) >= rules.threshold - _DOUBT
        pairs = pairs[likely]
        for start in range(0, len(pairs), STEP):
            for one, other in pairs[start : start + STEP].tolist():
                if not union.joined(one, other) and compare(one, other):
                    union.join([[one, other]])
            stop_if_cancelled(watcher)
        tried = np.union1d(tried, keys[new][likely])
        watcher.progress(Progress("near duplicates", number, None, "bands", {"compared": compare.done}))


class _Comparison:
    """Whether two places overlap enough, shingle by shingle; the rows compared last are remembered."""

    def __init__(self, sources: Sequence[Source], owner: Pairs, row: Pairs, rules: Duplicates) -> None:
        self._texts = [source.texts() for source in sources]
        self._owner, self._row = owner, row
        self._size, self._threshold = rules.shingle, rules.threshold
        self._known: OrderedDict[int, frozenset[int]] = OrderedDict()
        self.done = 0

    def __call__(self, one: int, other: int) -> bool:
        self.done += 1
        a, b = self._shingles(one), self._shingles(other)
        shared = len(a & b)
        together = len(a) + len(b) - shared
        return together > 0 and shared >= self._threshold * together

    def _shingles(self, place: int) -> frozenset[int]:
        found = self._known.get(place)
        if found is None:
            text = self._texts[self._owner[place]][int(self._row[place])].as_py()
            found = self._known[place] = frozenset(shingles([text], self._size)[0].tolist())
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return found


class _Union:
    """Disjoint sets of places; the root of a set is its lowest place."""

    def __init__(self, size: int) -> None:
        self._parent = np.arange(size, dtype=np.int64)

    def join(self, pairs: Pairs | list[list[int]]) -> None:
        """Put the sets of each pair together."""
        for one, other in pairs.tolist() if isinstance(pairs, np.ndarray) else pairs:
            a, b = self._root(one), self._root(other)
            if a != b:
                self._parent[max(a, b)] = min(a, b)

    def joined(self, one: int, other: int) -> bool:
        """Whether two places are in one set."""
        return self._root(one) == self._root(other)

    def roots(self) -> Pairs:
        """The root of every place."""
        while not np.array_equal(above := self._parent[self._parent], self._parent):
            self._parent = above
        return self._parent

    def _root(self, place: int) -> int:
        parent = self._parent
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = int(parent[place])
        return place


def kept_of_groups(
    recipe: Recipe, groups: DuplicateGroups, usable: Mapping[str, npt.NDArray[np.int64]]
) -> dict[str, npt.NDArray[np.int64]]:
    """Source -> rows that have to go so that each group keeps one row (by the recipe's order of preference, then the first).

    Only `usable` rows count, so that a row never goes for one that a filter took. With `within` alone each source keeps one, with
    `across` alone the most preferred source keeps all of its rows.
    """
    rules = recipe.duplicates
    member = groups.among(usable)
    group, source, row = groups.group[member], groups.source[member], groups.row[member]
    order = np.lexsort((row, _preference(rules, groups.names)[source], group))
    group, source, row = group[order], source[order], row[order]
    first = np.concatenate([[True], group[1:] != group[:-1]]) if len(group) else np.zeros(0, np.bool_)
    of_source = first | np.concatenate([[True], source[1:] != source[:-1]]) if len(group) else first
    best = np.maximum.accumulate(np.where(first, np.arange(len(group)), 0))
    stays = {
        (True, True): first,
        (True, False): of_source,
        (False, True): source == source[best] if len(group) else first,
        (False, False): np.ones(len(group), np.bool_),
    }[rules.within, rules.across]
    return {name: np.sort(row[(source == number) & ~stays]) for number, name in enumerate(groups.names)}


def _preference(rules: Duplicates, names: Sequence[str]) -> npt.NDArray[np.int64]:
    ordered = [*dict.fromkeys(rules.prefer), *(name for name in names if name not in rules.prefer)]
    return np.array([ordered.index(name) for name in names], np.int64)


def beside_held_out(
    groups: DuplicateGroups, usable: Mapping[str, npt.NDArray[np.int64]], held: Mapping[str, npt.NDArray[np.bool_]]
) -> dict[str, npt.NDArray[np.int64]]:
    """Source -> usable rows that are not held out but are duplicates of one that is; `held` is over the rows of each index."""
    member = groups.among(usable)
    group, source, row = groups.group[member], groups.source[member], groups.row[member]
    out = np.zeros(len(group), np.bool_)
    for number, name in enumerate(groups.names):
        mine = source == number
        if mine.any():
            out[mine] = held[name][row[mine]]
    leaves = np.isin(group, group[out]) & ~out
    return {name: np.sort(row[leaves & (source == number)]) for number, name in enumerate(groups.names)}
