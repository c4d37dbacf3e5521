"""One assistant turn of a render in tokens: where it lies, and which of its tokens are trained on.

It knows what each `supervise` choice means and how reasoning and tool calls are told from the rest. It does not know layouts or rows.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from core.chat.attribution import MessagesAndTools, common_prefix, message_spans, span_of
from core.chat.boundary import Renders, common_ids, thinking_args
from core.chat.choices import Supervision
from core.chat.target import Target
from core.chat.template import TemplateRefused
from core.chat.trace import Span, unused_mark
from core.errors import MixdownError


class NotSeparable(MixdownError):
    """Reasoning or tool calls cannot be told from the rest of a turn."""


@dataclass(frozen=True)
class Part:
    """One trained assistant turn in a row, in token positions: `[boundary, end)` is the target's, `[first, last)` is trained on."""

    message: int
    boundary: int
    end: int
    first: int
    last: int


class Text:
    """The render of the first `count` messages with its tokens and, on demand, where its tokens and messages lie."""

    def __init__(self, renders: Renders, count: int, enable_thinking: bool | None) -> None:
        self.renders, self.count = renders, count
        self.text = renders.text(count, False, enable_thinking)
        self.ids = renders.ids(count, False, enable_thinking)
        self.enable_thinking = enable_thinking
        self._target = renders.target
        self._chat: MessagesAndTools = (renders.messages[:count], renders.tools)

    @cached_property
    def offsets(self) -> list[tuple[int, int]]:
        """Characters `[start, end)` of every token."""
        return self.renders.offsets(self.count, False, self.enable_thinking)

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


def part_of(text: Text, message: int, boundary: int, end: int, target: Target, supervision: Supervision) -> Part:
    """The range trained on within `[boundary, end)` of the row's tokens (for "content": within the message's own span)."""
    closing = next((place for place in range(end - 1, boundary - 1, -1) if text.ids[place] in target.frame.end_ids), None)
    if supervision.supervise == "boundary":
        first, last = boundary, end
    elif supervision.supervise == "sampled":
        first, last = boundary, end if closing is None else closing + 1
    else:
        first, last = _content_start(text, message, boundary, target), end if closing is None else closing
    message_json = text.renders.messages[message]
    if not supervision.tool_calls and message_json.get("tool_calls"):
        last = min(last, calls_start(text, message, end))
    if not supervision.reasoning and str(message_json.get("reasoning_content") or "").strip():
        first = max(first, answer_start(text, message, end))
    return Part(message, boundary, end, min(first, last), last)


def calls_start(text: Text, message: int, end: int) -> int:
    """The token at which the tool calls of a turn begin: where its render leaves that of the same turn without them.

    Raises `NotSeparable` when the template refuses the turn without its calls.
    """
    renders, setting = text.renders, text.enable_thinking
    own = renders.ids(message + 1, False, setting) if message + 1 < text.count else text.ids
    count = message + 1 if is_prefix(own, text.ids) else text.count
    without = {key: value for key, value in renders.messages[message].items() if key != "tool_calls"}
    try:
        ids = renders.replaced(message, without).ids(count, False, setting)
    except TemplateRefused as error:
        raise NotSeparable(f"The template refuses this turn without its tool calls ({error.message}).") from error
    return min(common_ids(text.ids, ids), end)


def answer_start(text: Text, message: int, end: int) -> int:
    """The token at which the answer of a turn begins: its first printed character of content, else its first tool call.

    Raises `NotSeparable` when the content cannot be found in the render.
    """
    renders, setting = text.renders, text.enable_thinking
    own = renders.messages[message]
    content = str(own.get("content") or "")
    if content.strip():
        mark = unused_mark(text.text + content)
        lead = len(content) - len(content.lstrip())
        marked = renders.replaced(message, {**own, "content": content[:lead] + mark + content[lead:]}).text(text.count, False, setting)
        pieces = marked.split(mark)
        if "".join(pieces) != text.text or len(pieces) > 2:
            raise NotSeparable("The template prints the content of this turn otherwise than it stands.")
        if len(pieces) == 2:
            return text.token_at(len(pieces[0]))
    return calls_start(text, message, end) if own.get("tool_calls") else end


def _content_start(text: Text, message: int, boundary: int, target: Target) -> int:
    """The first token with text past the assistant header; tokens that reach over its end count (as in speculators 0.7)."""
    span = span_of(text.spans, message)
    if span is None:
        return boundary
    return text.token_at(span[0] + common_prefix(text.text[span[0] :], target.frame.header))


def is_prefix(ids: Sequence[int], whole: Sequence[int]) -> bool:
    """Whether `whole` begins with `ids`."""
    return len(ids) <= len(whole) and whole[: len(ids)] == ids
