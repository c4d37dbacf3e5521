"""The weights a drafter begins with: drawn, or the target's own last layers where these are of the drafter's kind.

Begun with the target's layers, a drafter of the demo target is after 500 steps where drawn weights are after about 700: the attention
that finds names and values again need not be learned anew. It knows no training loop.
"""

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from core.drafter.model import DraftModel
from core.drafter.settings import BadSettings
from core.drafter.target import TargetModel

Beginning = Literal["auto", "target", "random"]

_KINDS = frozenset({"qwen3"})
"""Model types whose layers compute what a draft layer computes from weights of the same names."""

_REST = 0.3
"""What is left of the drawn `fc` beside the tap that the copied layers read: the other taps stay useful, and nothing is exactly zero."""


def begin(model: DraftModel, target: TargetModel, seed: int, beginning: Beginning = "auto") -> Literal["target", "random"]:
    """Set every weight anew; returns where they came from. The same seed gives the same weights.

    "target" copies the last layers, the final norm, and makes `fc` pass on the tap nearest to what the first copied layer reads in the
    target; raises `BadSettings` where the target's layers are of another kind or width. "auto" takes them where they fit.
    """
    model.reset(seed)
    if beginning == "random":
        return "random"
    layers = _layers(model, target)
    if layers is None:
        if beginning == "target":
            raise BadSettings(
                f"The layers of {target.path} are not of a drafter's kind (Qwen3 layers of the same widths, at least "
                f"{model.shape.layers}): begin with random weights instead."
            )
        return "random"
    shape = model.shape
    with torch.no_grad():
        for layer, weights in zip(model.layers, layers, strict=True):
            layer.load_state_dict(weights)
        read = target.depth - shape.layers
        tap = min(range(len(shape.target_layers)), key=lambda place: abs(shape.target_layers[place] - read))
        model.fc.weight.mul_(_REST)
        model.fc.weight[:, tap * shape.hidden_size : (tap + 1) * shape.hidden_size] += torch.eye(shape.hidden_size)
        model.hidden_norm.weight.copy_(layers[0]["input_layernorm.weight"])
        model.norm.weight.copy_(target.ends.norm.state_dict()["weight"])
    return "target"


def _layers(model: DraftModel, target: TargetModel) -> list[Mapping[str, Tensor]] | None:
    """The weights of the target's last layers, as many as the drafter has; None where they do not fit its own."""
    shape = model.shape
    if target.config.model_type not in _KINDS or target.depth < shape.layers:
        return None
    found: list[Mapping[str, Tensor]] = [layer.state_dict() for layer in target.decoder.layers[-shape.layers :]]
    sizes = {name: value.shape for name, value in model.layers[0].state_dict().items()}
    return found if all({name: value.shape for name, value in weights.items()} == sizes for weights in found) else None
