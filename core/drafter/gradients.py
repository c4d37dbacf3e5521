"""One training step's numbers: what the drafter says to a batch, its loss and gradients, and their sum over all parts and processes.

It knows nothing about optimizers, clocks or files.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import IntEnum

import torch
from torch import Tensor

from core.drafter.accuracy import SlotCounts, right_slots
from core.drafter.batches import Batch
from core.drafter.loss import draft_loss
from core.drafter.model import DraftModel
from core.drafter.ranks import Ranks
from core.drafter.settings import TrainSettings
from core.drafter.target import TargetEnds


class Order(IntEnum):
    """What the process that leads wants done after a step; the largest that is said holds."""

    GO_ON = 0
    SAVE = 1
    STOP = 2
    """save and end"""


@dataclass(frozen=True)
class Part:
    """What one part of a batch adds to a step."""

    loss: float
    gradients: tuple[Tensor, ...]
    counts: SlotCounts
    places: tuple[int, ...]
    """[conversations], as in the batch"""
    behind: Tensor
    """[conversations, anchors] int64: the place in its row where the round after each block begins, -1 for a block that repeats another"""


@dataclass(frozen=True)
class Total:
    """A whole step over all processes."""

    loss: float
    slots: int
    counts: SlotCounts
    behind: Tensor
    """[conversations, anchors] int64 of all parts, in the order of the step"""
    done: float
    order: Order


def draft(model: DraftModel, ends: TargetEnds, batch: Batch) -> Tensor:
    """The drafter's logits for the valid slots of a batch, [valid slots, draft vocabulary], in the order of `batch.valid`."""
    slots, device = model.shape.block_size, batch.anchors.device
    tokens = torch.full((*batch.anchors.shape, slots), model.shape.mask_token_id, device=device)
    tokens[..., 0] = batch.committed
    positions = batch.anchors[..., None] + torch.arange(slots, device=device)
    states = model(ends.embed(tokens), positions, model.context(batch.features.float()), batch.anchors)
    logits: Tensor = (model.lm_head or ends.head)(states[..., 1:, :][batch.valid])
    return logits


def part_of_step(model: DraftModel, ends: TargetEnds, settings: TrainSettings, precision: torch.dtype, batch: Batch) -> Part:
    """Loss, its gradients (sums over valid slots, in the order of the parameters) and accuracy of one part of a batch."""
    parameters = list(model.parameters())
    batch = batch.to(parameters[0].device)
    with _products_in(precision, batch.anchors.device):
        logits = draft(model, ends, batch)
        choices, reachable, taught = in_draft_ids(model, batch, logits)
        loss = draft_loss(
            taught,
            choices,
            reachable,
            weights=settings.weights,
            alpha=settings.alpha,
            gamma=settings.gamma,
            loss=settings.loss,
            wanted=_wanted(model, ends, batch, reachable),
        )
    gradients = torch.autograd.grad(loss, parameters)
    counts, behind = _counted(model, logits, batch)
    return Part(loss.item(), gradients, counts, batch.places, behind)


def in_draft_ids(model: DraftModel, batch: Batch, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A batch's choices as the drafter counts tokens, which slots can be taught, and the logits of these.

    From the first token on that the drafter cannot say nothing of a block can be accepted, so nothing is taught there.
    """
    if model.d2t is None:
        return batch.choices, batch.valid, logits
    sayable = model.t2d[batch.choices]
    reachable = batch.valid & sayable.long().cumprod(-1).bool()
    return (model.t2d.cumsum(0) - 1)[batch.choices], reachable, logits[reachable[batch.valid]]


@torch.no_grad()
def _counted(model: DraftModel, logits: Tensor, batch: Batch) -> tuple[SlotCounts, Tensor]:
    """How logits of a batch's valid slots match its choices, and `Part.behind`."""
    said = logits.argmax(-1) if model.said is None else model.said[logits.argmax(-1)]
    accepted = right_slots(said, batch.choices, batch.valid).long().cumprod(-1).sum(-1)
    behind = torch.where(batch.valid[..., 0], batch.anchors + accepted + 1, -1)
    return SlotCounts.of(said, batch.choices, batch.valid), behind.cpu()


@torch.no_grad()
def _wanted(model: DraftModel, ends: TargetEnds, batch: Batch, reachable: Tensor) -> Tensor | None:
    """The target's logits of the slots that are taught, over what the drafter can say."""
    if batch.finals is None:
        return None
    wanted: Tensor = (model.lm_head or ends.head)(ends.norm(batch.finals[reachable[batch.valid]].float()))
    return wanted


def _products_in(precision: torch.dtype, device: torch.device) -> AbstractContextManager[object]:
    """Autocast, where products are not to be exact."""
    return nullcontext() if precision == torch.float32 else torch.autocast(device.type, precision)


def add_up(parts: Sequence[Part], done: float, order: Order, model: DraftModel, settings: TrainSettings, ranks: Ranks) -> Total:
    """Sum the parts of all processes and set the model's gradients; one message, since each costs the same however short it is.

    `done` and `order` are those of the process that leads; the others give 0.
    """
    parameters = list(model.parameters())
    sizes = [parameter.numel() for parameter in parameters]
    device = parameters[0].device
    slots = settings.block_size - 1
    # Counts and places stay exact in float32 up to 16 million.
    followed = (settings.conversations, settings.anchors)
    numbers = [sum(sizes), 3 + SlotCounts.numbers(slots), followed[0] * followed[1]]
    flat = torch.zeros(sum(numbers), device=device)
    ours, figures, behind = torch.split(flat, numbers)
    for number, part in enumerate(parts):
        gradients = [gradient.reshape(-1) for gradient in part.gradients]
        if number:
            ours += torch.cat(gradients)
        else:
            torch.cat(gradients, out=ours)
        figures += torch.tensor([part.loss, 0.0, 0.0, *part.counts.flat()], device=device)
        behind.view(followed)[list(part.places)] = part.behind.to(device, torch.float32)
    figures[1] = done
    figures[2] = float(order)
    summed, figures, behind = torch.split(ranks.total(flat), numbers)
    loss, done, said, *counted = figures.tolist()
    counts = SlotCounts.from_flat([round(number) for number in counted])
    for parameter, gradient in zip(parameters, torch.split(summed.div_(sum(counts.valid)), sizes), strict=True):
        parameter.grad = gradient.view_as(parameter)
    return Total(loss, sum(counts.valid), counts, behind.view(followed).long().cpu(), done, Order(round(said)))
