"""Texts as runs of words, in numbers: what repeated n-grams, near duplicates and contamination are all counted on.

A word is a run of letters and digits, or one character of Chinese or Japanese, which put no spaces between words; case does not count
where the caller has lowered it. It knows texts, not rows.
"""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import xxhash

Hashes = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")

_MOST_KNOWN = 1_000_000
"""Words whose hash is remembered (about 100 MB); then the memory begins anew."""

_known: dict[str, int] = {}


def hashed_words(texts: Sequence[str]) -> tuple[Hashes, Offsets]:
    """The 64-bit hashes of all words of the texts `[words]`, and where each text begins among them `[texts + 1]`."""
    found: list[int] = []
    offsets = np.zeros(len(texts) + 1, np.int64)
    for number, text in enumerate(texts, 1):
        for word in WORD.findall(text):
            value = _known.get(word)
            found.append(_learn(word) if value is None else value)
        offsets[number] = len(found)
    return np.array(found, np.uint64), offsets


def ngrams(words: Hashes, offsets: Offsets, size: int, *, whole_short: bool = False) -> tuple[Hashes, Offsets]:
    """The hashes of each text's runs of `size` words, in order, and where each text begins among them.

    A text with fewer words has none, or with `whole_short` one: all of its words (a text without words still has none).
    """
    lengths = np.diff(offsets)
    counts = np.maximum(lengths - size + 1, 0)
    rolled = _rolled(words, size)
    # Runs that begin in the last words of a text would reach into the next one.
    first = np.arange(len(rolled), dtype=np.int64)
    text = np.searchsorted(offsets, first, side="right") - 1
    inside = first + size <= offsets[text + 1]
    hashes, starts = rolled[inside], np.concatenate([[0], np.cumsum(counts)])
    if not whole_short:
        return hashes, starts
    short = np.flatnonzero((lengths < size) & (lengths > 0))
    if not len(short):
        return hashes, starts
    whole = np.array([_rolled(words[offsets[at] : offsets[at + 1]], int(lengths[at]))[0] for at in short], np.uint64)
    together = np.insert(hashes, starts[short], whole)
    counts[short] = 1
    return together, np.concatenate([[0], np.cumsum(counts)])


def repeated_share(words: Hashes, offsets: Offsets, size: int) -> npt.NDArray[np.float32]:
    """Of each text's n-grams, the share that stood in it before, `[texts]`; 0 for texts without any."""
    hashes, starts = ngrams(words, offsets, size)
    text = np.repeat(np.arange(len(offsets) - 1), np.diff(starts))
    order = np.lexsort((hashes, text))
    again = np.zeros(len(hashes), np.bool_)
    if len(hashes):
        again[1:] = (hashes[order][1:] == hashes[order][:-1]) & (text[order][1:] == text[order][:-1])
    repeated = np.bincount(text[order][again], minlength=len(offsets) - 1)
    return (repeated / np.maximum(np.diff(starts), 1)).astype(np.float32)


def _learn(word: str) -> int:
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    value = _known[word] = xxhash.xxh3_64_intdigest(word.encode("utf-8", "surrogatepass"))
    return value


def _rolled(words: Hashes, size: int) -> Hashes:
    """A hash of each run of `size` words, whatever text they are of."""
    count = max(len(words) - size + 1, 0)
    value = np.full(count, size, np.uint64)
    for step in range(size):
        value = (value ^ words[step : step + count]) * np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(29)
    return value
