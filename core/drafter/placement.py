"""Where a training's products are computed, and how exactly: float32 on a CPU, bfloat16 products over float32 weights on a GPU."""

from dataclasses import dataclass

import torch
from torch import nn

from core.drafter.model import DraftModel
from core.drafter.settings import BadSettings, TrainSettings
from core.drafter.target import TargetEnds


@dataclass(frozen=True)
class Placement:
    """A device and the precision of products on it."""

    device: torch.device
    precision: torch.dtype

    @classmethod
    def of(cls, settings: TrainSettings) -> "Placement":
        """What the settings ask for; raises `BadSettings` where a GPU is asked for and there is none."""
        if settings.device == "cuda" and not torch.cuda.is_available():
            raise BadSettings("device is 'cuda', but PyTorch finds no GPU here: use 'auto' or 'cpu'.")
        on_gpu = settings.device != "cpu" and torch.cuda.is_available()
        device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")
        wanted = settings.precision if settings.precision != "auto" else "bfloat16" if on_gpu else "float32"
        return cls(device, torch.bfloat16 if wanted == "bfloat16" else torch.float32)

    def put(self, model: DraftModel, ends: TargetEnds) -> tuple[DraftModel, TargetEnds]:
        """The drafter and what it shares with the target, there."""
        if self.device.type == "cpu":
            return model, ends
        return model.to(self.device), TargetEnds(ends.embed.to(self.device), ends.norm.to(self.device), ends.head.to(self.device))

    def compiled(self, model: DraftModel, settings: TrainSettings) -> DraftModel:
        """The model with its layers compiled where that is asked for and can pay: small operations on a CPU gain nothing from it.

        Blocks and contexts change their sizes from step to step, hence `dynamic`.
        """
        if settings.compile and self.device.type == "cuda":
            for layer in model.layers:
                assert isinstance(layer, nn.Module)
                layer.compile(dynamic=True)
        return model

    def lanes(self, most: int) -> int:
        """Parts of a step that run side by side, `most` at the most: a GPU takes one after the other."""
        return most if self.device.type == "cpu" else 1
