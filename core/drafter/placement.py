"""Where a training's products are computed, and how exactly: bfloat16 products over float32 weights on a GPU, float32 on a CPU, where
gradients may come from bfloat16 factors (see `core.drafter.projections`)."""

from dataclasses import dataclass

import torch
from torch import nn

from core.drafter.model import DraftHead, DraftModel
from core.drafter.projections import Projection, bfloat16_pays
from core.drafter.settings import BadSettings, TrainSettings
from core.drafter.target import TargetEnds


@dataclass(frozen=True)
class Placement:
    """A device and the precision of products on it; `gradients`: of the factors of those that give gradients, where that differs."""

    device: torch.device
    precision: torch.dtype
    gradients: torch.dtype = torch.float32

    @classmethod
    def of(cls, settings: TrainSettings) -> "Placement":
        """What the settings ask for; raises `BadSettings` where a GPU is asked for and there is none."""
        if settings.device == "cuda" and not torch.cuda.is_available():
            raise BadSettings("device is 'cuda', but PyTorch finds no GPU here: use 'auto' or 'cpu'.")
        on_gpu = settings.device != "cpu" and torch.cuda.is_available()
        device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")
        wanted = settings.precision if settings.precision != "auto" else "bfloat16" if on_gpu else "float32"
        rounded = settings.precision == "auto" and not on_gpu and bfloat16_pays()
        precision = torch.bfloat16 if wanted == "bfloat16" else torch.float32
        return cls(device, precision, torch.bfloat16 if rounded else torch.float32)

    def put(self, model: DraftModel, ends: TargetEnds) -> tuple[DraftModel, TargetEnds]:
        """The drafter and what it shares with the target, there."""
        if self.device.type == "cpu":
            for part in model.modules():
                if isinstance(part, Projection | DraftHead):
                    part.gradients = self.gradients
            return model, TargetEnds(ends.embed, ends.norm, self._head(ends.head))
        return model.to(self.device), TargetEnds(ends.embed.to(self.device), ends.norm.to(self.device), ends.head.to(self.device))

    def _head(self, head: nn.Module) -> nn.Module:
        """The target's head as the drafter is trained with it; anything but a plain product stays as it is."""
        if self.gradients is torch.float32 or type(head) is not nn.Linear or head.bias is not None:
            return head
        mine = DraftHead(head.out_features, head.in_features)
        mine.weight, mine.gradients = head.weight.detach(), self.gradients
        return mine

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
