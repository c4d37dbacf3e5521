"""One row as the target's tokens, in one HTML string: what is trained is tinted *and* underlined, what is masked is grey.

It draws `ExplainedToken`s; it does not know why a token is trained. A long row is drawn one window at a time by the caller.
Each token can be reached by mouse and keyboard; what is known of it then stands beside its line, drawn by the style sheet alone.
"""

import html
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from core.chat import ExplainedToken
from core.chat.characters import full_name
from pages.components.visible import visible_token

WINDOW = 1500
"""Tokens drawn at once; a browser stays quick with about two thousand small elements."""

_Placed = tuple[int, ExplainedToken]

_MEANING = (
    ("generation prompt of", "The server writes this itself before the target begins."),
    ("past the end of", "The target has already stopped here."),
    ("history in this row", "An earlier answer, shown as the server would send it again."),
    ("system message", "The target reads this; it never writes it."),
    ("user message", "The target reads this; it never writes it."),
    ("tool result", "The target reads this; it never writes it."),
    ("written by the template", "The target reads this; it never writes it."),
)
"""How a reason for a mask begins or ends → what that means to someone who sees it for the first time."""


def legend(differences: bool = False) -> str:
    """What the looks mean, in words."""
    differing = '<span><span class="md-tok diff">differs</span>&ensp;other on the other side</span>' if differences else ""
    return (
        '<div class="md-legend"><span><span class="md-tok on">trainable</span>&ensp;the drafter learns to predict this</span>'
        f'<span><span class="md-tok">masked</span>&ensp;context, only read</span>{differing}'
        '<span class="md-quiet">⏎ line break&ensp;<i class="md-sp"> </i> space&ensp;⇥ tab</span></div>'
    )


def token_view(
    tokens: Sequence[ExplainedToken], start: int = 0, window: int = WINDOW, *, differing: Collection[int] = (), narrow: bool = False
) -> str:
    """HTML for `tokens[start : start + window]`, a new block wherever the reason changes; each token tells id, place, bytes, reason.

    `differing`: positions to mark as different from what stands beside; `narrow`: the reasons stand above their tokens.
    """
    shown: list[_Placed] = [(place, tokens[place]) for place in range(start, min(start + window, len(tokens)))]
    blocks = groupby(shown, key=lambda item: (item[1].trainable, item[1].why))
    drawn = "".join(_block(list(block), differing) for _, block in blocks)
    return f'<div class="md-tokens{" narrow" if narrow else ""}" role="list">{drawn}</div>'


def meaning(token: ExplainedToken) -> str:
    """What the reason for a token's mask means, in a sentence; empty where the reason says it all."""
    if token.trainable:
        return "The drafter learns to predict this."
    return next((words for mark, words in _MEANING if token.why.startswith(mark) or token.why.endswith(mark)), "")


def _block(block: list[_Placed], differing: Collection[int]) -> str:
    first = block[0][1]
    amount = f"{len(block):,} token{'s' if len(block) != 1 else ''}"
    drawn = "".join(_token(pieces, differing) for pieces in _characters(block))
    words = meaning(first)
    return (
        f'<div class="md-seg {"on" if first.trainable else "off"}" role="listitem"><div class="code">{drawn}</div>'
        f'<div class="why"><b>{_state(first)}</b>, {amount}<br>{html.escape(first.why)}'
        f"{f'<div class=means>{html.escape(words)}</div>' if words else ''}</div></div>"
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


def _token(pieces: list[_Placed], differing: Collection[int]) -> str:
    places = [place for place, _ in pieces]
    ids = ", ".join(str(token.id) for _, token in pieces)
    octets = b"".join(token.bytes for _, token in pieces)
    first = pieces[0][1]
    text = octets.decode("utf-8", "replace") or first.text
    differs = any(place in differing for place in places)
    message = "the template" if first.message is None else f"message {first.message + 1} ({first.role})"
    lines = [
        f"{_state(first)}: {first.why}",
        meaning(first),
        f"id {ids} · position {', '.join(f'{place:,}' for place in places)}",
        f"bytes {octets.hex(' ')}",
        f"from {message}",
        f"one character in {len(pieces)} tokens" if len(pieces) > 1 else "",
        full_name(text) if len(text) == 1 and not text.isascii() else "",
        "differs from the other side" if differs else "",
    ]
    tip = html.escape("\n".join(filter(None, lines)))
    look = f"md-tok{' on' if first.trainable else ''}{' diff' if differs else ''}{' pieces' if len(pieces) > 1 else ''}"
    return (
        f'<span class="{look}" tabindex="0" role="img" aria-label="{tip}" data-id="{ids}" data-position="{places[0]}">'
        f"{visible_token(text)}</span>"
    )
