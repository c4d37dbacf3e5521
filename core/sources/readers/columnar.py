"""Parquet and Arrow files, batch by batch; a part that cannot be decoded costs its own rows.

It knows row groups and record batches. It does not know what the values mean.
"""

from collections.abc import Iterator
from itertools import chain

import pyarrow as pa
import pyarrow.parquet as pq

from core.dialects import RawRow
from core.sources.readers.arrow_values import json_rows
from core.sources.readers.formats import DataFile
from core.sources.readers.problems import UnreadableSource, problem_row, shown

_BATCH = 256
"""Rows decoded at a time: agentic rows can be half a megabyte each."""


def read_parquet_file(file: DataFile, name: str, first: int = 0) -> Iterator[RawRow]:
    """The rows of a Parquet file. Raises `UnreadableSource` when its footer is damaged."""
    try:
        reader = pq.ParquetFile(file.path, memory_map=True, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise UnreadableSource(f"{shown(file.path)} is a damaged Parquet file ({_first_line(error)}): download it again.") from error
    position = first
    with reader:
        for group in range(reader.num_row_groups):
            end = position + reader.metadata.row_group(group).num_rows
            try:
                for batch in reader.iter_batches(batch_size=_BATCH, row_groups=[group]):
                    for value in json_rows(batch):
                        yield RawRow(position=position, value=value)
                        position += 1
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                reason = f"{name} row group {group + 1}: {_first_line(error)}"
                while position < end:
                    yield problem_row(position, "unreadable", reason)
                    position += 1


def row_groups(file: DataFile) -> list[int]:
    """The rows of each row group of a Parquet file; none where its footer is damaged."""
    try:
        found = pq.read_metadata(file.path)
        return [found.row_group(group).num_rows for group in range(found.num_row_groups)]
    except (pa.ArrowException, OSError):
        return []


def first_of_group(file: DataFile, group: int, count: int) -> list[RawRow]:
    """At most `count` first rows of one row group; none where it is damaged."""
    try:
        with pq.ParquetFile(file.path, memory_map=True) as reader:
            batch = next(reader.iter_batches(batch_size=count, row_groups=[group]), None)
            return [] if batch is None else [RawRow(number, value) for number, value in enumerate(json_rows(batch))]
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return []


def read_arrow_file(file: DataFile, name: str, first: int = 0) -> Iterator[RawRow]:
    """The rows of an Arrow IPC file or stream; a record batch that is damaged is one problem row (its length is unknown).

    Raises `UnreadableSource` when the schema cannot be read.
    """
    try:
        source = pa.memory_map(str(file.path))
        batches = _file_batches(source, name) if file.format == "arrow_file" else _stream_batches(source, name)
        start = next(batches, None)
    except (pa.ArrowException, OSError) as error:
        raise UnreadableSource(f"{shown(file.path)} is a damaged Arrow file ({_first_line(error)}): write it again.") from error
    position = first
    for batch in chain(() if start is None else (start,), batches):
        if isinstance(batch, str):
            yield problem_row(position, "unreadable", batch)
            position += 1
            continue
        for offset in range(0, batch.num_rows, _BATCH):
            for value in json_rows(batch.slice(offset, _BATCH)):
                yield RawRow(position=position, value=value)
                position += 1


def _file_batches(source: pa.MemoryMappedFile, name: str) -> Iterator[pa.RecordBatch | str]:
    reader = pa.ipc.open_file(source)
    for index in range(reader.num_record_batches):
        try:
            batch = reader.get_batch(index)
            batch.validate(full=True)  # damaged offsets would otherwise be followed into foreign memory
        except (pa.ArrowException, OSError) as error:
            yield f"{name} record batch {index + 1}: {_first_line(error)}"
        else:
            yield batch


def _stream_batches(source: pa.MemoryMappedFile, name: str) -> Iterator[pa.RecordBatch | str]:
    reader = pa.ipc.open_stream(source)
    index = 0
    while True:
        index += 1
        try:
            batch = reader.read_next_batch()
            batch.validate(full=True)
        except StopIteration:
            return
        except (pa.ArrowException, OSError) as error:
            yield f"{name} record batch {index}: {_first_line(error)}; later rows cannot be reached"
            return
        yield batch


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
