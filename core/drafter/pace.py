"""How many threads decoding gets: tried out on a short text, for passes over one token and for rounds of drafts.

On idle cores eight rows of a small target gain from a second thread, which one row mostly waits for.
"""

from dataclasses import dataclass

import torch

from core.drafter.lanes import threads_that_pay
from core.drafter.proposers import ChainDrafter, DrafterSource
from core.drafter.target import TargetModel

TRIED = 64
"""Tokens of the text it is tried on."""


@dataclass(frozen=True)
class Pace:
    """Threads for plain decoding and for decoding with drafts; drawing uses the former, so that a seed draws the same everywhere."""

    plain: int
    drafted: int

    @classmethod
    @torch.inference_mode()
    def of(cls, target: TargetModel, source: DrafterSource, confidence: float = 0.0) -> "Pace":
        """What is quickest for this target and drafter here and now."""
        shape = source.model.shape
        session, blocks = target.start(shape.target_layers), source.start()
        _, features = session.feed([shape.mask_token_id] * TRIED, last_only=True)
        blocks.extend(features)
        drafter = ChainDrafter(blocks, confidence=confidence)

        def one_token() -> None:
            session.feed([shape.mask_token_id])
            session.keep(TRIED, [])

        def one_round() -> None:
            session.feed_draft(shape.mask_token_id, drafter.propose(shape.mask_token_id))
            session.keep(TRIED, [])

        return cls(threads_that_pay(one_token, target.hidden_size), threads_that_pay(one_round, target.hidden_size))
