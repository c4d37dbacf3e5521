"""Questions to the library's tables, answered by DuckDB over the mapped Arrow files: fifty rows of a million, counts, histograms.

Column names come from outside (a page's address), so they are checked against the known columns; values are bound, never
written into a query.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from core.errors import InputError
from core.sources.stored import INDEX
from core.sources.text import search_key

LARGEST_PAGE = 10_000

Filters = Mapping[str, Any]
"""Column -> wanted value: text or a list of texts (any of them); true or false; a number, or (lowest, highest) with None for
an open end; for `repairs` a code or a list of codes (all of them)."""


class BadQuery(InputError):
    """A column that cannot be filtered or sorted by, or a value that does not fit it."""


@dataclass(frozen=True)
class Page:
    """Some of the rows that a question found; `total` is how many it found in all."""

    rows: list[dict[str, Any]]
    total: int


@dataclass(frozen=True)
class Bin:
    """One bar of a histogram: `count` rows with `low <= value < high`."""

    low: int
    high: int
    count: int


_KINDS: dict[str, pa.DataType] = {field.name: field.type for field in INDEX.schema}
_SORTABLE = frozenset(name for name, kind in _KINDS.items() if not pa.types.is_list(kind))
_NUMBERS = frozenset(name for name, kind in _KINDS.items() if pa.types.is_signed_integer(kind))


def matching_rows(
    table: pa.Table, search: str, where: Filters, *, sort: str, descending: bool, offset: int, limit: int
) -> tuple[list[int], int]:
    """Numbers of the rows of one page, in order, and how many rows match. `table` has the index columns, and `text` if searched."""
    checked_window(offset, limit)
    condition, values = _condition(search, where)
    order = _order(sort, descending)
    with _connected(table) as connection:
        total = connection.execute(f"SELECT count(*) FROM rows WHERE {condition}", values).fetchall()[0][0]
        query = f'SELECT "row" FROM rows WHERE {condition} ORDER BY {order} LIMIT ? OFFSET ?'
        found = connection.execute(query, [*values, limit, offset]).fetchall()
    return [row for (row,) in found], total


def all_matching_rows(table: pa.Table, search: str, where: Filters, *, sort: str, descending: bool) -> npt.NDArray[np.int64]:
    """Numbers of all rows that match, in order, `[rows]`: eight bytes each, however many."""
    condition, values = _condition(search, where)
    query = f'SELECT "row" FROM rows WHERE {condition} ORDER BY {_order(sort, descending)}'
    with _connected(table) as connection:
        found = connection.execute(query, values).fetchnumpy()["row"]
    return np.asarray(found, np.int64)


def histogram(table: pa.Table, column: str, bins: int, search: str, where: Filters) -> list[Bin]:
    """Equal, whole-numbered bins of a number column over the matching rows, empty ones included; none for no rows."""
    if column not in _NUMBERS:
        raise BadQuery(f"There is no histogram of {column!r}: choose one of {', '.join(sorted(_NUMBERS))}.")
    if not 1 <= bins <= 1_000:
        raise BadQuery(f"A histogram has 1 to 1,000 bins, not {bins}.")
    condition, values = _condition(search, where)
    with _connected(table) as connection:
        low, high = connection.execute(f'SELECT min("{column}"), max("{column}") FROM rows WHERE {condition}', values).fetchall()[0]
        if low is None:
            return []
        width = (high - low) // bins + 1
        query = f'SELECT ("{column}" - ?) // ? AS bin, count(*) FROM rows WHERE {condition} GROUP BY bin'
        counts = dict(connection.execute(query, [low, width, *values]).fetchall())
    return [Bin(low + index * width, low + (index + 1) * width, counts.get(index, 0)) for index in range((high - low) // width + 1)]


def quarantined_numbers(table: pa.Table, reason: str | None, offset: int, limit: int) -> tuple[list[int], int]:
    """Numbers (places in the quarantine) of one page of quarantined rows in order of position, and how many there are."""
    checked_window(offset, limit)
    table = table.append_column("number", pa.array(np.arange(table.num_rows, dtype=np.int64)))
    condition, values = ("reason = ?", [reason]) if reason is not None else ("true", [])
    with _connected(table) as connection:
        total = connection.execute(f"SELECT count(*) FROM rows WHERE {condition}", values).fetchall()[0][0]
        query = f"SELECT number FROM rows WHERE {condition} ORDER BY position, number LIMIT ? OFFSET ?"
        found = connection.execute(query, [*values, limit, offset]).fetchall()
    return [number for (number,) in found], total


def checked_window(offset: int, limit: int) -> None:
    """Raise `BadQuery` for a page that cannot be."""
    if offset < 0 or not 0 <= limit <= LARGEST_PAGE:
        raise BadQuery(f"A page begins at 0 or later and has at most {LARGEST_PAGE:,} rows, not {limit:,} from {offset:,}.")


def _connected(table: pa.Table) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
    connection.register("rows", table)
    return connection


def _order(sort: str, descending: bool) -> str:
    if sort not in _SORTABLE:
        raise BadQuery(f"Rows cannot be sorted by {sort!r}: choose one of {', '.join(sorted(_SORTABLE))}.")
    return f'"{sort}" {"DESC" if descending else "ASC"} NULLS LAST, "row"'


def _condition(search: str, where: Filters) -> tuple[str, list[Any]]:
    parts = ["true"]
    values: list[Any] = []
    if search:
        parts.append("contains(text, ?)")
        values.append(search_key(search))
    for name, wanted in where.items():
        if name not in _KINDS:
            raise BadQuery(f"Rows cannot be filtered by {name!r}: choose one of {', '.join(sorted(_KINDS))}.")
        part, bound = _one_filter(name, _KINDS[name], wanted)
        parts.append(part)
        values += bound
    return " AND ".join(parts), values


def _one_filter(name: str, kind: pa.DataType, wanted: Any) -> tuple[str, list[Any]]:
    several = isinstance(wanted, Sequence) and not isinstance(wanted, str)
    if pa.types.is_list(kind) or pa.types.is_string(kind):
        texts = list(wanted) if several else [wanted]
        if not all(isinstance(text, str) for text in texts):
            raise BadQuery(f"{name} is filtered by text, not by {wanted!r}.")
        if pa.types.is_list(kind):
            return " AND ".join([f'list_contains("{name}", ?)'] * len(texts)) or "true", texts
        return (f'"{name}" IN ({", ".join("?" * len(texts))})', texts) if texts else ("false", [])
    if pa.types.is_boolean(kind):
        if not isinstance(wanted, bool):
            raise BadQuery(f"{name} is either true or false, not {wanted!r}.")
        return f'"{name}" = ?', [wanted]
    low, high = wanted if several and len(wanted) == 2 else (wanted, wanted)
    if not all(end is None or (isinstance(end, int) and not isinstance(end, bool)) for end in (low, high)):
        raise BadQuery(f"{name} is filtered by a whole number or by (lowest, highest), not by {wanted!r}.")
    ends = [(f'"{name}" >= ?', low), (f'"{name}" <= ?', high)]
    return " AND ".join(part for part, end in ends if end is not None) or "true", [end for _, end in ends if end is not None]
