"""How a reader gives up on one row, and on a whole path.

One bad row never costs the file: it becomes a `RawRow` with a reason code as its `problem` and the place (file, line) and
what was found as its `detail`. It does not know what a conversation is.
"""

from pathlib import Path
from typing import Literal, TypeAlias

from core.dialects import RawRow
from core.errors import InputError

Problem: TypeAlias = Literal["bad_json", "bad_encoding", "unreadable"]
"""The reasons of `core.dialects.CODES` that readers give; the detail tells the kind of break and its place."""

MAX_ROW = 256 * 1024 * 1024
"""Bytes a single row may take as text; more is no conversation, and would not fit in memory several times."""

EXCERPT = 2_000
"""Characters of an unreadable row that are kept, so that a person can recognise it."""


class UnreadableSource(InputError):
    """A path that cannot be read as rows at all: missing, empty, or not what its name says."""


class BrokenStream(Exception):
    """The bytes of a file end before they should (a cut compressed file, a failing disk); becomes one `unreadable` row."""


def problem_row(position: int, problem: Problem, place: str, text: str | bytes = "") -> RawRow:
    """A row that could not be read: `place` says where and why, `text` is what stood there (an excerpt is kept)."""
    if isinstance(text, bytes):
        text = text[: 4 * EXCERPT].decode("utf-8", "replace")
    readable = text[:EXCERPT].encode("utf-8", "replace").decode("utf-8")
    return RawRow(position=position, value=readable or None, problem=problem, detail=place)


def shown(path: Path) -> str:
    """A path as it stands in a message."""
    return f"'{path}'"
