"""One numbered piece of the work: some conversations in, one shard and one record of what became of them out.

A unit depends on nothing but its own part of the selection, so it may run anywhere, in any order, again. It does not know who runs it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import orjson

from core.chat import Supervised, Supervision, Target, supervise
from core.conversation import Conversation
from core.mix import Recipe
from core.sources import Library
from core.tokens.frequencies import supervised_counts
from core.tokens.manifest import SourceCounts
from core.tokens.shards import FileRecord, ShardWriter, TokenRow, write_whole
from core.tokens.target import load_target, supervision_of, vocabulary
from core.workspace import Workspace

BATCH = 256
"""Conversations read, and rows written, at a time: what a unit holds in memory."""

STEP = 32
"""Conversations between two looks at whether to go on."""

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

    def save(self, path: Path) -> None:
        """Write it as JSON, whole or not at all."""
        write_whole(path, orjson.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> "UnitRecord":
        """The inverse of `save`."""
        value = orjson.loads(path.read_bytes())
        value["record"] = FileRecord(**value["record"])
        value["counts"] = {name: SourceCounts(**counts) for name, counts in value["counts"].items()}
        value["drops"] = [Drop(**drop) for drop in value["drops"]]
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

    @classmethod
    def open(cls, workspace: Workspace, recipe: Recipe, names: Sequence[str], folder: Path) -> "Workbench":
        """Load the recipe's target and the library."""
        return cls(folder, tuple(names), Library(workspace), load_target(recipe), supervision_of(recipe), recipe.seed)

    def conversations(self, unit: Unit) -> Iterator[tuple[int, Conversation]]:
        """(index of the source, conversation) in the unit's order, read a batch at a time, each source's part of it at once."""
        sources = {index: self.library.source(self.names[index]) for index in sorted(set(unit.source.tolist()))}
        for start in range(0, len(unit.row), BATCH):
            source, row = unit.source[start : start + BATCH], unit.row[start : start + BATCH]
            found: dict[int, Conversation] = {}
            for index, places in groupby(np.lexsort((row, source)).tolist(), key=source.__getitem__):
                at = list(places)
                found.update(zip(at, sources[int(index)].conversations(row[at].tolist()), strict=True))
            yield from ((index, found[place]) for place, index in enumerate(source.tolist()))


def run_unit(unit: Unit, bench: Workbench, pulse: Pulse) -> UnitRecord:
    """Render, encode and mask the unit's conversations and write their shard."""
    counts: dict[int, dict[str, Any]] = {}
    drops: list[Drop] = []
    frequencies = np.zeros(vocabulary(bench.target), np.int64)
    shard = ShardWriter(bench.folder / unit.file, bench.names)
    waiting: list[TokenRow] = []
    for done, (index, conversation) in enumerate(bench.conversations(unit), 1):
        made = supervise(conversation, bench.target, bench.supervision)
        tally = counts.setdefault(index, asdict(SourceCounts()))
        _count(tally, made)
        drops += [Drop(bench.names[index], conversation.row_id, drop.turn, drop.reason, drop.detail or "") for drop in made.dropped]
        waiting += [TokenRow(row.input_ids, row.loss_mask, index, conversation.row_id) for row in made.rows]
        if len(waiting) >= BATCH or done == len(unit.row):
            _count_tokens(frequencies, waiting)
            shard.write(waiting)
            waiting = []
        if done % STEP == 0:
            pulse(STEP)
    pulse(len(unit.row) % STEP)
    frequent = np.flatnonzero(frequencies)
    return UnitRecord(
        unit.number,
        unit.file,
        shard.close(),
        {bench.names[index]: SourceCounts(**counts[index]) for index in sorted(counts)},
        frequent.tolist(),
        frequencies[frequent].tolist(),
        drops,
    )


def _count(tally: dict[str, Any], made: Supervised) -> None:
    tally["conversations"] += 1
    tally["kept"] += bool(made.rows)
    tally["rows"] += len(made.rows)
    for row in made.rows:
        tally["tokens"] += len(row.input_ids)
        tally["trainable_tokens"] += int(np.count_nonzero(row.loss_mask))
        tally["truncated"] += bool(row.truncated)
        tally["history_rewritten"] += bool(row.history_rewritten)
    for drop in made.dropped:
        tally["dropped"][drop.reason] = tally["dropped"].get(drop.reason, 0) + 1


def _count_tokens(frequencies: npt.NDArray[np.int64], rows: Sequence[TokenRow]) -> None:
    if rows:
        ids, mask = np.concatenate([row.input_ids for row in rows]), np.concatenate([row.loss_mask for row in rows])
        frequencies += supervised_counts(ids, mask, len(frequencies))
