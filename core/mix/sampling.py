"""Which rows a plan takes, in which order, and which of them are held out. Everything is a hash of names, seed and content.

It knows row ids and the hashes of prompts. It does not know tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from core.mix.plan import Plan
from core.mix.recipe import Recipe
from core.sources import Library, Source

Hashes = npt.NDArray[np.uint64]

_FULL = 2**64


@dataclass(frozen=True)
class HeldOutRow:
    """A conversation that is kept for evaluation."""

    source: str
    row: int
    row_id: str


@dataclass(frozen=True)
class Selection:
    """The rows to train on in their final order, as parallel arrays `[conversations]`, and the rows held out.

    `names[source[i]]` is the source of entry i, `row[i]` its index in that source, `row_id[i]` its id. A row that is used in several
    epochs stands in it that often.
    """

    names: tuple[str, ...]
    source: npt.NDArray[np.int32]
    row: npt.NDArray[np.int64]
    row_id: pa.StringArray
    heldout: tuple[HeldOutRow, ...]

    def __len__(self) -> int:
        return len(self.row)

    @property
    def train(self) -> Iterator[tuple[str, int]]:
        """(source, row) of every conversation to train on, in order."""
        return ((self.names[source], int(row)) for source, row in zip(self.source, self.row, strict=True))


def select(recipe: Recipe, plan: Plan, library: Library) -> Selection:
    """The rows of a plan, the same on any machine and for any order of the sources in the recipe.

    A source's kept rows are ranked by xxh3_64 of "seed:row_id"; n rows are whole epochs of all rows and the lowest-ranked rest, so a
    higher count only ever adds rows. The order of the mix is one shuffle by hash, in which added rows do not move the others. A picked
    conversation is held out when the hash of its prompt (`core.sources.prompt_hash`) falls below the recipe's share: all conversations
    with one prompt, whatever their source and the seed, stand on the same side. Prompt-only rows are never picked.
    """
    picked = [_pick(library.source(part.name), part.rows, recipe) for part in plan.sources]
    names = tuple(part.name for part in plan.sources)
    train = [~part.heldout for part in picked]
    source = np.repeat(np.arange(len(names), dtype=np.int32), [int(mask.sum()) for mask in train])
    row = np.concatenate([part.row[mask] for part, mask in zip(picked, train, strict=True)])
    key = np.concatenate([part.key[mask] for part, mask in zip(picked, train, strict=True)])
    row_id = pa.concat_arrays([part.row_id.filter(pa.array(mask)) for part, mask in zip(picked, train, strict=True)])
    order = np.argsort(key, kind="stable")
    return Selection(names, source[order], row[order], row_id.take(pa.array(order)), _heldout(names, picked))


def first_ranked(source: Source, seed: int, count: int) -> list[int]:
    """The rows (indices in the source) that a mix with this seed picks first, at most `count`."""
    kept = _kept(source)
    return [int(row) for row in kept["row"].to_numpy()[np.argsort(_ranks(kept, seed), kind="stable")[:count]]]


@dataclass(frozen=True)
class _Picked:
    row: npt.NDArray[np.int64]
    row_id: pa.StringArray
    key: Hashes
    """Where the entry stands in the shuffle."""
    heldout: npt.NDArray[np.bool_]


def _pick(source: Source, count: int, recipe: Recipe) -> _Picked:
    kept = _kept(source)
    ids = kept["row_id"].combine_chunks().cast(pa.string())
    rank = _ranks(kept, recipe.seed)
    by_rank = np.argsort(rank, kind="stable")
    epochs, rest = divmod(count, len(ids)) if len(ids) else (0, 0)
    taken = np.concatenate([np.tile(by_rank, epochs), by_rank[:rest]]).astype(np.int64)
    copy = np.concatenate([np.repeat(np.arange(epochs, dtype=np.uint64), len(ids)), np.full(rest, epochs, np.uint64)])
    rows = kept["row"].to_numpy()[taken].astype(np.int64)
    used = np.unique(taken)
    held = np.zeros(len(ids), np.bool_)
    if recipe.validation > 0 and len(used):
        limit = np.uint64(min(int(recipe.validation * _FULL), _FULL - 1))
        held[used] = kept["prompt_hash"].to_numpy()[used] < limit
    return _Picked(rows, ids.take(pa.array(taken)), _mixed(rank[taken] ^ _mixed(copy + np.uint64(1))), held[taken])


def _kept(source: Source) -> pa.Table:
    index = source.index().select(["row", "row_id", "status", "prompt_hash"])
    return index.filter(pc.equal(index["status"], "kept"))


def _ranks(kept: pa.Table, seed: int) -> Hashes:
    seeded = f"{seed}:".encode()
    ids = kept["row_id"].to_pylist()
    return np.fromiter((xxhash.xxh3_64_intdigest(seeded + row_id.encode()) for row_id in ids), np.uint64, len(ids))


def _heldout(names: Sequence[str], picked: Sequence[_Picked]) -> tuple[HeldOutRow, ...]:
    """Every held-out conversation once, in the order of the shuffle, so that any first part of it is a fair sample."""
    found: dict[tuple[str, int], tuple[int, HeldOutRow]] = {}
    for name, part in zip(names, picked, strict=True):
        for at in np.flatnonzero(part.heldout):
            entry = HeldOutRow(name, int(part.row[at]), part.row_id[int(at)].as_py())
            key = int(part.key[at])
            found[name, entry.row] = min(found.get((name, entry.row), (key, entry)), (key, entry), key=lambda item: item[0])
    return tuple(entry for _, entry in sorted(found.values(), key=lambda item: (item[0], item[1].source, item[1].row)))


def _mixed(value: Hashes) -> Hashes:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014): an order that has nothing to do with the rank it is made from."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
