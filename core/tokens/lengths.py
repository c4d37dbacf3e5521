"""How long the rows of a dataset are: a histogram for the Tokenize page. It knows only the `seq_len` column."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class LengthHistogram:
    """`counts[i]` rows have a length in `[edges[i], edges[i + 1])` tokens; the last bin includes its upper edge."""

    edges: tuple[int, ...]
    counts: tuple[int, ...]
    median: float
    longest: int


def length_histogram(lengths: Iterable[int] | npt.NDArray[np.int64], bins: int = 40) -> LengthHistogram:
    """Lengths in tokens, in at most `bins` bins of one whole width from 0 to the longest."""
    values = np.asarray(lengths if isinstance(lengths, np.ndarray) else list(lengths), np.int64)
    longest = int(values.max()) if len(values) else 0
    width = max(1, -(-(longest + 1) // bins))
    edges = np.arange(0, longest + width + 1, width)
    counts = np.bincount(values // width, minlength=len(edges) - 1)[: len(edges) - 1]
    median = float(np.median(values)) if len(values) else 0.0
    return LengthHistogram(tuple(edges.tolist()), tuple(counts.tolist()), median, longest)
