"""One row as the target's tokens, in one HTML string: what is trained is tinted *and* underlined, what is masked is grey.

It draws `ExplainedToken`s; it does not know why a token is trained. A long row is drawn one window at a time by the caller.
"""

import html
from collections.abc import Iterable, Sequence
from itertools import groupby

from core.chat import ExplainedToken
from pages.components.visible import visible

WINDOW = 1500
"""Tokens drawn at once; a browser stays quick with about two thousand small elements."""


def legend() -> str:
    """What the two looks mean, in words."""
    return (
        '<div class="md-legend"><span><span class="md-tok on">trainable</span>&ensp;the target must be predicted here</span>'
        '<span><span class="md-tok">masked</span>&ensp;context only</span><span>⏎ line break&ensp;· space&ensp;⇥ tab</span></div>'
    )


def token_view(tokens: Sequence[ExplainedToken], start: int = 0, window: int = WINDOW) -> str:
    """HTML for `tokens[start : start + window]`, grouped by message; every token carries its id, place, bytes and reason as a tooltip."""
    shown = enumerate(tokens[start : start + window], start)
    groups = groupby(shown, key=lambda item: (item[1].message, item[1].trainable, item[1].why))
    return '<div class="md-tokens" role="list">' + "".join(_segment(list(group)) for _, group in groups) + "</div>"


def _segment(group: list[tuple[int, ExplainedToken]]) -> str:
    first = group[0][1]
    state = "trainable" if first.trainable else "masked"
    place = first.role or "template"
    if first.message is not None:
        place = f"{place}, message {first.message + 1}"
    amount = f"{len(group)} token{'s' if len(group) != 1 else ''}"
    return (
        f'<div class="md-seg {"on" if first.trainable else "off"}" role="listitem"><div class="code">{"".join(_tokens(group))}</div>'
        f'<div class="why"><b>{state}</b> · {html.escape(place)}<br>{html.escape(first.why)}<br>{amount}</div></div>'
    )


def _tokens(group: list[tuple[int, ExplainedToken]]) -> Iterable[str]:
    for position, token in group:
        octets = token.bytes.hex(" ")
        state = "trainable" if token.trainable else "masked"
        tip = html.escape(f"id {token.id} · position {position} · bytes {octets} · {state}: {token.why}")
        text = visible(token.text) if token.text else f'<span class="md-ctl">{octets}</span>'
        yield f'<span class="md-tok{" on" if token.trainable else ""}" data-id="{token.id}" title="{tip}">{text}</span>'
