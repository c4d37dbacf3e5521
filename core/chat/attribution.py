"""Which message every character of a rendered conversation came from.

First choice is the traced render (`core.chat.trace`); where a template defies it, the renders of growing prefixes are
compared. It does not know tokens.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from core.chat.template import ChatTemplate, TemplateRefused
from core.chat.trace import Span
from core.conversation import JSONObject, Tool

MessagesAndTools = tuple[Sequence[JSONObject], Sequence[Tool] | None]


def message_spans(template: ChatTemplate, chat: MessagesAndTools, args: Mapping[str, Any]) -> tuple[Span, ...]:
    """Spans that cover the render from start to end, in order. Raises `TemplateRefused` when the whole is refused.

    What is printed before any message (tools, instructions, a system message printed apart) has message None, or 0 when
    the conversation begins with a system message that is not printed elsewhere.
    """
    traced = template.trace(chat, **args)
    spans = traced.spans if traced.exact else ()
    if not any(span.message is not None for span in spans):
        spans = _by_prefixes(template, chat, args, traced.text)
    return _with_system_message(spans, chat[0])


def span_of(spans: Sequence[Span], message: int) -> tuple[int, int] | None:
    """Characters `[start, end)` of one message, None where it printed nothing."""
    own = [span for span in spans if span.message == message]
    return (own[0].start, own[-1].end) if own else None


def common_prefix(first: str, second: str) -> int:
    """How many leading characters two texts share."""
    limit = min(len(first), len(second))
    if first[:limit] == second[:limit]:
        return limit
    low, high = 0, limit  # first[:low] is shared, first[:high] is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if first[:middle] == second[:middle] else (low, middle)
    return low


def _with_system_message(spans: Sequence[Span], messages: Sequence[JSONObject]) -> tuple[Span, ...]:
    """Templates print a leading system message before their loop, together with the tools."""
    leads = bool(messages) and messages[0].get("role") == "system" and not any(span.message == 0 for span in spans)
    if not leads or not spans or spans[0].message is not None:
        return tuple(spans)
    return (Span(0, spans[0].start, spans[0].end), *spans[1:])


def _by_prefixes(template: ChatTemplate, chat: MessagesAndTools, args: Mapping[str, Any], text: str) -> tuple[Span, ...]:
    messages, tools = chat
    starts = [0]
    for count in range(1, len(messages)):
        try:
            prefix = template.render((messages[:count], tools), **args)
        except TemplateRefused:
            starts.append(starts[-1])
            continue
        starts.append(max(starts[-1], common_prefix(prefix, text)))
    ends = [*starts, len(text)]
    return tuple(Span(place, start, end) for place, (start, end) in enumerate(pairwise(ends)) if start < end)
