"""One numbered piece of the work: some conversations in, one shard and one record of what became of them out.

A unit depends on nothing but its own part of the selection, so it may run anywhere, in any order, again. It does not know who runs it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow.compute as pc

from core.chat import FastPath, Supervised, Supervision, Target
from core.conversation import Conversation, Stored
from core.mix import Recipe
from core.sources import Library, Source
from core.sources.arrays import as_numpy
from core.tokens.frequencies import SupervisedCounts
from core.tokens.manifest import SourceCounts
from core.tokens.shards import FileRecord, ShardWriter, TokenRow, write_whole
from core.tokens.target import load_target, supervision_of, vocabulary
from core.workspace import Workspace

BATCH = 256
"""Conversations read, rendered and encoded at a time: what a unit holds in memory, and between two looks at whether to go on."""

ROWS = 256
"""Rows of a record batch, whatever `BATCH` is: a shard's bytes do not depend on how its conversations were read."""

Encoder = Literal["auto", "hf", "slow"]
"""What a workbench makes rows with: "auto" (fastokens where it proves equal), "hf" (never fastokens), "slow" (row by row, no fast path)."""

SLOW: Encoder = "slow"

Pulse = Callable[[int], None]
"""Told how many conversations are through; may raise to stop."""


@dataclass(frozen=True)
class Unit:
    """Conversations of the selection, `[conversations]` each: index of the source, row in it."""

    kind: Literal["train", "heldout"]
    number: int
    file: str
    """The shard a training unit writes."""
    source: npt.NDArray[np.int32]
    row: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Drop:
    """A conversation, or one turn of it, that is not in the dataset, and why."""

    source: str
    row_id: str
    turn: int | None
    reason: str
    detail: str


@dataclass(frozen=True)
class Means:
    """How a unit's rows were made, which never changes what they are: what rendered and encoded at its end, why not the fast ones.

    `fast`, `slow`: conversations by path; `checked`: those of the fast path that the slow one made again; `mismatched`: how often one
    of these came out otherwise although its kind was trusted, which stops the fast path.
    """

    renderer: str
    encoder: str
    reasons: list[str] = field(default_factory=list)
    fast: int = 0
    slow: int = 0
    checked: int = 0
    mismatched: int = 0

    def __add__(self, other: "Means") -> "Means":
        renderer, encoder = _both(self.renderer, other.renderer), _both(self.encoder, other.encoder)
        reasons = list(dict.fromkeys([*self.reasons, *other.reasons]))
        fast, slow, checked = self.fast + other.fast, self.slow + other.slow, self.checked + other.checked
        return Means(renderer, encoder, reasons, fast, slow, checked, self.mismatched + other.mismatched)


def _both(one: str, other: str) -> str:
    """One name, or all that were used."""
    return "+".join(sorted({*one.split("+"), *other.split("+")} - {""}))


@dataclass(frozen=True)
class UnitRecord:
    """What a unit made. Written beside the shard when the shard is on disk, it is the mark that the unit is done."""

    number: int
    file: str
    record: FileRecord
    counts: dict[str, SourceCounts]
    frequent: list[int]
    """Ids that were supervised; `frequencies` says how often, in the same order."""
    frequencies: list[int]
    drops: list[Drop] = field(default_factory=list)
    means: Means = field(default_factory=lambda: Means("", ""))
    repaired: dict[str, int] = field(default_factory=dict)
    """Conversations by source that some repair of the import touched."""

    def save(self, path: Path) -> None:
        """Write it as JSON, whole or not at all."""
        write_whole(path, orjson.dumps(self))

    @classmethod
    def load(cls, path: Path) -> "UnitRecord":
        """The inverse of `save`."""
        value = orjson.loads(path.read_bytes())
        value["record"] = FileRecord(**value["record"])
        value["counts"] = {name: SourceCounts(**counts) for name, counts in value["counts"].items()}
        value["drops"] = [Drop(**drop) for drop in value["drops"]]
        value["means"] = Means(**value["means"])
        return cls(**value)


@dataclass(frozen=True)
class Workbench:
    """What every unit needs, loaded once per process."""

    folder: Path
    names: tuple[str, ...]
    library: Library
    target: Target
    supervision: Supervision
    seed: int
    fast: FastPath
    opened: dict[str, Source] = field(default_factory=dict)
    """Sources that some unit has read from: opened once, as that takes longer the larger they are."""
    repaired: dict[int, npt.NDArray[np.bool_]] = field(default_factory=dict)
    """By a source's index, see `repaired_rows`."""

    @classmethod
    def open(cls, workspace: Workspace, recipe: Recipe, names: Sequence[str], folder: Path, encoder: Encoder = "auto") -> "Workbench":
        """Load the recipe's target and the library, and prove the fast path."""
        target, supervision = load_target(recipe), supervision_of(recipe)
        fast = FastPath(target, supervision, encoder="auto" if encoder == "auto" else "hf")
        if encoder == SLOW:
            fast.stop()
        return cls(folder, tuple(names), Library(workspace), target, supervision, recipe.seed, fast)

    def source(self, index: int) -> Source:
        """The source of a name's index as it was when it was first asked for."""
        name = self.names[index]
        if name not in self.opened:
            self.opened[name] = self.library.source(name)
        return self.opened[name]

    def repaired_rows(self, index: int) -> npt.NDArray[np.bool_] | None:
        """Bool `[rows]`: which of a source's rows some repair touched; None where none was."""
        source = self.source(index)
        if not source.ledger.repaired:
            return None
        if index not in self.repaired:
            self.repaired[index] = as_numpy(pc.list_value_length(source.index()["repairs"])) > 0
        return self.repaired[index]

    def batches(self, unit: Unit) -> Iterator[tuple[list[int], list[Stored]]]:
        """Indices of the sources and conversations in the unit's order, a batch at a time, each source's part of it read at once."""
        sources = {index: self.source(index) for index in sorted(set(unit.source.tolist()))}
        for start in range(0, len(unit.row), BATCH):
            source, row = unit.source[start : start + BATCH], unit.row[start : start + BATCH]
            found: dict[int, Stored] = {}
            for index, places in groupby(np.lexsort((row, source)).tolist(), key=source.__getitem__):
                at = list(places)
                found.update(zip(at, sources[int(index)].as_stored(row[at].tolist()), strict=True))
            yield source.tolist(), [found[place] for place in range(len(row))]

    def conversations(self, unit: Unit) -> Iterator[tuple[int, Conversation]]:
        """(index of the source, conversation) in the unit's order."""
        for indices, stored in self.batches(unit):
            for index, one in zip(indices, stored, strict=True):
                yield index, one.conversation


def run_unit(unit: Unit, bench: Workbench, pulse: Pulse) -> UnitRecord:
    """Render, encode and mask the unit's conversations and write their shard."""
    counts = {index: asdict(SourceCounts()) for index in sorted(set(unit.source.tolist()))}
    drops: list[Drop] = []
    supervised = SupervisedCounts(vocabulary(bench.target))
    shard = ShardWriter(bench.folder / unit.file, bench.names)
    before = means_of(bench.fast)
    waiting: list[TokenRow] = []
    for indices, stored in bench.batches(unit):
        rows: list[TokenRow] = []
        for index, one, made in zip(indices, stored, bench.fast.supervise_batch(stored), strict=True):
            _count(counts[index], made)
            rows += [TokenRow(row.input_ids, row.loss_mask, index, one.row_id) for row in made.rows]
            if made.dropped:
                drops += _drops(bench.names[index], one.row_id, made)
        _count_tokens(supervised, rows, counts)
        waiting += rows
        while len(waiting) >= ROWS:
            shard.write(waiting[:ROWS])
            del waiting[:ROWS]
        pulse(len(stored))
    shard.write(waiting)
    frequencies = supervised.counts
    frequent = np.flatnonzero(frequencies)
    return UnitRecord(
        unit.number,
        unit.file,
        shard.close(),
        {bench.names[index]: SourceCounts(**figures) for index, figures in counts.items()},
        frequent.tolist(),
        frequencies[frequent].tolist(),
        drops,
        _since(before, means_of(bench.fast)),
        _repaired(unit, bench),
    )


def means_of(fast: FastPath) -> Means:
    """What a fast path has used so far."""
    said = fast.report
    return Means(said.renderer, said.encoder, list(said.reasons), said.fast, said.slow, said.checked, said.mismatched)


def _since(before: Means, now: Means) -> Means:
    fast, slow, checked = now.fast - before.fast, now.slow - before.slow, now.checked - before.checked
    return replace(now, fast=fast, slow=slow, checked=checked, mismatched=now.mismatched - before.mismatched)


def _repaired(unit: Unit, bench: Workbench) -> dict[str, int]:
    counts = {}
    for index in sorted(set(unit.source.tolist())):
        repaired = bench.repaired_rows(index)
        counts[bench.names[index]] = 0 if repaired is None else int(np.count_nonzero(repaired[unit.row[unit.source == index]]))
    return counts


def _drops(source: str, row_id: str, made: Supervised) -> list[Drop]:
    """By turn: the fast and the slow path may find them in another order."""
    ordered = sorted(made.dropped, key=lambda drop: (-1 if drop.turn is None else drop.turn, drop.reason, drop.detail))
    return [Drop(source, row_id, drop.turn, drop.reason, drop.detail or "") for drop in ordered]


def _count(tally: dict[str, Any], made: Supervised) -> None:
    tally["conversations"] += 1
    tally["kept"] += bool(made.rows)
    tally["rows"] += len(made.rows)
    for row in made.rows:
        tally["truncated"] += row.truncated
        tally["history_rewritten"] += row.history_rewritten
    for drop in made.dropped:
        tally["dropped"][drop.reason] = tally["dropped"].get(drop.reason, 0) + 1


def _count_tokens(supervised: SupervisedCounts, rows: Sequence[TokenRow], counts: dict[int, dict[str, Any]]) -> None:
    """Add the rows' tokens to the supervised ones by id, and to the figures of their sources."""
    if not rows:
        return
    ids, mask = np.concatenate([row.input_ids for row in rows]), np.concatenate([row.loss_mask for row in rows])
    supervised.add(ids, mask)
    lengths = np.fromiter((len(row.input_ids) for row in rows), np.int64, len(rows))
    trained = np.add.reduceat(mask, np.cumsum(lengths) - lengths, dtype=np.int64)
    sources = np.fromiter((row.source for row in rows), np.int64, len(rows))
    for index in np.unique(sources).tolist():
        counts[index]["tokens"] += int(lengths[sources == index].sum())
        counts[index]["trainable_tokens"] += int(trained[sources == index].sum())
