"""Muon for the matrices, AdamW for the norms; each process steps its share of the matrices. Knows how to hand over what they remember.

It knows nothing about losses or files.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from core.drafter.lanes import Lanes
from core.drafter.model import DraftModel
from core.drafter.ranks import Ranks
from core.drafter.settings import TrainSettings
from core.errors import InputError

MOMENTUM, FIRST, SECOND, STEPS = "momentum_buffer", "exp_avg", "exp_avg_sq", "step"
"""What torch's Muon (the first) and AdamW (the others) remember of a parameter."""


class StateUnusable(InputError):
    """What optimizers remembered does not fit this model."""


class Optimizers:
    """All optimizers of one process."""

    def __init__(self, model: DraftModel, settings: TrainSettings, ranks: Ranks) -> None:
        self._settings, self._ranks = settings, ranks
        self._names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
        self._parameters = list(model.parameters())
        matrices = sorted((parameter for parameter in self._parameters if parameter.ndim == 2), key=Tensor.numel)
        vectors: list[Tensor] = [parameter for parameter in self._parameters if parameter.ndim != 2]
        self._shares: list[list[Tensor]] = [list(matrices[rank :: ranks.count]) for rank in range(ranks.count)]
        own = self._shares[ranks.rank]
        # A process on its own halves its matrices and steps both halves side by side.
        halves = [half for half in ((own[::2], own[1::2]) if ranks.count == 1 else (own,)) if half]
        self._matrix_steps = [self._for_matrices(half) for half in halves]
        self._vector_step = self._adamw(vectors)

    def set_rates(self, share: float) -> None:
        """Use this share (0 to 1) of the peak rates from now on."""
        for optimizer in self._matrix_steps:
            _set_rate(optimizer, self._settings.learning_rate * share)
        _set_rate(self._vector_step, self._settings.vector_rate * share)

    def clip(self) -> float:
        """Shorten the gradients together to the norm that is allowed; returns the norm they had."""
        return float(torch.nn.utils.clip_grad_norm_(self._parameters, self._settings.clip))

    def step(self, lanes: Lanes) -> None:
        """Move the weights by the gradients; every process ends with the same ones."""
        list(lanes.map(_step, [*self._matrix_steps, self._vector_step]))
        self._ranks.share(self._shares)

    @torch.no_grad()
    def state(self) -> dict[str, Tensor]:
        """All that the optimizers of all processes remember, float32, as `<kind>.<parameter>`; every process must ask at the same step."""
        held = [self._momenta(matrix) for share in self._shares for matrix in share]
        width = len(held[0]) if held else 0
        for place in range(width):
            each = iter(held)
            self._ranks.share([[next(each)[place][1] for _ in share] for share in self._shares])
        found = {name: value for momenta in held for name, value in momenta}
        for vector in self._vector_step.param_groups[0]["params"]:
            found |= dict(self._remembered(self._vector_step, vector, (FIRST, SECOND, STEPS)))
        return found

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from what `state` gave, in however many processes; raises `StateUnusable`."""
        for optimizer in [*self._matrix_steps, self._vector_step]:
            kinds = (MOMENTUM,) if isinstance(optimizer, torch.optim.Muon) else (FIRST, SECOND, STEPS)
            for parameter in optimizer.param_groups[0]["params"]:
                try:
                    values = {kind: state[f"{kind}.{self._names[parameter]}"].to(parameter.device, copy=True) for kind in kinds}
                except KeyError as error:
                    raise StateUnusable(f"The checkpoint does not hold {error.args[0]}; start the training anew.") from error
                optimizer.state[parameter] = values

    def _momenta(self, matrix: Tensor) -> list[tuple[str, Tensor]]:
        """What is remembered of a matrix; zeros of the right shape where another process steps it."""
        for optimizer in self._matrix_steps:
            kinds = (MOMENTUM,) if isinstance(optimizer, torch.optim.Muon) else (FIRST, SECOND, STEPS)
            if any(matrix is parameter for parameter in optimizer.param_groups[0]["params"]):
                return self._remembered(optimizer, matrix, kinds)
        kinds = (MOMENTUM,) if self._settings.optimizer == "muon" else (FIRST, SECOND, STEPS)
        empty = torch.zeros_like(matrix)
        return [(f"{kind}.{self._names[matrix]}", empty.new_zeros(()) if kind == STEPS else empty.clone()) for kind in kinds]

    def _remembered(self, optimizer: torch.optim.Optimizer, parameter: Tensor, kinds: tuple[str, ...]) -> list[tuple[str, Tensor]]:
        return [(f"{kind}.{self._names[parameter]}", optimizer.state[parameter][kind].detach().clone()) for kind in kinds]

    def _for_matrices(self, matrices: list[Tensor]) -> torch.optim.Optimizer:
        settings = self._settings
        if settings.optimizer == "adamw":
            return self._adamw(matrices)
        return torch.optim.Muon(
            matrices,
            lr=0.0,
            weight_decay=settings.weight_decay,
            momentum=0.95,
            ns_steps=settings.muon_steps,
            adjust_lr_fn="match_rms_adamw",
        )

    def _adamw(self, parameters: list[Tensor]) -> torch.optim.Optimizer:
        settings = self._settings
        return torch.optim.AdamW(parameters, lr=0.0, betas=settings.betas, weight_decay=settings.weight_decay, fused=True)


def rate_share(step: int, done: float, settings: TrainSettings) -> float:
    """The share (0 to 1) of the peak rates for the step after `step` others, `done` (0 to 1) of the training being over."""
    warm = min(1.0, (step + 1) / max(1, settings.warmup_steps))
    return warm * (0.5 * (1 + math.cos(math.pi * done)) if settings.schedule == "cosine" else 1 - done)


def _set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


def _step(optimizer: torch.optim.Optimizer) -> None:
    optimizer.step()
