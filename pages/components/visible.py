"""Text of rows as safe HTML. Every row is data: markup is escaped, and characters that hide or reorder text are drawn as chips.

It knows characters, not where the text comes from.
"""

import html
import re
import unicodedata

# C0/C1 controls but newline and tab, zero-width and directional marks, line separators, tags, surrogates, private use, noncharacters.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)
_SHORT = {
    0x1B: "ESC",
    0x200B: "ZWSP",
    0x200C: "ZWNJ",
    0x200D: "ZWJ",
    0x200E: "LRM",
    0x200F: "RLM",
    0x202D: "LRO",
    0x202E: "RLO",
    0xFEFF: "BOM",
}
_EDGE_SPACES = re.compile(r"(?<=.) +$|^ {2,}|(?<=\s) +| {2,}", re.MULTILINE)


def _chip(match: re.Match[str]) -> str:
    code = ord(match.group())
    name = unicodedata.name(match.group(), "control character" if code < 0xA0 else "unnamed character")
    label = _SHORT.get(code) or (chr(0x2400 + code) if code < 0x20 else f"U+{code:04X}")
    return f'<span class="md-ctl" title="U+{code:04X} {html.escape(name)}">{label}</span>'


def escaped(text: str) -> str:
    """The text as HTML that shows it as it reads: markup inert, hidden characters as chips."""
    return _HIDDEN.sub(_chip, html.escape(text))


def visible(text: str) -> str:
    """The text as HTML in which whitespace shows too: `⏎` before a line break, `⇥` for a tab, `·` for spaces that would not be noticed.

    A single space between words stays a space, or no sentence could be read.
    """
    only_spaces = text and not text.strip(" ")
    marked = "·" * len(text) if only_spaces else _EDGE_SPACES.sub(lambda match: "·" * len(match.group()), text)
    shown = _HIDDEN.sub(_chip, html.escape(marked))
    return shown.replace("\n", '<span class="md-ws">⏎</span>\n').replace("\t", '<span class="md-ws">⇥</span>')
