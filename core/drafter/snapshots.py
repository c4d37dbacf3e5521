"""The state of a training after some step, whole in one file, so that a training that was stopped or killed goes on as if it had not been.

What is drawn in a step depends on the seed, the step's number and where earlier rounds ended, so there is no state of a random generator to
keep. It knows nothing about loops.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from core.drafter.standing import BEST, LAST, SnapshotUnusable, Standing, read_standing
from core.errors import MixdownError


class NotSaved(MixdownError):
    """The disk refused a checkpoint."""


def save_snapshot(
    folder: Path, standing: Standing, weights: Mapping[str, Tensor], optimizers: Mapping[str, Tensor], following: Tensor
) -> None:
    """Write `last.safetensors`, which replaces the one before in one step; `following`: as batches keep it. Raises `NotSaved`."""
    tensors = {f"weights.{name}": value for name, value in weights.items()} | {f"state.{name}": value for name, value in optimizers.items()}
    _write(folder / LAST, tensors | {"batches.following": following}, standing)


def save_best(folder: Path, standing: Standing, weights: Mapping[str, Tensor]) -> None:
    """Write `best.safetensors`, the weights alone; raises `NotSaved`."""
    _write(folder / BEST, {f"weights.{name}": value for name, value in weights.items()}, standing)


def load_snapshot(file: Path) -> tuple[Standing, dict[str, Tensor], dict[str, Tensor], Tensor | None]:
    """Standing, weights, optimizers' state and where rounds go on (neither in a best one) in a file; raises `SnapshotUnusable`."""
    try:
        with safe_open(file, "pt") as opened:
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - it is no mapping
        standing = read_standing(file)
    except (OSError, SafetensorError) as error:
        raise SnapshotUnusable(f"{file} cannot be read ({error}): start the training anew.") from error
    kinds: dict[str, dict[str, Tensor]] = {"weights": {}, "state": {}, "batches": {}}
    for name, value in tensors.items():
        kind, _, rest = name.partition(".")
        kinds[kind][rest] = value
    return standing, kinds["weights"], kinds["state"], kinds["batches"].get("following")


def _write(file: Path, tensors: Mapping[str, Tensor], standing: Standing) -> None:
    beside = file.with_name(f"{file.name}.writing")
    whole = {name: value.detach().to("cpu", copy=True).contiguous() for name, value in tensors.items()}
    broken = next((name for name, value in whole.items() if value.is_floating_point() and not torch.isfinite(value).all()), None)
    if broken is not None:
        raise NotSaved(f"After step {standing.step} {broken} holds numbers that are not finite, so no checkpoint was made of it.")
    try:
        save_file(whole, beside, {"standing": json.dumps(asdict(standing))})
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.replace(file)
    except (OSError, SafetensorError) as error:
        raise NotSaved(f"The checkpoint {file} cannot be written ({error}): free some space, then resume.") from error
