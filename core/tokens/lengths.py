"""How long the rows of a dataset are and how much of each is trained on: histograms for the Tokenize page."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from core.tokens.manifest import Manifest
from core.tokens.shards import flat, read_shard


@dataclass(frozen=True)
class LengthHistogram:
    """`counts[i]` rows have a length in `[edges[i], edges[i + 1])` tokens; the last bin includes its upper edge."""

    edges: tuple[int, ...]
    counts: tuple[int, ...]
    median: float
    longest: int


def length_histogram(folder: Path, bins: int = 40) -> LengthHistogram:
    """The lengths of the rows of the dataset in `folder`. Raises `NotADataset`, `ManifestBroken`."""
    lengths = [batch.column("seq_len").to_numpy() for name in Manifest.load(folder).shards for batch in read_shard(folder / name)]
    return histogram(np.concatenate([np.zeros(0, np.int64), *lengths]), bins)


def share_histogram(folder: Path, bins: int = 20) -> tuple[int, ...]:
    """How many rows have a trainable share in each of `bins` equal parts of 0 to 1. Raises `NotADataset`, `ManifestBroken`."""
    counts = np.zeros(bins, np.int64)
    for name in Manifest.load(folder).shards:
        for batch in read_shard(folder / name):
            mask, starts = flat(batch.column("loss_mask"))
            through = np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])
            share = (through[starts[1:]] - through[starts[:-1]]) / np.maximum(np.diff(starts), 1)
            counts += np.bincount(np.minimum((share * bins).astype(np.int64), bins - 1), minlength=bins)
    return tuple(counts.tolist())


def histogram(lengths: npt.NDArray[np.int64], bins: int = 40) -> LengthHistogram:
    """Lengths in tokens, in at most `bins` bins of one whole width from 0 to the longest."""
    longest = int(lengths.max()) if len(lengths) else 0
    width = max(1, -(-(longest + 1) // bins))
    edges = np.arange(0, longest + width + 1, width)
    counts = np.bincount(lengths // width, minlength=len(edges) - 1)
    median = float(np.median(lengths)) if len(lengths) else 0.0
    return LengthHistogram(tuple(edges.tolist()), tuple(counts.tolist()), median, longest)
