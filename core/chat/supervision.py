"""From a conversation to training rows: token ids and the loss mask, cut to the sequence limit.

Mask first, truncate after: what is cut was already decided. It does not know how a boundary is found, or files.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.chat.boundary import Renders, choose_thinking
from core.chat.choices import Dropped, Supervision
from core.chat.drafts import Draft, chat_of, draft_rows, renders_of
from core.chat.target import Target
from core.conversation import Conversation
from core.errors import MixdownError


class DegenerateMask(MixdownError):
    """The masks over a source train on nothing, or on everything."""


class TrainingRow(NamedTuple):
    """One row of the dataset. `row`: the conversation's row id. `turn`: message index of its only trained turn, None if the
    row is the whole conversation. `input_ids` int32 and `loss_mask` bool, both `[tokens]`. `truncated`: tokens were cut off.
    `history_rewritten`: some turn stands in it with a history other than the server's. `cut_turn`: message index of the trained
    turn that the limit cuts in the middle. `shortened`: earlier exchanges were left out so that the row fits.
    """

    row: str
    turn: int | None
    input_ids: NDArray[np.int32]
    loss_mask: NDArray[np.bool_]
    truncated: bool
    history_rewritten: bool
    cut_turn: int | None = None
    shortened: bool = False


class Supervised(NamedTuple):
    """What became of one conversation."""

    rows: list[TrainingRow]
    dropped: list[Dropped]


def supervise(conversation: Conversation, target: Target, supervision: Supervision) -> Supervised:
    """The training rows of a conversation. Never raises for what a conversation holds: it is in `dropped` with its reason."""
    drafts, dropped = draft_rows(conversation, target, supervision)
    return supervised_of(conversation, drafts, dropped, supervision)


def supervised_of(conversation: Conversation, drafts: Sequence[Draft], dropped: Sequence[Dropped], supervision: Supervision) -> Supervised:
    """The drafts as rows, masked and then cut at the limit."""
    dropped = [*dropped]
    rows: list[TrainingRow] = []
    limit = supervision.seq_length
    for draft in drafts:
        mask = mask_of(draft)
        kept = mask[:limit]
        if not kept.any():
            dropped.append(unsupervised(draft.turn, int(mask.argmax()) if mask.any() else None, limit))
            continue
        rows.append(
            TrainingRow(
                row=conversation.row_id,
                turn=draft.turn,
                input_ids=np.array(draft.text.ids[:limit], dtype=np.int32),
                loss_mask=kept,
                truncated=len(mask) > limit,
                history_rewritten=draft.rewritten,
                cut_turn=next((part.message for part in draft.parts if part.first < limit < part.last), None),
                shortened=draft.removed > 0,
            )
        )
    return Supervised(rows, dropped)


def check_source_mask(source: str, rows: int, tokens: int, trainable: int) -> None:
    """Raise `DegenerateMask` when the masks over all rows of a source are all zero (also: no row at all) or all one.

    `tokens`, `trainable`: sums over the source's training rows; `rows`: the conversations that were tried.
    """
    if rows and not trainable:
        raise DegenerateMask(
            f"Not one token of {source} is trained on ({rows:,} conversations); see why its rows are dropped and choose again."
        )
    if tokens and trainable == tokens:
        raise DegenerateMask(f"Every token of {source} is trained on, its prompts too; its rows or the target's template are not chats.")


def mask_of(draft: Draft) -> NDArray[np.bool_]:
    """The loss mask of a row before truncation, bool `[tokens]`."""
    mask = np.zeros(len(draft.text.ids), dtype=np.bool_)
    for part in draft.parts:
        mask[part.first : part.last] = True
    return mask


def generation_prompt(conversation: Conversation, turn: int, target: Target, supervision: Supervision) -> list[int]:
    """The token ids a server feeds the target for the assistant turn at message index `turn`.

    `turn` may be `len(messages)`: the turn that a prompt-only conversation still lacks. Special tokens in text are encoded as text
    under `special_tokens="as_text"`. Raises `TemplateRefused`, `UnencodableText`.
    """
    renders = renders_of(conversation, target, supervision)
    if isinstance(renders, Dropped):
        renders = Renders(chat_of(conversation), target)
    return list(renders.ids(turn, True, choose_thinking(renders, turn, supervision.thinking)))


def unsupervised(turn: int | None, first: int | None, limit: int) -> Dropped:
    """Why a row has no token to train on; `first`: where its first one would stand past the limit, None where it has none."""
    if first is None:
        return Dropped(turn, "no_supervised_token", "The turn has no token to train on under these choices.")
    return Dropped(turn, "no_supervised_token", f"{first:,} tokens of context fill the limit of {limit:,}.")
