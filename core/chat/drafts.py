"""Lays the assistant turns of one conversation out as rows of tokens, each turn with the range that is trained on.

It knows the layouts and what each `supervise` choice means. It does not truncate, and does not know arrays or files.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from core.chat.attribution import MessagesAndTools, common_prefix, message_spans, span_of
from core.chat.boundary import BoundaryUnstable, Renders, Turn, choose_thinking, common_ids, measure_turn, thinking_args
from core.chat.choices import Dropped, Supervision
from core.chat.encoding import UnencodableText
from core.chat.target import Target
from core.chat.template import TemplateRefused
from core.chat.trace import Span
from core.conversation import Conversation, messages_json


@dataclass(frozen=True)
class Part:
    """One trained assistant turn in a row, in token positions: `[boundary, end)` is the target's, `[first, last)` is trained on."""

    message: int
    boundary: int
    end: int
    first: int
    last: int


class Text:
    """A rendered text with its tokens and, on demand, where its tokens and messages lie."""

    def __init__(self, renders: Renders, count: int, enable_thinking: bool | None) -> None:
        self.text = renders.text(count, False, enable_thinking)
        self.ids = renders.ids(count, False, enable_thinking)
        self.enable_thinking = enable_thinking
        self._target = renders.target
        self._chat: MessagesAndTools = (renders.messages[:count], renders.tools)

    @cached_property
    def offsets(self) -> list[tuple[int, int]]:
        """Characters `[start, end)` of every token."""
        return self._target.encoder.encode_with_offsets(self.text).offsets

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """Characters of every message."""
        return message_spans(self._target.template, self._chat, thinking_args(self.enable_thinking))

    def token_at(self, character: int) -> int:
        """The first token that reaches past `character`."""
        return bisect_right(self.offsets, character, key=lambda offset: offset[1])

    def token_from(self, character: int) -> int:
        """The first token that begins at `character` or later."""
        return bisect_left(self.offsets, character, key=lambda offset: offset[0])


@dataclass(frozen=True)
class Draft:
    """A row before truncation. `turn`: the message index of its only trained turn, None where the row is the whole conversation.

    `rewritten`: the row shows some turn with a history other than the server's (the template rewrites history).
    """

    turn: int | None
    text: Text
    parts: tuple[Part, ...]
    rewritten: bool = False


def chat_of(conversation: Conversation) -> MessagesAndTools:
    """The conversation as template input."""
    return messages_json(conversation.messages), list(conversation.tools) or None


def trained_turns(conversation: Conversation) -> tuple[list[int], list[int]]:
    """Message indices of assistant turns after the first user message, and of those before it (never trained on)."""
    roles = [message.role for message in conversation.messages]
    first_user = roles.index("user") if "user" in roles else len(roles)
    turns = [place for place, role in enumerate(roles) if role == "assistant"]
    return [place for place in turns if place > first_user], [place for place in turns if place < first_user]


def draft_rows(conversation: Conversation, target: Target, supervision: Supervision) -> tuple[list[Draft], list[Dropped]]:
    """The rows of a conversation and what was dropped from it, in the order of the turns. Raises nothing for bad rows."""
    chat = chat_of(conversation)
    try:
        forgery = target.forgeries.literal(chat)
    except UnencodableText as error:
        return [], [_dropped(None, error)]
    if forgery is not None:
        return [], [Dropped(None, "special_token_in_content", str(forgery))]
    turns, early = trained_turns(conversation)
    dropped = [Dropped(place, "before_first_user", "There is no user message before this turn.") for place in early]
    if not turns:
        return [], [*dropped, Dropped(None, "no_assistant_turn", "There is no assistant turn after a user message.")]
    renders = Renders(chat, target)
    try:
        whole = Text(renders, len(conversation.messages), choose_thinking(renders, turns[-1], supervision.thinking))
        forgery = target.forgeries.composed(chat, whole.ids, thinking_args(whole.enable_thinking))
    except (TemplateRefused, UnencodableText) as error:
        return [], [*dropped, _dropped(None, error)]
    if forgery is not None:
        return [], [*dropped, Dropped(None, "special_token_in_content", str(forgery))]
    measured, failed = _measured(renders, turns, supervision)
    stable = not failed and all(_is_prefix(turn.ids, whole.ids) for turn in measured.values())
    if supervision.layout == "conversation" or (supervision.layout == "auto" and stable):
        draft, unplaced = _conversation_row(renders, whole, turns, measured, supervision)
        return [draft], [*dropped, *unplaced]
    drafts = []
    for turn in measured.values():
        text = Text(renders, turn.message + 1, turn.enable_thinking)
        drafts.append(Draft(turn.message, text, (_part(text, turn.message, turn.boundary, len(text.ids), target, supervision),)))
    return drafts, [*dropped, *failed]


def _measured(renders: Renders, turns: Sequence[int], supervision: Supervision) -> tuple[dict[int, Turn], list[Dropped]]:
    measured: dict[int, Turn] = {}
    failed: list[Dropped] = []
    for place in turns:
        try:
            measured[place] = measure_turn(renders, place, supervision.thinking)
        except (TemplateRefused, BoundaryUnstable, UnencodableText) as error:
            failed.append(_dropped(place, error))
    return measured, failed


def _conversation_row(
    renders: Renders, whole: Text, turns: Sequence[int], measured: dict[int, Turn], supervision: Supervision
) -> tuple[Draft, list[Dropped]]:
    """The whole render with every turn's range. A turn that stands there as the server would see it keeps its own boundary."""
    target = renders.target
    parts: list[Part] = []
    unplaced: list[Dropped] = []
    rewritten = False
    for place in turns:
        turn = measured.get(place)
        if turn is not None and _is_prefix(turn.ids, whole.ids):
            parts.append(_part(whole, place, turn.boundary, len(turn.ids), target, supervision))
            continue
        rewritten = True
        span = span_of(whole.spans, place)
        if span is None:
            unplaced.append(Dropped(place, "boundary_unstable", "The template prints this turn nowhere that can be told apart."))
            continue
        boundary, end = _rewritten_range(renders, whole, place, span, turn)
        parts.append(_part(whole, place, boundary, end, target, supervision))
    return Draft(None, whole, tuple(parts), rewritten), unplaced


def _rewritten_range(renders: Renders, whole: Text, place: int, span: tuple[int, int], turn: Turn | None) -> tuple[int, int]:
    """Tokens of a turn that the whole render prints otherwise: from where it leaves the generation prompt to the turn's end."""
    first, end = whole.token_from(span[0]), whole.token_from(span[1])
    prompt: list[int] = []
    if turn is not None:
        history = renders.ids(place, False, turn.enable_thinking)
        prompt = turn.prompt_ids[len(history) :] if _is_prefix(history, turn.prompt_ids) else []
    return first + common_ids(prompt, whole.ids[first:end]), end


def _part(text: Text, message: int, boundary: int, end: int, target: Target, supervision: Supervision) -> Part:
    """The range trained on within `[boundary, end)` of the row's tokens (for "content": within the message's own span)."""
    closing = next((place for place in range(end - 1, boundary - 1, -1) if text.ids[place] in target.frame.end_ids), None)
    if supervision.supervise == "boundary":
        first, last = boundary, end
    elif supervision.supervise == "sampled":
        first, last = boundary, end if closing is None else closing + 1
    else:
        first, last = _content_start(text, message, boundary, target), end if closing is None else closing
    return Part(message, boundary, end, min(first, last), last)


def _content_start(text: Text, message: int, boundary: int, target: Target) -> int:
    """The first token with text past the assistant header; tokens that reach over its end count (as in speculators 0.7)."""
    span = span_of(text.spans, message)
    if span is None:
        return boundary
    return text.token_at(span[0] + common_prefix(text.text[span[0] :], target.frame.header))


def _is_prefix(ids: Sequence[int], whole: Sequence[int]) -> bool:
    return len(ids) <= len(whole) and whole[: len(ids)] == ids


def _dropped(turn: int | None, error: TemplateRefused | BoundaryUnstable | UnencodableText) -> Dropped:
    if isinstance(error, TemplateRefused):
        return Dropped(turn, f"refused:{error.code}", error.message)
    reason = "boundary_unstable" if isinstance(error, BoundaryUnstable) else "unencodable_text"
    return Dropped(turn, reason, str(error))
