"""Where a training stands, in numbers, as its checkpoints say it. Can be imported and read without loading PyTorch."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from safetensors import SafetensorError, safe_open

from core.errors import InputError

LAST, BEST = "last.safetensors", "best.safetensors"
"""The newest checkpoint, with all that a training goes on from, and the weights of the best measurement."""


class SnapshotUnusable(InputError):
    """A checkpoint that cannot be read."""


@dataclass
class Standing:
    """Where a training stands, in numbers."""

    step: int = 0
    """steps done"""
    done: float = 0.0
    """share of the training, 0 to 1"""
    seconds: float = 0.0
    """of training, over all its parts"""
    losses: list[float] = field(default_factory=list)
    """of the last steps"""
    validation: dict[str, float] = field(default_factory=dict)
    """the newest measurement"""
    best: float = 0.0
    """the best acceptance measured, 0 before the first measurement"""
    best_step: int = 0
    misses: int = 0
    """measurements since the best one"""


def read_standing(file: Path) -> Standing:
    """The numbers alone; raises `SnapshotUnusable`."""
    try:
        with safe_open(file, "numpy") as opened:
            return Standing(**json.loads(opened.metadata()["standing"]))
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise SnapshotUnusable(f"{file} cannot be read ({error}): start the training anew.") from error
