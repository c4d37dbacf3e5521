"""Files and folders to raw rows: streamed, in bounded memory, one broken row never costing the file.

It knows file formats. What a row means is `core.dialects`' business.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO

from core.dialects import RawRow
from core.sources.readers.columnar import read_arrow_file, read_parquet_file
from core.sources.readers.csv_file import read_csv_file
from core.sources.readers.folders import NOT_DATA, data_files, empty_files
from core.sources.readers.formats import DataFile
from core.sources.readers.json_files import read_json_file
from core.sources.readers.json_lines import read_json_lines
from core.sources.readers.problems import UnreadableSource, shown
from core.sources.readers.streams import stream_chunks

__all__ = ["NOT_DATA", "DataFile", "UnreadableSource", "data_files", "empty_files", "read_lines", "read_rows"]

_READERS = {
    "json": read_json_file,
    "jsonl": read_json_file,
    "csv": read_csv_file,
    "parquet": read_parquet_file,
    "arrow_file": read_arrow_file,
    "arrow_stream": read_arrow_file,
}


def read_rows(path: Path, only: Sequence[str] | None = None) -> Iterator[RawRow]:
    """The raw rows of a file, or of all data files below a folder (or of `only` those named), numbered from 0
    in one sequence.

    Whatever is wrong with the path as a whole raises `UnreadableSource` here, before the first row: a missing or empty
    file, a folder without data, content that is not what the name says, no row at all. What is wrong with a single row is
    that row's `problem`, with the place in its `detail`.
    """
    rows = _rows(path, data_files(path, only))
    first = next(rows, None)
    if first is None:
        raise UnreadableSource(f"{shown(path)} holds no rows: choose a file or folder with at least one.")
    return chain((first,), rows)


def read_lines(stream: IO[bytes], name: str) -> Iterator[RawRow]:
    """The rows of JSON Lines from an open binary stream (standard input); `name` stands in their details."""
    return read_json_lines(stream_chunks(stream), name)


def _rows(path: Path, files: list[DataFile]) -> Iterator[RawRow]:
    position = 0
    for file in files:
        name = file.path.name if file.path == path else file.path.relative_to(path).as_posix()
        for row in _READERS[file.format](file, name, position):
            yield row
            position = row.position + 1
