"""How often each token is supervised: counting, `token_freq.pt`, and what share of them a smaller draft vocabulary covers.

It knows PyTorch's file format (a stored zip around a pickle), not PyTorch: one dictionary is no reason to load it (about 2 s of CPU).
"""

import io
import pickle
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.errors import MixdownError
from core.tokens.shards import write_whole

FREQUENCIES_FILE = "token_freq.pt"
_AT_ONCE = 1 << 18
"""Tokens that wait to be counted together."""
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)


class FrequenciesUnreadable(MixdownError):
    """A `token_freq.pt` that is not a dictionary of integers."""


class SupervisedCounts:
    """Counts supervised tokens by id, many at once: each count goes through the whole vocabulary."""

    def __init__(self, vocab_size: int) -> None:
        self._counts = np.zeros(vocab_size, np.int64)
        self._waiting: list[npt.NDArray[np.int32]] = []
        self._tokens = 0

    def add(self, input_ids: npt.NDArray[np.int32], loss_mask: npt.NDArray[np.bool_]) -> None:
        """Count the tokens of `input_ids` where `loss_mask` is true, both `[tokens]`; ids below the vocabulary's size."""
        self._waiting.append(input_ids[loss_mask])
        self._tokens += len(self._waiting[-1])
        if self._tokens >= _AT_ONCE:
            self._count()

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How often each id was supervised so far, `[vocab_size]`."""
        self._count()
        return self._counts

    def _count(self) -> None:
        if self._tokens:
            self._counts += np.bincount(np.concatenate(self._waiting), minlength=len(self._counts))
        self._waiting, self._tokens = [], 0


def write_frequencies(path: Path, counts: npt.NDArray[np.int64]) -> None:
    """Write `{id: count}` for every id that occurs, as `torch.load(path, weights_only=True)` reads it; same counts, same bytes."""
    frequencies = {int(token): int(counts[token]) for token in np.flatnonzero(counts)}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, data in (("data.pkl", pickle.dumps(frequencies, protocol=2)), ("byteorder", b"little"), ("version", b"3\n")):
            archive.writestr(zipfile.ZipInfo(f"token_freq/{name}", _FIRST_DATE), data)
    write_whole(path, content.getvalue())


def read_frequencies(path: Path) -> dict[int, int]:
    """The dictionary in a `token_freq.pt`, this one or one that `torch.save` wrote; raises `FrequenciesUnreadable`."""
    try:
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
            value = _PlainUnpickler(io.BytesIO(archive.read(name))).load()
    except Exception as error:
        raise FrequenciesUnreadable(f"{path} cannot be read as token frequencies ({error}); make the dataset again.") from error
    if not isinstance(value, dict) or not all(type(key) is int and type(count) is int for key, count in value.items()):
        raise FrequenciesUnreadable(f"{path} does not hold a dictionary of integers; make the dataset again.")
    return value


def coverage(frequencies: Mapping[int, int], sizes: Sequence[int]) -> list[float]:
    """For each draft vocabulary size, the share of supervised tokens its most frequent ids cover (0 to 1)."""
    counts = np.sort(np.fromiter(frequencies.values(), np.int64, len(frequencies)))[::-1]
    total = int(counts.sum())
    covered = np.concatenate([[0], np.cumsum(counts)])
    return [float(covered[min(max(size, 0), len(counts))] / total) if total else 0.0 for size in sizes]


class _PlainUnpickler(pickle.Unpickler):
    """Reads dictionaries and numbers; anything that names a class is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} has no place in it")
