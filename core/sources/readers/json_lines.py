"""JSON Lines: one value a line. A bad line costs itself, never the file.

It knows lines and JSON. It does not know files, folders or what the values mean.
"""

from collections.abc import Iterator

from core.dialects import RawRow
from core.sources.readers.json_values import NotJSON, loads
from core.sources.readers.problems import BrokenStream, problem_row
from core.sources.readers.streams import Line, lines

BOM = "\ufeff"


def read_json_lines(parts: Iterator[bytes], name: str, first: int = 0) -> Iterator[RawRow]:
    """One row per line that is not blank, numbered from `first`; `name` is the file's name in the rows' details."""
    position = first
    number = 0
    try:
        for line in lines(parts):
            number = line.number
            if line.data.isspace() or not line.data:
                continue
            yield _row(line, position, name)
            position += 1
    except BrokenStream as error:
        yield problem_row(position, "unreadable", f"{name} line {number + 1}: {error}")


def _row(line: Line, position: int, name: str) -> RawRow:
    place = f"{name} line {line.number}"
    if line.too_large:
        return problem_row(position, "unreadable", f"{place}: more than 256 MiB without a line end", line.data)
    try:
        text = line.data.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"{place}: byte 0x{line.data[error.start]:02x} at byte {error.start + 1} is not UTF-8"
        return problem_row(position, "bad_encoding", reason, line.data)
    if line.number == 1:
        text = text.removeprefix(BOM)
    elif text.startswith(BOM):
        return problem_row(position, "bad_json", f"{place}: begins with a byte order mark in the middle of the file", text)
    try:
        return RawRow(position=position, value=loads(text))
    except NotJSON as error:
        return problem_row(position, "bad_json", f"{place}: {error.reason} (column {error.position + 1})", text)
