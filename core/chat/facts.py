"""What a training row amounts to: its tokens, how many of them are trained on, and how many draft blocks they hold.

It knows masks, not how they came about, and no drafter beyond the length of its block.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.chat.supervision import TrainingRow
from core.conversation import JSONObject


@dataclass(frozen=True)
class RowFacts:
    """The figures of one training row. `turn`: message index of its only trained turn, None where it is the whole conversation.

    `share`: trainable of all tokens, 0 to 1. `truncated`: cut at the sequence limit; `cut_turn`: message index of the trained turn
    that the cut goes through. `shortened`: earlier exchanges were left out so that it fits. `whole_blocks`, `crossing_blocks`: see
    `draft_blocks`.
    """

    turn: int | None
    tokens: int
    trainable: int
    truncated: bool
    cut_turn: int | None
    shortened: bool
    whole_blocks: int
    crossing_blocks: int

    @property
    def share(self) -> float:
        """Trainable tokens of all tokens, 0 to 1."""
        return self.trainable / self.tokens if self.tokens else 0.0

    def to_json(self) -> JSONObject:
        """All fields and the share."""
        return {
            "turn": self.turn,
            "tokens": self.tokens,
            "trainable": self.trainable,
            "share": self.share,
            "truncated": self.truncated,
            "cut_turn": self.cut_turn,
            "shortened": self.shortened,
            "whole_blocks": self.whole_blocks,
            "crossing_blocks": self.crossing_blocks,
        }


def facts_of(row: TrainingRow, block_size: int) -> RowFacts:
    """The figures of a row for a drafter that fills `block_size` positions in one pass, the committed token included."""
    whole, crossing = draft_blocks(row.loss_mask, block_size)
    return RowFacts(
        turn=row.turn,
        tokens=len(row.input_ids),
        trainable=int(row.loss_mask.sum()),
        truncated=row.truncated,
        cut_turn=row.cut_turn,
        shortened=row.shortened,
        whole_blocks=whole,
        crossing_blocks=crossing,
    )


def draft_blocks(mask: NDArray[np.bool_], block_size: int) -> tuple[int, int]:
    """Blocks of a row when each trained stretch of `mask` (bool `[tokens]`) is filled with them end to end: `(whole, crossing)`.

    A crossing block begins in a turn with at least one token left to predict (a committed token and one more) and has slots past the
    turn's last trained token; those slots are not trained. A single token left over starts no block.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    lengths = edges[1::2] - edges[::2]
    return int((lengths // block_size).sum()), int((lengths % block_size >= 2).sum())
