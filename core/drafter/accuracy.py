"""How well drafts match the target's choices, as counts that add up over the parts of a batch. It runs no model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class SlotCounts:
    """Teacher-forced, and cut where supervision ends, so a little different from real decoding."""

    right: tuple[int, ...]
    """per drafted slot 1, 2, ...: how often the draft was the target's choice"""
    valid: tuple[int, ...]
    """per drafted slot: how often it was supervised"""
    accepted: int
    """drafts before the first wrong one, over all blocks"""
    blocks: int
    """blocks with a supervised slot"""

    @classmethod
    @torch.no_grad()
    def of(cls, said: Tensor, choices: Tensor, valid: Tensor) -> Self:
        """Count tokens said, [valid slots] in the order of valid bool [..., slots], against choices int64 [..., slots]."""
        correct = right_slots(said, choices, valid).flatten(0, -2)
        flat = valid.flatten(0, -2)
        return cls(
            right=tuple(correct.sum(0).tolist()),
            valid=tuple(flat.sum(0).tolist()),
            accepted=int(correct.long().cumprod(-1).sum()),
            blocks=int(flat[:, 0].sum()),
        )

    @classmethod
    def total(cls, parts: Iterable["SlotCounts"]) -> Self:
        """The sum of several."""
        found = list(parts)
        return cls(
            right=tuple(map(sum, zip(*(part.right for part in found), strict=True))),
            valid=tuple(map(sum, zip(*(part.valid for part in found), strict=True))),
            accepted=sum(part.accepted for part in found),
            blocks=sum(part.blocks for part in found),
        )

    @staticmethod
    def numbers(slots: int) -> int:
        """How many numbers `flat` has for blocks of so many drafted slots."""
        return 2 * slots + 2

    def flat(self) -> list[int]:
        """All counts in a row, so that they can be added up elsewhere."""
        return [*self.right, *self.valid, self.accepted, self.blocks]

    @classmethod
    def from_flat(cls, numbers: Sequence[int]) -> Self:
        """The counts that `flat` gave."""
        slots = (len(numbers) - 2) // 2
        return cls(tuple(numbers[:slots]), tuple(numbers[slots:-2]), numbers[-2], numbers[-1])

    @property
    def acceptance(self) -> float:
        """Tokens a round would give with these drafts: 1 + the mean length of the correct prefix."""
        return 1.0 + self.accepted / self.blocks if self.blocks else 1.0

    def figures(self) -> dict[str, float]:
        """`acceptance`, and `accuracy_1`, `accuracy_2`, ... of the drafted slots that were supervised at all."""
        shares = {
            f"accuracy_{slot + 1}": right / all_ for slot, (right, all_) in enumerate(zip(self.right, self.valid, strict=True)) if all_
        }
        return {"acceptance": self.acceptance, **shares}


def right_slots(said: Tensor, choices: Tensor, valid: Tensor) -> Tensor:
    """Bool [..., slots]: which slots are valid and say their choice; arguments as `SlotCounts.of` takes them."""
    return torch.zeros_like(valid).masked_scatter_(valid, said == choices[valid])
