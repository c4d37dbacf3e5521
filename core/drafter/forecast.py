"""What a training would take before it starts: parameters, memory, disk, time. Counted from sizes; times are estimates and say so."""

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.drafter.settings import TrainSettings, checked_target_layers
from core.drafter.target_facts import TargetFacts

FLOPS = 1.2e11
"""Of a machine nobody measured: two cores of a server, 19,000 tokens/s through the demo target of 3.2 M parameters. Used on CPUs."""

TRAINING_FLOPS = 6e10
"""The same while training: a step of eight conversations of the demo's drafter takes about 0.1 s, its many small products half idle."""

CACHE = 1.5e9
"""Bytes that PyTorch, transformers and a process of its own take before any model is loaded."""


@dataclass(frozen=True)
class Forecast:
    """What a training would take."""

    parameters: int
    """of the drafter that are trained; embedding and head are the target's"""
    target_parameters: int
    tokens: int
    """of the dataset"""
    memory_bytes: int
    """at its peak, target included"""
    disk_bytes: int
    """of hidden states while it trains, those that stay included"""
    kept_bytes: int
    """of them that stay afterwards"""
    free_bytes: int
    capture_seconds: float
    train_seconds: float
    """limit or estimate"""
    steps: int | None
    """None where time ends it"""
    estimated: bool
    """whether `train_seconds` is an estimate rather than the limit that was set"""

    @property
    def fits(self) -> bool:
        """Whether the states fit the disk."""
        return self.disk_bytes <= self.free_bytes

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "fits": self.fits}


def forecast(
    target: TargetFacts, settings: TrainSettings, tokens: int, place: Path, *, engine: str = "native", keeps_states: bool = False
) -> Forecast:
    """The forecast for a dataset of `tokens` tokens whose states lie in (or beside) `place`. Raises `BadSettings`."""
    taps = checked_target_layers(settings.target_layers, target.depth)
    parameters = drafter_parameters(target, settings.layers, len(taps))
    stored = len(taps) if taps[-1] == target.depth else len(taps) + 1
    flat = tokens * (stored * target.hidden_size * 2 + 4)
    files = tokens * ((len(taps) + 1) * target.hidden_size * 2 + 8)
    disk = files if engine == "speculators" else flat + (files if keeps_states else 0)
    slots = settings.conversations * settings.anchors * settings.block_size
    step = _step_flops(target, settings, parameters, slots)
    by_steps = settings.max_steps * step / TRAINING_FLOPS if settings.max_steps else float("inf")
    by_time = settings.max_seconds or float("inf")
    existing = next(folder for folder in (place, *place.parents) if folder.exists())
    return Forecast(
        parameters=parameters,
        target_parameters=target.parameters,
        tokens=tokens,
        memory_bytes=_memory(target, settings, parameters, slots),
        disk_bytes=disk,
        kept_bytes=files if keeps_states else 0,
        free_bytes=shutil.disk_usage(existing).free,
        capture_seconds=tokens * 2 * target.parameters / FLOPS,
        train_seconds=min(by_steps, by_time),
        steps=settings.max_steps,
        estimated=by_steps < by_time,
    )


def drafter_parameters(target: TargetFacts, layers: int, taps: int) -> int:
    """Trained parameters of a DFlash drafter with the target's widths: the fused taps, the layers, and two norms."""
    width = target.hidden_size
    attention = width * target.head_dim * (2 * target.heads + 2 * target.kv_heads) + 2 * target.head_dim
    layer = attention + 3 * width * target.intermediate_size + 2 * width
    return taps * width * width + layers * layer + 2 * width


def _step_flops(target: TargetFacts, settings: TrainSettings, parameters: int, slots: int) -> float:
    """Forward and backward of a step: two operations a parameter and slot forward, twice that backward; the frozen head needs four."""
    return slots * (6 * parameters + 4 * target.hidden_size * target.vocab_size) * (settings.block_size - 1) / settings.block_size


def _memory(target: TargetFacts, settings: TrainSettings, parameters: int, slots: int) -> int:
    """Weights, gradients and optimizer of the drafter, the target, and what a step keeps for its backward pass, all in float32."""
    trained = parameters * 4 * 3
    kept = slots * (settings.layers * (8 * target.hidden_size + 3 * target.intermediate_size) + 3 * target.vocab_size) * 4
    return int(CACHE + trained + target.parameters * 4 + kept)
