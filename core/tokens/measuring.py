"""Exact token figures of single conversations, counted through the recipe's target and kept beside their source.

A figure holds for one target, template and supervision. It knows conversations and counts; plans are made elsewhere.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from core.chat import FastPath, Supervised, Target
from core.mix import Measured, Recipe, add_measured, load_measured
from core.sources import Library, Source
from core.sources.arrays import as_arrow, as_numpy
from core.tokens.provenance import versions
from core.tokens.shards import flat, read_shard
from core.tokens.target import fingerprint, load_target, supervision_of
from core.tokens.units import Unit
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled

BATCH = 256
"""Conversations measured between two looks at whether to go on."""

SAVED_EVERY = 8192
"""Conversations after which what is measured is kept, so that a killed measurement goes on behind it."""


def figures_key(recipe: Recipe, target: Target) -> str:
    """What a conversation's figures depend on besides itself, as a name: tokenizer, template and its arguments, supervision, versions."""
    said = fingerprint(target, recipe)
    if said["tokenizer_sha256"] is not None:
        del said["path"]  # the same files elsewhere are the same target
    made_by = {name: versions()[name] for name in ("tokenizers", "jinja2")}
    value = [said, recipe.supervision.model_dump(mode="json"), made_by]
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


class Meter:
    """Measures conversations for one recipe's target and supervision; raises the errors of loading the target when it is made."""

    def __init__(self, recipe: Recipe, watcher: Watcher | None = None) -> None:
        self._target = load_target(recipe)
        self._supervision = supervision_of(recipe)
        self._watcher = watcher or Unwatched()
        self.key = figures_key(recipe, self._target)

    @cached_property
    def _fast(self) -> FastPath:
        return FastPath(self._target, self._supervision)

    def known(self, source: Source) -> Measured | None:
        """What is known of a source already."""
        return load_measured(source, self.key)

    def measured(self, source: Source, rows: npt.NDArray[np.int64] | Sequence[int]) -> Measured:
        """Figures of at least `rows`: those that are not known yet are counted and kept. Raises `Cancelled`."""
        known = self.known(source)
        wanted = np.unique(np.asarray(rows, np.int64))
        missing = wanted if known is None else wanted[~known.places(wanted)[1]]
        if not len(missing):
            return known if known is not None else Measured.sorted_by_row([], [], [], [])
        failed = self._fast.report.mismatched
        found = self._count(source, missing)
        if self._fast.report.mismatched != failed:  # its figures may be wrong from before the check that failed
            self._fast.stop()
            found = self._count(source, missing)
        return found

    def _count(self, source: Source, missing: npt.NDArray[np.int64]) -> Measured:
        for start in range(0, len(missing), SAVED_EVERY):
            part = missing[start : start + SAVED_EVERY]
            found: list[tuple[int, int, int]] = []
            conversations = iter(source.as_stored(part.tolist()))
            while batch := list(islice(conversations, BATCH)):
                found += [_figures(made) for made in self._fast.supervise_batch(batch)]
                done = start + len(found)
                self._watcher.progress(Progress(f"measure {source.name}", done, len(missing), "conversations"))
                stop_if_cancelled(self._watcher)
            known = add_measured(source, self.key, Measured.sorted_by_row(part, *np.array(found, np.int32).reshape(-1, 3).T))
        return known


def _figures(made: Supervised) -> tuple[int, int, int]:
    tokens = sum(len(row.input_ids) for row in made.rows)
    return tokens, sum(int(np.count_nonzero(row.loss_mask)) for row in made.rows), len(made.rows)


def keep_figures(folder: Path, units: Sequence[Unit], names: Sequence[str], library: Library, key: str) -> None:
    """Keep what the training rows of a finished dataset came to, per conversation, so that the next plan is exact.

    Conversations without a row (refused, quarantined) count with no token. One that is used in several epochs is counted once.
    """
    train = [unit for unit in units if unit.kind == "train"]
    sources = [library.source(name) for name in names]
    rows = [np.zeros(0, np.int64) for _ in names]
    figures = [np.zeros((0, 3), np.int64) for _ in names]
    for unit in train:
        shard = _Shard.read(folder / unit.file)
        for index in np.unique(unit.source).tolist():
            picked, times = np.unique(unit.row[unit.source == index], return_counts=True)
            rows[index] = np.concatenate([rows[index], picked])
            figures[index] = np.concatenate([figures[index], shard.summed(index, sources[index], picked) // times[:, None]])
    for index, source in enumerate(sources):
        if len(rows[index]):
            row, first = np.unique(rows[index], return_index=True)
            add_measured(source, key, Measured.sorted_by_row(row, *figures[index][first].T))


@dataclass(frozen=True)
class _Shard:
    """What a shard says of its rows: `source` int32 `[rows]`, and tokens, trainable tokens and 1, int64 `[rows, 3]`."""

    row_id: pa.StringArray
    source: npt.NDArray[np.int32]
    figures: npt.NDArray[np.int64]

    @classmethod
    def read(cls, path: Path) -> "_Shard":
        """Read it; nothing of its tokens stays in memory."""
        ids, sources, figures = [], [np.zeros(0, np.int32)], [np.zeros((0, 3), np.int64)]
        for batch in read_shard(path):
            mask, starts = flat(batch["loss_mask"])
            trained = np.add.reduceat(np.append(mask, False), starts[:-1], dtype=np.int64)
            ids.append(batch["row_id"])
            sources.append(as_numpy(batch["source"].indices))
            figures.append(np.stack([as_numpy(batch["seq_len"]), trained, np.ones(batch.num_rows, np.int64)], axis=1))
        return cls(pa.chunked_array(ids, pa.string()).combine_chunks(), np.concatenate(sources), np.concatenate(figures))

    def summed(self, index: int, source: Source, picked: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The figures `[picked, 3]` of some rows (rising) of the source that has number `index` in the shard."""
        at = pc.index_in(self.row_id, value_set=source.index()["row_id"].take(as_arrow(picked)).combine_chunks())
        mine = (self.source == index) & as_numpy(at.is_valid())
        sums = np.zeros((len(picked), 3), np.int64)
        np.add.at(sums, as_numpy(at.fill_null(0))[mine], self.figures[mine])
        return sums
