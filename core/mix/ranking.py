"""The two hashes that decide about a row: its rank under a seed, and on which side of the validation split its prompt stands.

It knows row ids and the hashes of prompts, nothing of plans.
"""

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
import xxhash

from core.sources import Source
from core.sources.arrays import as_numpy, text_scalar

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_FULL = 2**64


def ranks(source: Source, seed: int) -> Hashes:
    """xxh3_64 of "seed:row_id" of every row of the index, `[rows of the index]`; kept beside the source."""

    def fill(out: Hashes) -> None:
        seeded = f"{seed}:".encode()
        start = 0
        for chunk in source.index()["row_id"].chunks:
            ids = chunk.to_pylist()
            out[start : start + len(ids)] = [xxhash.xxh3_64_intdigest(seeded + row_id.encode()) for row_id in ids]
            start += len(ids)

    return source.computed(f"rank-{seed}", fill, np.uint64)


def kept_rows(source: Source) -> Rows:
    """The numbers of the rows that are conversations to train on (prompt-only ones are not), rising."""
    index = source.index()
    return as_numpy(index["row"].filter(pc.equal(index["status"], text_scalar("kept")))).astype(np.int64, copy=False)


def ranked(source: Source, rows: Rows, seed: int) -> Rows:
    """`rows` in the order in which a mix with this seed takes them."""
    return rows[np.argsort(ranks(source, seed)[rows], kind="stable")]


def held_out(source: Source, share: float) -> Mask:
    """Whether each row of the index stands on the validation side, by the hash of its prompt (`core.sources.prompt_hash`)."""
    hashes = source.index()["prompt_hash"]
    if share <= 0:
        return np.zeros(len(hashes), np.bool_)
    sides: Mask = as_numpy(hashes) < np.uint64(min(int(share * _FULL), _FULL - 1))
    return sides


def mixed(value: Hashes) -> Hashes:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014): an order that has nothing to do with the rank it is made from."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
