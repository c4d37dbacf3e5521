"""MinHash signatures of texts (rensa) and the pairs of rows that are worth comparing, in memory that does not grow with the texts.

Rows are places in one long list over all sources. It knows signatures, not conversations; who is compared decides nothing yet.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from rensa import RMinHash

from core.mix.words import Hashes, hashed_words, ngrams
from core.sources import Source
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled

PERMUTATIONS = 128
"""Values of a signature: the overlap of two rows is then estimated to 0.04 (one standard error) at an overlap of 0.8."""

SEED = 1

STEP = 1024
_RECALL = 0.99
"""How likely two rows at the threshold are to become a pair."""
_ALL_PAIRS = 16
"""Rows of a bucket that are compared each with each; in larger ones each is compared with its nearest."""
_NEAREST = 8
_CHUNK = 65_536

Signatures = npt.NDArray[np.uint32]
Pairs = npt.NDArray[np.int64]


def shingles(texts: Sequence[str], size: int) -> tuple[Hashes, npt.NDArray[np.int64]]:
    """The shingles of each text (runs of `size` words, all words of a shorter one), and where each text begins among them."""
    return ngrams(*hashed_words(texts), size, whole_short=True)


def signatures(source: Source, size: int, watcher: Watcher | None = None) -> Signatures:
    """The signature of every row of the index, `[rows, PERMUTATIONS]`, kept beside the source; all zero for rows without a word."""
    watcher = watcher or Unwatched()

    def fill(out: npt.NDArray[Any]) -> None:
        texts = source.texts()
        for start in range(0, len(texts), STEP):
            hashes, offsets = shingles(texts.slice(start, STEP).to_pylist(), size)
            rows = len(offsets) - 1
            digests = RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets.astype(np.uint64), PERMUTATIONS, SEED)
            made = np.array(digests.to_rows(), np.uint32).reshape(rows, PERMUTATIONS)
            made[np.diff(offsets) == 0] = 0
            out[start : start + rows] = made
            watcher.progress(Progress(f"signatures of {source.name}", start + rows, len(texts), "rows"))
            stop_if_cancelled(watcher)

    return source.computed(f"minhash-{size}-{PERMUTATIONS}-1", fill, np.uint32, PERMUTATIONS)


def band_rows(threshold: float) -> int:
    """Values of a signature that must agree in a row for two rows to become a pair: the most at which recall stays 0.99 at the threshold.

    Two rows of overlap s share one of b bands of r values with probability 1 - (1 - s^r)^b (Leskovec, Rajaraman, Ullman, chapter 3.4).
    """
    fitting = [r for r in range(1, 33) if 1 - (1 - threshold**r) ** (PERMUTATIONS // r) >= _RECALL]
    return max(fitting, default=1)


def candidates(parts: Sequence[Signatures], rows: Sequence[Pairs], threshold: float) -> Iterator[Pairs]:
    """Pairs of places `[pairs, 2]` (the first below the second), band by band; `rows` are the rows of each part that count.

    A place is the number of a row in the concatenation of `rows`. Pairs come again in other bands.
    """
    width = band_rows(threshold)
    bands = PERMUTATIONS // width
    first = _band(parts, rows, 0, width)
    full = np.concatenate([_full(part, numbers) for part, numbers in zip(parts, rows, strict=True)]) if parts else np.zeros(0, np.bool_)
    current = first
    for number in range(bands):
        following = _band(parts, rows, number + 1, width) if number + 1 < bands else first
        yield _pairs(current, following, full)
        current = following


def agreement(parts: Sequence[Signatures], owner: Pairs, row: Pairs, pairs: Pairs) -> npt.NDArray[np.float64]:
    """The estimated overlap of each pair of places, 0 to 1; `owner` and `row` say where a place's signature stands."""
    found = np.zeros(len(pairs))
    for start in range(0, len(pairs), STEP):
        one, other = (_looked_up(parts, owner, row, pairs[start : start + STEP, side]) for side in (0, 1))
        found[start : start + len(one)] = (one == other).mean(axis=1)
    return found


def _looked_up(parts: Sequence[Signatures], owner: Pairs, row: Pairs, places: Pairs) -> Signatures:
    found = np.zeros((len(places), PERMUTATIONS), np.uint32)
    for number in np.unique(owner[places]).tolist():
        mine = owner[places] == number
        found[mine] = parts[number][row[places[mine]]]
    return found


def _band(parts: Sequence[Signatures], rows: Sequence[Pairs], number: int, width: int) -> Hashes:
    """The hash of one band of every place."""
    found = []
    for part, numbers in zip(parts, rows, strict=True):
        for start in range(0, len(numbers), _CHUNK):
            values = part[numbers[start : start + _CHUNK], number * width : (number + 1) * width].astype(np.uint64)
            hashed = np.full(len(values), number + 1, np.uint64)
            for column in range(width):
                hashed = (hashed ^ values[:, column]) * np.uint64(0x9E3779B97F4A7C15)
                hashed ^= hashed >> np.uint64(29)
            found.append(hashed)
    return np.concatenate(found) if found else np.zeros(0, np.uint64)


def _full(part: Signatures, numbers: Pairs) -> npt.NDArray[np.bool_]:
    """Whether rows have a signature at all (two of its values suffice to see it)."""
    return np.asarray((part[numbers, 0] != 0) | (part[numbers, 1] != 0))


def _pairs(hashes: Hashes, following: Hashes, full: npt.NDArray[np.bool_]) -> Pairs:
    """Places that share a bucket. In large buckets neighbours in the order of the next band are compared: like stands by like."""
    order = np.lexsort((following, hashes))
    order = order[full[order]]
    if len(order) < 2:
        return np.zeros((0, 2), np.int64)
    ordered = hashes[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    size = np.diff(np.append(starts, len(order)))
    start_of, size_of = np.repeat(starts, size), np.repeat(size, size)
    at = np.arange(len(order))
    found = []
    for step in range(1, _ALL_PAIRS):
        reach = (at + step < start_of + size_of) & ((size_of <= _ALL_PAIRS) | (step <= _NEAREST))
        found.append(np.stack([order[at[reach]], order[at[reach] + step]], axis=1))
    large = (size_of > _ALL_PAIRS) & (at > start_of)
    found.append(np.stack([order[start_of[large]], order[at[large]]], axis=1))
    return np.sort(np.concatenate(found).astype(np.int64), axis=1)
