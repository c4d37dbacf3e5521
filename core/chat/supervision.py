"""From a conversation to training rows: token ids and the loss mask, cut to the sequence limit.

Mask first, truncate after: what is cut was already decided. It does not know how a boundary is found, or files.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.chat.boundary import Renders, choose_thinking
from core.chat.choices import Dropped, Supervision
from core.chat.drafts import Draft, chat_of, draft_rows
from core.chat.target import Target
from core.conversation import Conversation


@dataclass(frozen=True)
class TrainingRow:
    """One row of the dataset. `row`: the conversation's row id. `turn`: message index of its only trained turn, None if the
    row is the whole conversation. `input_ids` int32 and `loss_mask` bool, both `[tokens]`. `truncated`: tokens were cut off.
    `history_rewritten`: some turn stands in it with a history other than the server's.
    """

    row: str
    turn: int | None
    input_ids: NDArray[np.int32]
    loss_mask: NDArray[np.bool_]
    truncated: bool
    history_rewritten: bool


@dataclass(frozen=True)
class Supervised:
    """What became of one conversation."""

    rows: list[TrainingRow]
    dropped: list[Dropped]


def supervise(conversation: Conversation, target: Target, supervision: Supervision) -> Supervised:
    """The training rows of a conversation. Never raises for what a conversation holds: it is in `dropped` with its reason."""
    drafts, dropped = draft_rows(conversation, target, supervision)
    rows: list[TrainingRow] = []
    for draft in drafts:
        mask = mask_of(draft)
        kept = mask[: supervision.seq_length]
        if not kept.any():
            dropped.append(_unsupervised(draft, mask, supervision.seq_length))
            continue
        rows.append(
            TrainingRow(
                row=conversation.row_id,
                turn=draft.turn,
                input_ids=np.array(draft.text.ids[: supervision.seq_length], dtype=np.int32),
                loss_mask=kept,
                truncated=len(mask) > supervision.seq_length,
                history_rewritten=draft.rewritten,
            )
        )
    return Supervised(rows, dropped)


def mask_of(draft: Draft) -> NDArray[np.bool_]:
    """The loss mask of a row before truncation, bool `[tokens]`."""
    mask = np.zeros(len(draft.text.ids), dtype=np.bool_)
    for part in draft.parts:
        mask[part.first : part.last] = True
    return mask


def generation_prompt(conversation: Conversation, turn: int, target: Target, supervision: Supervision) -> list[int]:
    """The token ids a server feeds the target for the assistant turn at message index `turn`.

    `turn` may be `len(messages)`: the turn that a prompt-only conversation still lacks. Raises `TemplateRefused`,
    `UnencodableText`.
    """
    renders = Renders(chat_of(conversation), target)
    return list(renders.ids(turn, True, choose_thinking(renders, turn, supervision.thinking)))


def _unsupervised(draft: Draft, mask: NDArray[np.bool_], limit: int) -> Dropped:
    if not mask.any():
        return Dropped(draft.turn, "no_supervised_token", "The turn has no token to train on under this choice of supervise.")
    return Dropped(draft.turn, "no_supervised_token", f"{int(mask.argmax()):,} tokens of context fill the limit of {limit:,}.")
