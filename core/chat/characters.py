"""Characters that hide, reorder or imitate text, and a name for each, so that whoever shows a row shows what is in it.

It knows characters, neither HTML nor terminals.
"""

import re
import unicodedata

# C0/C1 controls but newline and tab, zero-width and directional marks, line separators, tags, surrogates, private use, noncharacters.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)
"""One character that nobody would see, or that changes how others are shown."""
ODD_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
"""One character that looks like a space and is none."""
_SHORT = {
    0x1B: "ESC",
    0x7F: "DEL",
    0xA0: "NBSP",
    0x200B: "ZWSP",
    0x200C: "ZWNJ",
    0x200D: "ZWJ",
    0x200E: "LRM",
    0x200F: "RLM",
    0x202D: "LRO",
    0x202E: "RLO",
    0x3000: "IDSP",
    0xFEFF: "BOM",
}


def short_name(character: str) -> str:
    """What to print for a character that does not show: `ESC`, `ZWSP`, `␀`, `U+00AD`."""
    code = ord(character)
    return _SHORT.get(code) or (chr(0x2400 + code) if code < 0x20 else f"U+{code:04X}")


def full_name(character: str) -> str:
    """`U+200B ZERO WIDTH SPACE`."""
    code = ord(character)
    return f"U+{code:04X} {unicodedata.name(character, 'control character' if code < 0xA0 else 'unnamed character')}"


def spelled_out(text: str) -> str:
    """The text for a terminal: hidden characters as `‹ESC›`, so that none of them acts on it; newlines and tabs stay."""
    return ODD_SPACES.sub(_named, HIDDEN.sub(_named, text))


def _named(match: re.Match[str]) -> str:
    return f"‹{short_name(match.group())}›"
