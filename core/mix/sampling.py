"""Which rows a plan takes, in which order, and which of them are held out. Everything is a hash of names, seed and content.

It knows row ids and the hashes of prompts. It does not know tokens.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from core.mix.planned import Plan
from core.mix.ranking import Hashes, Mask, Rows, held_out, kept_rows, mixed, ranked, ranks
from core.mix.recipe import Recipe
from core.mix.usable import Usable, usable_rows
from core.sources import Library, Source
from core.sources.arrays import as_arrow


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


def select(recipe: Recipe, plan: Plan, library: Library, usable: Mapping[str, Usable] | None = None) -> Selection:
    """The rows of a plan, the same on any machine and for any order of the sources in the recipe.

    A source's usable rows are ranked by xxh3_64 of "seed:row_id"; n rows are whole epochs of all rows and the lowest-ranked rest, so a
    higher count only ever adds rows. The order of the mix is one shuffle by hash, in which added rows do not move the others. A picked
    conversation is held out when the hash of its prompt (`core.sources.prompt_hash`) falls below the recipe's share: all conversations
    with one prompt, whatever their source and the seed, stand on the same side. Prompt-only rows are never picked. `usable` is what the
    plan was made with, where the caller has it.
    """
    usable = usable if usable is not None else usable_rows(recipe, library)
    picked = [_pick(usable[part.name], part.rows, recipe) for part in plan.sources]
    names = tuple(part.name for part in plan.sources)
    train = [~part.heldout for part in picked]
    source = np.repeat(np.arange(len(names), dtype=np.int32), [int(mask.sum()) for mask in train])
    row = np.concatenate([part.row[mask] for part, mask in zip(picked, train, strict=True)])
    key = np.concatenate([part.key[mask] for part, mask in zip(picked, train, strict=True)])
    row_id = pa.concat_arrays([part.row_id.filter(as_arrow(mask)) for part, mask in zip(picked, train, strict=True)])
    order = np.argsort(key, kind="stable")
    return Selection(names, source[order], row[order], row_id.take(as_arrow(order)), _heldout(names, picked))


def first_ranked(source: Source, seed: int, count: int, rows: Rows | None = None) -> list[int]:
    """The rows (indices in the source; of `rows`, else of all kept ones) that a mix with this seed picks first, at most `count`."""
    return [int(row) for row in ranked(source, kept_rows(source) if rows is None else rows, seed)[:count]]


@dataclass(frozen=True)
class _Picked:
    row: Rows
    row_id: pa.StringArray
    key: Hashes
    """Where the entry stands in the shuffle."""
    heldout: Mask


def _pick(usable: Usable, count: int, recipe: Recipe) -> _Picked:
    source, rows = usable.source, usable.rows
    rank = ranks(source, recipe.seed)
    order = ranked(source, rows, recipe.seed) if count else rows[:0]
    epochs, rest = divmod(count, len(rows)) if len(rows) else (0, 0)
    taken = np.concatenate([np.tile(order, epochs), order[:rest]])
    copy = np.concatenate([np.repeat(np.arange(epochs, dtype=np.uint64), len(rows)), np.full(rest, epochs, np.uint64)])
    ids = source.index()["row_id"].take(as_arrow(taken)).combine_chunks().cast(pa.string())
    held = held_out(source, recipe.validation)[taken]
    return _Picked(taken, ids, mixed(rank[taken] ^ mixed(copy + np.uint64(1))), held)


def _heldout(names: Sequence[str], picked: Sequence[_Picked]) -> tuple[HeldOutRow, ...]:
    """Every held-out conversation once, in the order of the shuffle, so that any first part of it is a fair sample."""
    found: dict[tuple[str, int], tuple[int, HeldOutRow]] = {}
    for name, part in zip(names, picked, strict=True):
        for at in np.flatnonzero(part.heldout):
            entry = HeldOutRow(name, int(part.row[at]), part.row_id[int(at)].as_py())
            key = int(part.key[at])
            found[name, entry.row] = min(found.get((name, entry.row), (key, entry)), (key, entry), key=lambda item: item[0])
    return tuple(entry for _, entry in sorted(found.values(), key=lambda item: (item[0], item[1].source, item[1].row)))
