"""Groups of duplicates as they are kept in the workspace and looked at. It knows which rows belong together, not why."""

import hashlib
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from core.mix.rules import Duplicates
from core.sources import Source
from core.workspace import Workspace

Numbers = npt.NDArray[np.int64]

_MOST_KEPT = 8
"""Results kept in a workspace; the oldest goes."""


@dataclass(frozen=True)
class Group:
    """One group: its rows as (source, row of the index), and whether they are all equal or only near each other."""

    number: int
    rows: tuple[tuple[str, int], ...]
    exact: bool


@dataclass(frozen=True, eq=False)
class DuplicateGroups:
    """All rows that have a duplicate, as parallel arrays `[rows]` in order of group, source and row; groups are numbered from 0."""

    names: tuple[str, ...]
    group: Numbers
    source: Numbers
    """Place of the source in `names`."""
    row: Numbers
    exact: npt.NDArray[np.bool_]
    """Whether the row's whole group is equal."""

    @classmethod
    def of(cls, names: tuple[str, ...], owner: Numbers, row: Numbers, roots: Numbers, exact_roots: Numbers) -> Self:
        """From the root of every row's set, near and exact."""
        _, inverse, counts = np.unique(roots, return_inverse=True, return_counts=True)
        many = counts[inverse] > 1
        _, group = np.unique(roots[many], return_inverse=True)
        order = np.lexsort((row[many], owner[many], group))
        group, owner, row, inside = group[order], owner[many][order], row[many][order], exact_roots[many][order]
        starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]])) if len(group) else np.zeros(0, np.int64)
        equal = np.minimum.reduceat(inside, starts) == np.maximum.reduceat(inside, starts) if len(group) else np.zeros(0, np.bool_)
        return cls(names, group.astype(np.int64), owner.astype(np.int64), row, equal[group])

    @property
    def count(self) -> int:
        """How many groups there are."""
        return int(self.group[-1]) + 1 if len(self.group) else 0

    @property
    def rows(self) -> int:
        """How many rows have a duplicate."""
        return len(self.row)

    def page(self, offset: int = 0, limit: int = 20, source: str | None = None) -> list[Group]:
        """Some of the groups (of those with a row of `source`), the largest first."""
        sizes = np.bincount(self.group, minlength=self.count)
        order = np.argsort(-sizes, kind="stable")
        if source is not None:
            mine = np.unique(self.group[self.source == self.names.index(source)]) if source in self.names else np.zeros(0, np.int64)
            order = order[np.isin(order, mine)]
        return [self._group(int(number)) for number in order[offset : offset + limit]]

    def between(self) -> dict[tuple[str, str], int]:
        """(source, other source) -> groups with rows of both; (source, source) -> those with two of its own."""
        found: dict[tuple[str, str], int] = {}
        pairs, counts = np.unique(np.stack([self.group, self.source], axis=1), axis=0, return_counts=True)
        for number, many in zip(pairs[:, 1][counts > 1], counts[counts > 1], strict=True):
            assert many > 1
            key = (self.names[number], self.names[number])
            found[key] = found.get(key, 0) + 1
        for step in range(1, len(self.names)):
            same = np.flatnonzero(pairs[step:, 0] == pairs[:-step, 0]) if len(pairs) > step else np.zeros(0, np.int64)
            for at in same.tolist():
                key = (self.names[pairs[at, 1]], self.names[pairs[at + step, 1]])
                found[key] = found.get(key, 0) + 1
        return dict(sorted(found.items()))

    def among(self, usable: Mapping[str, Numbers]) -> npt.NDArray[np.bool_]:
        """Which entries are among some rows of each source (rising); sources that are not named have none."""
        found = np.zeros(len(self.row), np.bool_)
        for number, name in enumerate(self.names):
            if name in usable:
                mine = self.source == number
                found[mine] = np.isin(self.row[mine], usable[name])
        return found

    def _group(self, number: int) -> Group:
        first, last = np.searchsorted(self.group, [number, number + 1])
        entries = zip(self.source[first:last].tolist(), self.row[first:last].tolist(), strict=True)
        return Group(number, tuple((self.names[source], row) for source, row in entries), bool(self.exact[first]))


def group_key(rules: Duplicates, sources: Sequence[Source]) -> str:
    """What groups depend on: how they are looked for, and the imports they are looked for in."""
    how = [rules.near, rules.threshold, rules.shingle] if rules.near else [False]
    value = ["groups-1", how, [[source.name, source.version] for source in sources]]
    return hashlib.sha256(orjson.dumps(value)).hexdigest()[:24]


def load_groups(workspace: Workspace, key: str) -> DuplicateGroups | None:
    """Groups found earlier; None for none."""
    try:
        with pa.OSFile(str(_file(workspace, key))) as file:
            table = pa.ipc.open_file(file).read_all()
        names = tuple(orjson.loads(table.schema.metadata[b"names"]))
        return DuplicateGroups(names, *(np.asarray(table[name].to_numpy()) for name in ("group", "source", "row", "exact")))
    except (OSError, pa.ArrowException, KeyError, TypeError):
        return None


def has_groups(workspace: Workspace, key: str) -> bool:
    """Whether groups were found earlier, so that asking for them costs nothing."""
    return _file(workspace, key).is_file()


def save_groups(workspace: Workspace, key: str, groups: DuplicateGroups) -> None:
    """Keep groups in the workspace, whole or not at all; a workspace that cannot be written is left be."""
    path = _file(workspace, key)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    table = pa.table({name: getattr(groups, name) for name in ("group", "source", "row", "exact")})
    table = table.replace_schema_metadata({b"names": orjson.dumps(groups.names)})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(beside), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        with beside.open("rb+") as written:
            os.fsync(written.fileno())
        beside.replace(path)
        kept = sorted(path.parent.glob("*.arrow"), key=lambda other: other.stat().st_mtime)
        for old in kept[:-_MOST_KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        beside.unlink(missing_ok=True)


def _file(workspace: Workspace, key: str) -> Path:
    return workspace.duplicates / f"{key}.arrow"
