"""Numbered Arrow files: rows are appended in bounded memory and read back memory-mapped, any row by its number.

A row's columns are spread over groups (what is scanned, what is shown, what is kept for reference), each a folder of
`part-00000.arrow`, `part-00001.arrow`, … with the same rows in the same batches. A finished part never changes, so work
that was interrupted can go on behind the last one. It knows no column by name.
"""

import os
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from core.errors import MixdownError
from core.sources.arrays import as_numpy

BATCH_ROWS = 1_024
BATCH_BYTES = 16 * 1024 * 1024
PART_ROWS = 65_536
PART_BYTES = 512 * 1024 * 1024


class DamagedLibrary(MixdownError):
    """Files of an imported source are missing or unreadable; it has to be imported again."""


@dataclass(frozen=True)
class Group:
    """Columns that stand in files of their own; compressed ones are for single rows, not for scans."""

    name: str
    schema: pa.Schema
    compressed: bool = False


class PartWriter:
    """Appends rows (mappings of column to value) to the groups' folders below `folder`; `finish_part` ends the last one too.

    `finished` is the number of parts that stand already; files beyond them, left by a process that was killed, are removed.
    Whoever appends asks `full` and calls `finish_part`: parts of several writers can so end at the same row.
    """

    def __init__(self, folder: Path, groups: Sequence[Group], finished: int = 0) -> None:
        self._folder = folder
        self._groups = groups
        self._columns: dict[str, list[Any]] = {name: [] for group in groups for name in group.schema.names}
        self._waiting = 0
        self._waiting_bytes = 0
        self._part = finished
        self._part_rows = 0
        self._part_bytes = 0
        self._open: list[tuple[Path, pa.OSFile, pa.RecordBatchFileWriter]] = []
        for group in groups:
            (folder / group.name).mkdir(parents=True, exist_ok=True)
            for file in sorted((folder / group.name).glob("part-*.arrow"))[finished:]:
                file.unlink()

    @property
    def parts(self) -> int:
        """How many parts are finished."""
        return self._part

    @property
    def full(self) -> bool:
        """Whether the open part has as many rows or bytes as a part should."""
        return self._part_rows >= PART_ROWS or self._part_bytes >= PART_BYTES

    def append(self, row: Mapping[str, Any], size: int) -> None:
        """Add one row of about `size` bytes; it is on disk once its batch is full."""
        for name, values in self._columns.items():
            values.append(row[name])
        self._waiting += 1
        self._waiting_bytes += size
        if self._waiting >= BATCH_ROWS or self._waiting_bytes >= BATCH_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        if not self._open:
            self._open = [self._opened(group) for group in self._groups]
        for group, (_, _, writer) in zip(self._groups, self._open, strict=True):
            columns = {name: self._columns[name] for name in group.schema.names}
            writer.write_batch(pa.RecordBatch.from_pydict(columns, schema=group.schema))
        self._part_rows += self._waiting
        self._part_bytes += self._waiting_bytes
        self._waiting = self._waiting_bytes = 0
        for values in self._columns.values():
            values.clear()

    def _opened(self, group: Group) -> tuple[Path, pa.OSFile, pa.RecordBatchFileWriter]:
        path = self._folder / group.name / f"part-{self._part:05d}.arrow"
        file = pa.OSFile(str(path), "wb")
        options = pa.ipc.IpcWriteOptions(compression="zstd" if group.compressed else None)
        return path, file, pa.ipc.new_file(file, group.schema, options=options)

    def finish_part(self) -> None:
        """Write what is waiting and finish the open part, if there is one; the next row begins another."""
        self._flush()
        if self._open:
            self._finish_part()

    def _finish_part(self) -> None:
        for path, file, writer in self._open:
            writer.close()
            file.close()
            with path.open("rb+") as written:
                os.fsync(written.fileno())
        self._open = []
        self._part += 1
        self._part_rows = self._part_bytes = 0

    def abandon(self) -> None:
        """Let go of the open files without finishing them (their folder is about to be removed)."""
        for _, file, _ in self._open:
            file.close()
        self._open = []


class Parts:
    """The finished parts of one group (the first `parts` of them), memory-mapped. `sizes` are the rows of each batch, in order."""

    def __init__(self, folder: Path, group: Group, sizes: Sequence[int] | None = None, parts: int | None = None) -> None:
        self._group = group
        where = folder / group.name
        try:
            readers = [pa.ipc.open_file(pa.memory_map(str(file))) for file in sorted(where.glob("part-*.arrow"))[:parts]]
            self._batches = [(reader, index) for reader in readers for index in range(reader.num_record_batches)]
            # Only uncompressed batches can be asked for their length without being read.
            self.sizes = list(sizes) if sizes is not None else [reader.get_batch(index).num_rows for reader, index in self._batches]
        except (OSError, pa.ArrowException) as error:
            raise DamagedLibrary(f"The imported rows in '{where}' cannot be read ({error}): import the source again.") from error
        if any(reader.schema != group.schema for reader in readers) or len(self.sizes) != len(self._batches):
            raise DamagedLibrary(f"The imported rows in '{where}' have another layout than this version writes: import the source again.")
        self._ends = list(accumulate(self.sizes))
        self._edges = np.array([0, *self._ends])
        self._current: tuple[int, pa.RecordBatch] | None = None
        self._table: pa.Table | None = None
        self._chunks: dict[str, list[pa.Array]] = {}
        self._texts: dict[str, list[_Texts]] = {}

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def table(self) -> pa.Table:
        """All rows as one table over the mapped files (uncompressed groups take no memory of their own)."""
        if self._table is None:
            self._table = pa.Table.from_batches([reader.get_batch(index) for reader, index in self._batches], schema=self._group.schema)
        return self._table

    def values(self, column: str, numbers: Sequence[int]) -> list[Any]:
        """One column of many rows of an uncompressed group, in the order asked for, at a few microseconds each.

        Raises `IndexError` outside the table.
        """
        chunks = self._chunks.get(column)
        if chunks is None:
            chunks = self._chunks[column] = self.table().column(column).chunks
        ends, sizes = self._ends, self.sizes
        found = []
        for number in numbers:
            if number < 0:
                raise IndexError(number)
            which = bisect_right(ends, number)
            found.append(chunks[which][number - ends[which] + sizes[which]].as_py())
        return found

    def texts(self, columns: Sequence[str], numbers: Sequence[int]) -> list[list[bytes | None]]:
        """For each column of texts of an uncompressed group the UTF-8 of many rows, None for null; a third of what `values` takes.

        Raises `IndexError` outside the table.
        """
        asked = np.asarray(numbers, np.int64)
        if len(asked) and not (asked.min() >= 0 and asked.max() < len(self)):
            raise IndexError(next(number for number in numbers if not 0 <= number < len(self)))
        which = np.searchsorted(self._edges[1:], asked, "right")
        inside = asked - self._edges[which]
        places = list(zip(which.tolist(), inside.tolist(), strict=True))
        return [[chunks[chunk].text(row) for chunk, row in places] for chunks in map(self._texts_of, columns)]

    def _texts_of(self, column: str) -> "list[_Texts]":
        chunks = self._texts.get(column)
        if chunks is None:
            chunks = self._texts[column] = [_Texts(chunk) for chunk in self.table().column(column).chunks]
        return chunks

    def row(self, number: int) -> dict[str, Any]:
        """One row as a mapping of column to value, at the cost of finding its batch. Raises `IndexError` outside the table."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        which = bisect_right(self._ends, number)
        current = self._current  # one assignment, one reading: pages of several sessions share this object
        if current is None or current[0] != which:
            reader, index = self._batches[which]
            current = self._current = (which, reader.get_batch(index))
        _, batch = current
        inside = number - (self._ends[which] - self.sizes[which])
        return {name: batch.column(index)[inside].as_py() for index, name in enumerate(batch.schema.names)}


class _Texts:
    """One batch of a text column, read from its buffers without an Arrow value for each row."""

    __slots__ = ("data", "edges", "valid")

    def __init__(self, array: pa.StringArray) -> None:
        _, edges, data = array.buffers()
        self.edges = memoryview(edges).cast("i")[array.offset : array.offset + len(array) + 1]
        """int32 [rows + 1], where each text begins in `data`"""
        self.data = memoryview(data if data is not None else b"")
        self.valid = as_numpy(array.is_valid()).tobytes()
        """[rows], 0 for null"""

    def text(self, row: int) -> bytes | None:
        """The UTF-8 of a row, None for null."""
        return bytes(self.data[self.edges[row] : self.edges[row + 1]]) if self.valid[row] else None
