"""One row as the target's tokens, in one HTML string: what is trained is tinted *and* underlined, what is masked is grey.

It draws `ExplainedToken`s; it does not know why a token is trained. A long row is drawn one window at a time by the caller.
"""

import html
from collections.abc import Iterator, Sequence
from itertools import groupby

from core.chat import ExplainedToken
from pages.components.visible import visible

WINDOW = 1500
"""Tokens drawn at once; a browser stays quick with about two thousand small elements."""

_Placed = tuple[int, ExplainedToken]


def legend() -> str:
    """What the two looks mean, in words."""
    return (
        '<div class="md-legend"><span><span class="md-tok on">trainable</span>&ensp;the drafter must predict this</span>'
        '<span><span class="md-tok">masked</span>&ensp;context only</span><span>⏎ line break&ensp;· space&ensp;⇥ tab</span></div>'
    )


def token_view(tokens: Sequence[ExplainedToken], start: int = 0, window: int = WINDOW) -> str:
    """HTML for `tokens[start : start + window]`, a new block wherever the reason changes; each token tells id, place, bytes, reason."""
    shown: Sequence[_Placed] = list(enumerate(tokens))[start : start + window]
    blocks = groupby(shown, key=lambda item: (item[1].trainable, item[1].why))
    return '<div class="md-tokens" role="list">' + "".join(_block(list(block)) for _, block in blocks) + "</div>"


def _block(block: list[_Placed]) -> str:
    first = block[0][1]
    amount = f"{len(block):,} token{'s' if len(block) != 1 else ''}"
    drawn = "".join(map(_token, _characters(block)))
    return (
        f'<div class="md-seg {"on" if first.trainable else "off"}" role="listitem"><div class="code">{drawn}</div>'
        f'<div class="why"><b>{_state(first)}</b>, {amount}<br>{html.escape(first.why)}</div></div>'
    )


def _state(token: ExplainedToken) -> str:
    return "trainable" if token.trainable else "masked"


def _characters(block: list[_Placed]) -> Iterator[list[_Placed]]:
    """The tokens one by one, but those that hold pieces of one character together."""
    pieces: list[_Placed] = []
    for placed in block:
        pieces.append(placed)
        try:
            b"".join(token.bytes for _, token in pieces).decode("utf-8")
        except UnicodeDecodeError as error:
            # Only a cut at the very end can still become a character with the next token.
            if error.reason == "unexpected end of data":
                continue
        yield pieces
        pieces = []
    if pieces:
        yield pieces


def _token(pieces: list[_Placed]) -> str:
    places = ", ".join(str(place) for place, _ in pieces)
    ids = ", ".join(str(token.id) for _, token in pieces)
    octets = b"".join(token.bytes for _, token in pieces)
    first = pieces[0][1]
    text = octets.decode("utf-8", "replace") or first.text
    tip = html.escape(f"id {ids} · position {places} · bytes {octets.hex(' ')} · {_state(first)}: {first.why}")
    return f'<span class="md-tok{" on" if first.trainable else ""}" data-id="{ids}" title="{tip}">{visible(text)}</span>'
