"""JSON values one after the other without loading the file: the elements of one huge array, or whole values in a row.

It knows JSON text and where it is broken: a bad element costs itself, reading goes on at the next one. It does not know
files, folders or what the values mean.
"""

import codecs
import re
from collections.abc import Iterator

from core.dialects import RawRow
from core.sources.readers.json_values import NotJSON, cut_off, incomplete, scan, undecoded
from core.sources.readers.json_wrapped import enter_rows, is_keyed, next_key
from core.sources.readers.problems import EXCERPT, MAX_ROW, BrokenStream, Problem, problem_row

_BETWEEN = re.compile(r"[\s,\ufeff]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_END_OF_SCALAR = 32
_LONGEST_INDENT = 256


class _Window:
    """A sliding window of decoded text: `text[position:]` is what was not consumed yet."""

    def __init__(self, parts: Iterator[bytes], name: str) -> None:
        self._parts = iter(parts)
        self.name = name
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self.text = "\n"  # as if a line ended before the first one
        self.position = 1
        self.line = 0
        self.in_array = False
        self.keyed = False
        self.ended = False
        self.given_up = False
        self.broken: str | None = None

    def fill(self) -> None:
        """Drop what was consumed and at least double what is left (so that scanning again costs no more than reading)."""
        keep = self.text.rfind("\n", max(0, self.position - _LONGEST_INDENT), self.position)
        keep = self.position if keep < 0 else keep
        self.line += self.text.count("\n", 0, keep)
        pieces = [self.text[keep:]]
        self.position -= keep
        wanted = max(1, len(pieces[0]))
        while wanted > 0 and not self.ended:
            try:
                chunk = next(self._parts, None)
            except BrokenStream as error:
                self.broken, chunk = str(error), None
            self.ended = chunk is None
            pieces.append(self._decoder.decode(chunk or b"", final=self.ended))
            wanted -= len(pieces[-1])
        self.text = "".join(pieces)

    @property
    def pending(self) -> str:
        """The first characters of what was not consumed."""
        return self.text[self.position : self.position + EXCERPT]

    def line_at(self, position: int) -> int:
        """The 1-based line of a position in the window."""
        return self.line + self.text.count("\n", 0, position)

    def skip_separators(self) -> str:
        """Go to the next value; its first character, or "" at the end."""
        while True:
            found = _BETWEEN.match(self.text, self.position)
            self.position = found.end() if found else self.position
            if self.position < len(self.text):
                return self.text[self.position]
            if self.ended:
                return ""
            self.fill()


def read_json_values(parts: Iterator[bytes], name: str, first: int = 0) -> Iterator[RawRow]:
    """One row per element of a top-level array (or of the lists of rows in one object, or per key of an object of rows), or per
    whole value where values stand one after the other.

    An array that ends early gives its rows and one row with a problem for the break.
    """
    window = _Window(parts, name)
    position = first
    if window.skip_separators() == "{" and is_keyed(window):
        yield from _keyed_rows(window, first)
        return
    wrapped = window.skip_separators() == "{" and enter_rows(window)
    window.in_array = wrapped
    while opening := window.skip_separators():
        if opening == "[" and not window.in_array:
            window.in_array = True
            window.position += 1
            continue
        if opening == "]" and window.in_array:
            window.position += 1
            window.in_array = wrapped and enter_rows(window)
            if wrapped and not window.in_array:
                return  # what is left of the object says something about the rows
            continue
        yield _next_value(window, position)
        position += 1
        if window.given_up:
            return
    if window.broken or window.in_array:
        reason = window.broken or "the array is not closed, so rows after this place are missing"
        yield problem_row(position, "unreadable", f"{name} line {window.line_at(len(window.text))}: {reason}")


def _keyed_rows(window: _Window, position: int) -> Iterator[RawRow]:
    """The values of an object, each with its key as its `id` where it has none."""
    window.in_array = window.keyed = True
    while not window.given_up and (key := next_key(window)) is not None:
        row = _next_value(window, position)
        if row.problem is None and isinstance(row.value, dict) and "id" not in row.value:
            row = RawRow(position, {"id": key, **row.value})
        yield row
        position += 1
    if not window.given_up and window.skip_separators() != "}":
        reason = window.broken or "the object of rows breaks off, so rows after this place are missing"
        yield problem_row(position, "unreadable", f"{window.name} line {window.line_at(window.position)}: {reason}", window.pending)


def _next_value(window: _Window, position: int) -> RawRow:
    while True:
        start = window.position
        try:
            value, end = scan(window.text, start)
        except NotJSON as error:
            if not window.ended and incomplete(error, window.text):
                if len(window.text) - start <= MAX_ROW:
                    window.fill()
                    continue
                return _bad_value(window, position, "unreadable", "more than 256 MiB in one row")
            if window.ended and cut_off(error, window.text):
                reason = window.broken or "the file ends inside this row"
                return _bad_value(window, position, "bad_json", reason)
            reason = f"{error.reason} (line {window.line_at(error.position)})"
            return _bad_value(window, position, "bad_json", reason)
        if end + _END_OF_SCALAR > len(window.text) and not window.ended and window.text[start] not in '{["':
            window.fill()  # a number or word at the edge may go on
            continue
        wrong = undecoded(window.text, start, end)
        row = RawRow(position=position, value=value)
        if wrong is not None:
            place = f"{window.name} line {window.line_at(wrong)}: byte 0x{ord(window.text[wrong]) - 0xDC00:02x} is not UTF-8"
            row = problem_row(position, "bad_encoding", place, window.pending)
        window.position = end
        return row


def _bad_value(window: _Window, position: int, problem: Problem, reason: str) -> RawRow:
    place, text = f"{window.name} line {window.line_at(window.position)}: {reason}", window.pending
    if not _resume(window):
        window.given_up, window.broken = True, None
        place += "; no row was found behind it"
    return problem_row(position, problem, place, text)


def _resume(window: _Window) -> bool:
    """Go behind a broken value: to the next line that begins as its own line did, else to where its brackets close.

    The line rule needs no trust in the broken text's quotes and brackets: JSON strings hold no line ends, and what is
    inside a value stands either on the value's own line or deeper.
    """
    opening = window.text[window.position]
    if opening in "]}":
        window.position += 1
        return True
    own_line = window.text.rfind("\n", 0, window.position)
    indent = window.text[own_line + 1 : window.position]
    if own_line >= 0 and not indent.strip():
        return _skip_to(window, re.compile(rf"\n{re.escape(indent)}(?={re.escape(opening)})"))
    if window.keyed and own_line >= 0 and indent.lstrip().startswith('"'):
        return _skip_to(window, re.compile(rf'\n{re.escape(indent[: len(indent) - len(indent.lstrip())])}(?=")'))
    if opening not in '{["':
        return _skip_to(window, re.compile(r"(?=[{\[,\]])"))
    return window.in_array and _skip_brackets(window)


def _skip_to(window: _Window, pattern: re.Pattern[str]) -> bool:
    while True:
        if found := pattern.search(window.text, window.position + 1):
            window.position = found.end()
            return True
        if window.ended or len(window.text) - window.position > MAX_ROW:
            return False
        window.fill()


def _skip_brackets(window: _Window) -> bool:
    while True:
        depth = 0
        for token in _TOKEN.finditer(window.text, window.position):
            mark = token.group()
            depth += (mark in ("{", "[")) - (mark in ("}", "]"))
            if depth == 0 and mark in ("}", "]"):
                window.position = token.end()
                return True
        if window.ended or len(window.text) - window.position > MAX_ROW:
            return False
        window.fill()
