"""JSON files written column by column: `{"prompt": ["a", "b"], "response": ["c", "d"]}`, and pandas' `to_json` in its default
and its "split" form.

Such a file can only be turned into rows when all of it is read, so large ones are refused with the way out. It does not guess: the
rows it makes must convert, and the file as one row must not.
"""

import re
from typing import Any

from core.dialects import RawRow, convert
from core.sources.readers.formats import DataFile
from core.sources.readers.json_values import NotJSON, loads
from core.sources.readers.problems import BrokenStream, UnreadableSource, shown

MOST = 64 * 1024 * 1024
"""Bytes of a file that is read as a whole."""

_NAME = r'"(?:[^"\\]|\\.)*"\s*:\s*'
_CANDIDATE = re.compile(rf'\s*\{{\s*{_NAME}(?:\{{\s*{_NAME}|\[\s*["\[])')
_NUMBERED = re.compile(rf'\s*\{{\s*{_NAME}\{{\s*"0"\s*:')
_TRIED = 5
"""Rows that are converted to see whether they are rows."""


def rows_of_columns(file: DataFile) -> list[dict[str, Any]] | None:
    """The rows of a file written column by column, None for any other. Raises `UnreadableSource` for one too large to be turned."""
    head = file.head().decode("utf-8-sig", "replace")
    if _CANDIDATE.match(head) is None:
        return None
    text = _whole(file)
    if text is None:
        if _NUMBERED.match(head):
            raise UnreadableSource(
                f"{shown(file.path)} is JSON written column by column and larger than {MOST >> 20} MiB: "
                'write it row by row (pandas: to_json(orient="records", lines=True)).'
            )
        return None
    try:
        value = loads(text)
    except NotJSON:
        return None
    rows = _rows(value) if isinstance(value, dict) else None
    if not rows or (_usable([value]) and not _texts(value)):
        return None
    return rows if _usable(rows[:_TRIED]) else None


def _whole(file: DataFile) -> str | None:
    found = bytearray()
    try:
        for chunk in file.chunks():
            found += chunk
            if len(found) > MOST:
                return None
        return found.decode("utf-8-sig")
    except (BrokenStream, UnicodeDecodeError):
        return None  # the reader of rows says where


def _rows(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    names, data = value.get("columns"), value.get("data")
    if isinstance(names, list) and isinstance(data, list) and value.keys() <= {"columns", "index", "data"}:
        whole = all(isinstance(row, list) and len(row) == len(names) for row in data)
        return [dict(zip(map(str, names), row, strict=True)) for row in data] if whole else None
    columns = list(value.values())
    if all(isinstance(column, list) for column in columns) and len({len(column) for column in columns}) == 1:
        return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]
    if all(isinstance(column, dict) for column in columns) and all(column.keys() == columns[0].keys() for column in columns):
        return [{name: column[key] for name, column in value.items()} for key in columns[0]]
    return None


def _texts(value: dict[str, Any]) -> bool:
    """Whether it is several lists of texts: as one row these would be joined, which nobody means."""
    return len(value) > 1 and all(isinstance(column, list) and all(isinstance(item, str) for item in column) for column in value.values())


def _usable(rows: list[dict[str, Any]]) -> bool:
    return any(outcome.conversation is not None for outcome in convert(RawRow(number, row) for number, row in enumerate(rows)))
