"""What single conversations became in tokens, kept beside their source once somebody tokenized them, so that plans can be exact.

It knows rows and three figures of each. What target, template and supervision they hold for is a key that others make.
"""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from core.sources import Source
from core.sources.arrays import as_arrow, as_numpy
from core.workspace import checked_name

Figures = npt.NDArray[np.int32]

_SCHEMA = pa.schema([("row", pa.int64()), ("tokens", pa.int32()), ("trainable_tokens", pa.int32()), ("training_rows", pa.int32())])


@dataclass(frozen=True, eq=False)
class Measured:
    """Exact figures of some conversations of a source: parallel arrays `[conversations]`, row numbers rising."""

    row: npt.NDArray[np.int64]
    tokens: Figures
    """Tokens of all its training rows."""
    trainable_tokens: Figures
    training_rows: Figures

    def __len__(self) -> int:
        return len(self.row)

    def merged(self, newer: "Measured") -> "Measured":
        """Both, the newer figures where a row stands in both."""
        row = np.concatenate([newer.row, self.row])
        _, first = np.unique(row, return_index=True)
        columns = [np.concatenate([getattr(newer, name), getattr(self, name)])[first] for name in _SCHEMA.names[1:]]
        return Measured(row[first], *columns)

    def places(self, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Where each of `rows` stands in the arrays, and whether it stands there at all."""
        if not len(self.row):
            return np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
        at = np.minimum(np.searchsorted(self.row, rows), len(self.row) - 1)
        return at, self.row[at] == rows

    @classmethod
    def sorted_by_row(cls, row: npt.ArrayLike, tokens: npt.ArrayLike, trainable_tokens: npt.ArrayLike, rows: npt.ArrayLike) -> Self:
        """From figures in any order, one entry a conversation."""
        numbers = np.asarray(row, np.int64)
        order = np.argsort(numbers, kind="stable")
        return cls(numbers[order], *(np.asarray(column, np.int32)[order] for column in (tokens, trainable_tokens, rows)))


def load_measured(source: Source, key: str) -> Measured | None:
    """What is known of the source's conversations for a target, template and supervision; None for nothing."""
    try:
        with pa.memory_map(str(_file(source, key))) as file:
            table = pa.ipc.open_file(file).read_all()
            if table.schema != _SCHEMA:
                return None
            return Measured(*(as_numpy(column).copy() for column in table.columns))
    except (OSError, pa.ArrowException):
        return None


def add_measured(source: Source, key: str, found: Measured) -> Measured:
    """Keep figures beside the source, together with what is known already; returns all. A folder that cannot be written is left be."""
    known = load_measured(source, key)
    together = found if known is None else known.merged(found)
    path = _file(source, key)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(exist_ok=True)
        with pa.OSFile(str(beside), "wb") as file, pa.ipc.new_file(file, _SCHEMA) as writer:
            writer.write_table(pa.table([as_arrow(getattr(together, name)) for name in _SCHEMA.names], schema=_SCHEMA))
        with beside.open("rb+") as written:
            os.fsync(written.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
    return together


def measured_stamp(source: Source, key: str) -> float:
    """Changes whenever figures are added; 0 where there are none."""
    try:
        return _file(source, key).stat().st_mtime
    except OSError:
        return 0.0


def _file(source: Source, key: str) -> Path:
    return source.computed_folder / f"tokens-{checked_name(key)}.arrow"
