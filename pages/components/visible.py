"""Text of rows as safe HTML. Every row is data: markup is escaped, and characters that hide or reorder text are drawn as chips.

It knows characters, not where the text comes from.
"""

import html
import re

from core.chat.characters import HIDDEN, ODD_SPACES, full_name, short_name

_EDGE_SPACES = re.compile(r"(?<=.) +$|^ {2,}|(?<=\s) +| {2,}", re.MULTILINE)


def _chip(match: re.Match[str]) -> str:
    return f'<span class="md-ctl" title="{html.escape(full_name(match.group()))}">{short_name(match.group())}</span>'


def escaped(text: str) -> str:
    """The text as HTML that shows it as it reads: markup inert, hidden characters as chips."""
    return HIDDEN.sub(_chip, html.escape(text))


def visible(text: str) -> str:
    """The text as HTML in which whitespace shows too: `⏎` before a line break, `⇥` for a tab, `·` for spaces that would not be noticed.

    A single space between words stays a space, or no sentence could be read.
    """
    only_spaces = text and not text.strip(" ")
    marked = "·" * len(text) if only_spaces else _EDGE_SPACES.sub(lambda match: "·" * len(match.group()), text)
    return _chips(marked)


def visible_token(text: str) -> str:
    """One token's text as HTML in which every space shows as a faint dot, drawn behind it: the text stays the text when it is copied."""
    pieces = (
        "".join('<i class="md-sp"> </i>' for _ in piece) if piece.isspace() and piece.strip(" ") == "" else _chips(piece)
        for piece in re.split("( +)", text)
        if piece
    )
    return "".join(pieces)


def _chips(text: str) -> str:
    shown = ODD_SPACES.sub(_chip, HIDDEN.sub(_chip, html.escape(text)))
    return shown.replace("\n", '<span class="md-ws">⏎</span>\n').replace("\t", '<span class="md-ws">⇥</span>')
