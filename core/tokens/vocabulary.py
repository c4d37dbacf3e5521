"""A smaller vocabulary for the drafter: which target ids it keeps, and the two mappings `d2t` and `t2d` that go with it.

It knows frequencies, not rows. Format as in speculators: `d2t` int64 `[size]`, target id minus draft index; `t2d` bool `[target ids]`.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.tokens.frequencies import FREQUENCIES_FILE, coverage, read_frequencies
from core.tokens.manifest import Manifest
from core.tokens.shards import write_whole

DRAFT_TO_TARGET, TARGET_TO_DRAFT = "d2t.npy", "t2d.npy"
SIZES = (4_096, 8_192, 16_384, 32_000, 65_536)
"""Sizes a coverage is shown for when none is asked for."""


class BadVocabularySize(InputError):
    """A draft vocabulary of no id, or of more than the target has."""


@dataclass(frozen=True)
class DraftVocabulary:
    """The kept ids: `d2t` int64 `[size]`, `t2d` bool `[target ids]`, and the share of supervised tokens they cover (0 to 1)."""

    d2t: npt.NDArray[np.int64]
    t2d: npt.NDArray[np.bool_]
    covered: float

    def write(self, folder: Path) -> None:
        """Write `d2t.npy` and `t2d.npy`, each whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, values in ((DRAFT_TO_TARGET, self.d2t), (TARGET_TO_DRAFT, self.t2d)):
            content = io.BytesIO()
            np.save(content, values, allow_pickle=False)
            write_whole(folder / name, content.getvalue())


def draft_vocabulary(frequencies: dict[int, int], size: int, target_size: int) -> DraftVocabulary:
    """The `size` most supervised ids, lower ids first among equals and for those never seen; draft index order is target id order.

    Raises `BadVocabularySize` unless 0 < size ≤ target_size, and where an id lies outside the target.
    """
    if not 0 < size <= target_size:
        raise BadVocabularySize(f"A draft vocabulary of {size:,} ids cannot be made: give 1 to {target_size:,}, the ids of the target.")
    if frequencies and not 0 <= min(frequencies) <= max(frequencies) < target_size:
        raise BadVocabularySize(f"The frequencies hold the id {max(frequencies)}, the target has only {target_size:,} ids.")
    counts = np.zeros(target_size, np.int64)
    counts[np.fromiter(frequencies.keys(), np.int64, len(frequencies))] = np.fromiter(frequencies.values(), np.int64, len(frequencies))
    kept = np.sort(np.argsort(-counts, kind="stable")[:size])
    t2d = np.zeros(target_size, np.bool_)
    t2d[kept] = True
    total = int(counts.sum())
    return DraftVocabulary(kept - np.arange(size, dtype=np.int64), t2d, float(counts[kept].sum() / total) if total else 0.0)


def dataset_vocabulary(folder: Path, size: int) -> DraftVocabulary:
    """The draft vocabulary of the dataset in `folder`. Raises `NotADataset`, `ManifestBroken`, `BadVocabularySize`."""
    manifest = Manifest.load(folder)
    return draft_vocabulary(read_frequencies(folder / FREQUENCIES_FILE), size, int(manifest.target["vocab_size"]))


def coverages(folder: Path, sizes: tuple[int, ...] = SIZES) -> list[dict[str, Any]]:
    """`[{"size", "covered"}]` for the sizes that are below the target's vocabulary."""
    limit = int(Manifest.load(folder).target["vocab_size"])
    below = [size for size in sizes if 0 < size < limit]
    shares = coverage(read_frequencies(folder / FREQUENCIES_FILE), below)
    return [{"size": size, "covered": share} for size, share in zip(below, shares, strict=True)]
