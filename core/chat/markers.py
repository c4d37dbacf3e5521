"""Where the added tokens of a tokenizer stand among others. It knows ids only."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_NARROW = 0.1
"""Share of the vocabulary that the added tokens may spread over so that their range alone is looked for first."""


class Markers:
    """The ids of a tokenizer's added tokens."""

    def __init__(self, ids: Iterable[int], vocab_size: int) -> None:
        self._is_marker = np.zeros(vocab_size + 1, np.bool_)
        self._is_marker[list(ids)] = True
        known = np.flatnonzero(self._is_marker)
        self._first, self._last = (int(known[0]), int(known[-1])) if len(known) else (0, -1)
        self._narrow = self._last - self._first < _NARROW * vocab_size

    def places(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """Where in `ids` they stand, ascending: of a thousand tokens a few, so comparing takes a tenth of looking each one up."""
        if not self._narrow:
            return np.flatnonzero(self._is_marker[ids])
        near = np.flatnonzero((ids >= self._first) & (ids <= self._last))
        return near[self._is_marker[ids[near]]]
