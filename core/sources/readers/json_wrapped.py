"""Rows that stand inside one object: in a list, as exports wrap them (`{"version": 1, "data": [{…}, {…}]}`), or each under its id.

It finds where such a list begins without reading it. A conversation that is the file's only object is no wrapper.
"""

import re
from collections.abc import Callable
from typing import Any, Protocol

from core.dialects import looks_like_row
from core.sources.readers.json_values import NotJSON, incomplete, scan

_KEY = re.compile(r'[\s,{\ufeff]*("(?:[^"\\]|\\.)*")\s*:\s*(?=\S)', re.DOTALL)
_LIST = re.compile(r"\[\s*(?=[{\[])")
_LONGEST_KEY = 4096
_FARTHEST = 64 * 1024 * 1024
"""Characters before and in a list's first row that are looked at."""

_LONGEST_KEYED = 8 * 1024 * 1024
"""Characters of a row under its id that are looked at before the object is taken for something else."""


class Window(Protocol):
    """A sliding window of text: `fill` drops what stands before `position` and adds what comes next."""

    text: str
    position: int
    ended: bool

    def fill(self) -> None:
        """Add text."""


def enter_rows(window: Window) -> bool:
    """Go to the first row of the object's next list of rows; where there is none, stay and return False.

    `window.position` is at the object's brace, or behind one of its lists.
    """
    offset = 0
    while (found := _grown(window, offset, lambda start: _KEY.match(window.text, start), _LONGEST_KEY)) is not None:
        key = scan(found[1], 0)[0]
        offset = found.end() - window.position
        opening = _grown(window, offset, lambda start: _LIST.match(window.text, start), 2)
        if opening is not None:
            first = opening.end() - window.position
            value = _value(window, first)
            if value is not None and looks_like_row(value[0], under=str(key)):
                window.position += first
                return True
        passed = _value(window, offset)
        if passed is None:
            return False
        offset = passed[1]
    return False


def is_keyed(window: Window) -> bool:
    """Whether the object at `window.position` holds rows under their ids: its first two values are rows and it is none itself."""
    offset = 0
    found: dict[str, Any] = {}
    while len(found) < 2 and (key := _grown(window, offset, lambda start: _KEY.match(window.text, start), _LONGEST_KEY)) is not None:
        name, at = scan(key[1], 0)[0], key.end()
        value = _value(window, at - window.position, _LONGEST_KEYED) if window.text[at] == "{" else None
        if value is None or not isinstance(value[0], dict) or not looks_like_row(value[0], under=name):
            return False
        found[name], offset = value
    return bool(found) and not looks_like_row(found, under="")


def next_key(window: Window) -> str | None:
    """Go behind the next key of an object of rows and return it; None where no key follows."""
    found = _grown(window, 0, lambda start: _KEY.match(window.text, start), _LONGEST_KEY)
    if found is None:
        return None
    window.position = found.end()
    return str(scan(found[1], 0)[0])


def _grown(window: Window, offset: int, match: Callable[[int], re.Match[str] | None], enough: int) -> re.Match[str] | None:
    """The match at the offset, tried again in more text until `enough` characters have shown that there is none."""
    while True:
        start = window.position + offset
        found = match(start)
        if found is not None or window.ended or len(window.text[start : start + 2 * enough].strip()) >= enough:
            return found
        window.fill()


def _value(window: Window, offset: int, most: int = _FARTHEST) -> tuple[Any, int] | None:
    """The value at the offset and the offset behind it; None for one that is broken or too long."""
    while True:
        try:
            value, end = scan(window.text, window.position + offset)
        except NotJSON as error:
            if window.ended or not incomplete(error, window.text) or len(window.text) - window.position > most:
                return None
            window.fill()
        else:
            return value, end - window.position
