"""The first rows of a hub data set, from as few bytes as they take: the beginning of a text file, the first pages of a Parquet file.

It knows ranges of bytes. It leaves nothing on disk.
"""

import io
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.dialects import RawRow
from core.errors import InputError
from core.sources.hub.choice import chosen_files
from core.sources.hub.client import Hub, HubFile
from core.sources.hub.reference import HubReference
from core.sources.readers import UnreadableSource, read_rows
from core.sources.readers.arrow_values import json_rows
from core.sources.readers.formats import named_format
from core.watch import Watcher

MOST_BYTES = 64 * 1024 * 1024
"""The most that a preview fetches."""
_FIRST_BYTES = 1 << 20
_BLOCK = 256 * 1024


class PreviewTooLarge(InputError):
    """The first rows cannot be had for `MOST_BYTES`."""


def preview(wanted: HubReference, rows: int, watcher: Watcher) -> list[RawRow]:
    """At most `rows` first rows of the part's first file. Raises what `fetch` raises of the hub, and `PreviewTooLarge`."""
    hub = Hub(wanted, watcher)
    repository = hub.repository()
    names = chosen_files([file.path for file in repository.files], repository.configs, wanted)
    file = next(file for file in repository.files if file.path == names[0])
    named = named_format(Path(file.path))
    if named is not None and named[0] == "parquet":
        return _of_parquet(hub, file, repository.commit, rows)
    if named is not None and named[0] == "arrow":
        raise PreviewTooLarge(f"{file.path} is an Arrow file, which has no preview: import it to see its rows.")
    return _of_text(hub, file, repository.commit, rows)


def _of_text(hub: Hub, file: HubFile, commit: str, rows: int) -> list[RawRow]:
    """Reads ever longer beginnings of the file until enough whole rows are in them."""
    size = _FIRST_BYTES
    while True:
        data = hub.ask(lambda size=size: _beginning(hub, file.path, commit, size))  # type: ignore[misc]
        whole = len(data) < size or len(data) == file.size
        found = _rows_of(data, file.path, rows if whole else rows + 1)
        if whole:
            return found
        if len(found) > rows:  # the last one may be cut
            return found[:rows]
        if size >= MOST_BYTES:
            if len(found) > 1:
                return found[:-1]
            raise PreviewTooLarge(f"The first row of {file.path} is longer than {MOST_BYTES >> 20} MiB: import it to see its rows.")
        size *= 4


def _beginning(hub: Hub, path: str, commit: str, size: int) -> bytes:
    found = bytearray()
    with hub.opened(path, commit, end=size) as response:
        for chunk in response.iter_raw():
            found += chunk
            if len(found) >= size:
                break
    return bytes(found[:size])


def _rows_of(data: bytes, path: str, rows: int) -> list[RawRow]:
    with tempfile.TemporaryDirectory() as folder:
        beginning = Path(folder) / PurePosixPath(path).name
        beginning.write_bytes(data)
        try:
            return list(islice(read_rows(beginning), rows))
        except UnreadableSource as error:
            raise UnreadableSource(str(error).replace(str(beginning), path)) from error


def _of_parquet(hub: Hub, file: HubFile, commit: str, rows: int) -> list[RawRow]:
    if file.size is None:
        raise PreviewTooLarge(f"The hub does not tell the size of {file.path}, which has no preview so: import it to see its rows.")
    try:
        with pq.ParquetFile(pa.PythonFile(_Ranges(hub, file, commit), mode="r"), pre_buffer=False, buffer_size=_BLOCK) as reader:
            return [RawRow(position, value) for position, value in enumerate(islice(_values(reader, rows), rows))]
    except (pa.ArrowException, OSError) as error:
        raise UnreadableSource(f"{file.path} is no Parquet file that can be read ({error}): name another with --file.") from error


def _values(reader: pq.ParquetFile, rows: int) -> Iterator[dict[str, Any]]:
    for batch in reader.iter_batches(batch_size=max(1, min(rows, 64))):
        yield from json_rows(batch)


class _Ranges(io.RawIOBase):
    """A file of the hub as a seekable stream; keeps the block it read last."""

    def __init__(self, hub: Hub, file: HubFile, commit: str) -> None:
        super().__init__()
        self._hub = hub
        self._file = file
        self._commit = commit
        self._size = file.size or 0
        self._position = 0
        self._block = (0, b"")
        self._fetched = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """The position, in bytes."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position."""
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        return self._position

    def read(self, size: int = -1) -> bytes:
        """That many bytes, fewer at the end. Raises `PreviewTooLarge`."""
        end = self._size if size < 0 else min(self._size, self._position + size)
        start, block = self._block
        if not (start <= self._position and end <= start + len(block)):
            start, block = self._position, self._range(self._position, min(self._size, max(end, self._position + _BLOCK)))
            self._block = (start, block)
        data = block[self._position - start : end - start]
        self._position += len(data)
        return data

    def _range(self, start: int, end: int) -> bytes:
        self._fetched += end - start
        if self._fetched > MOST_BYTES:
            raise PreviewTooLarge(f"The first rows of {self._file.path} take more than {MOST_BYTES >> 20} MiB: import it to see its rows.")
        return self._hub.ask(lambda: self._bytes(start, end))

    def _bytes(self, start: int, end: int) -> bytes:
        with self._hub.opened(self._file.path, self._commit, start, end) as response:
            if start and response.status_code != 206:
                raise PreviewTooLarge(f"The server gives no parts of {self._file.path}, so it has no preview: import it to see its rows.")
            return b"".join(response.iter_raw())[: end - start]
