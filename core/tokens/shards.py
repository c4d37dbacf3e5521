"""Arrow files as `datasets.load_from_disk` reads them: the schema, a writer that hashes what it writes, the two JSON files beside them.

It knows columns and bytes. It does not know templates, recipes or where rows come from.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from core.sources.arrays import as_arrow, as_numpy, texts_as_arrow

STATE_FILE = "state.json"
INFO_FILE = "dataset_info.json"
TORCH_COLUMNS = ("input_ids", "loss_mask", "seq_len")
"""What a trainer gets as tensors; `source` and `row_id` are for people and reports."""

SCHEMA = pa.schema(
    {
        "input_ids": pa.list_(pa.int32()),
        "loss_mask": pa.list_(pa.bool_()),
        "seq_len": pa.int64(),
        "source": pa.dictionary(pa.int32(), pa.string()),
        "row_id": pa.string(),
    }
)


class TokenRow(NamedTuple):
    """One row of a dataset: ids int32 `[T]`, mask bool `[T]`, the index of its source and its row id."""

    input_ids: npt.NDArray[np.int32]
    loss_mask: npt.NDArray[np.bool_]
    source: int
    row_id: str


@dataclass(frozen=True)
class FileRecord:
    """A written file: its size in bytes and SHA-256 (hex)."""

    bytes: int
    sha256: str

    def to_json(self) -> dict[str, Any]:
        """`{"bytes", "sha256"}`."""
        return {"bytes": self.bytes, "sha256": self.sha256}


def shard_name(number: int, total: int) -> str:
    """The file name of shard `number` (from 0), as `datasets` numbers them."""
    return f"data-{number:05d}-of-{total:05d}.arrow"


class ShardWriter:
    """Writes one Arrow stream. `close` returns what was written; the hash is of the bytes meant, so a bad disk is found later."""

    def __init__(self, path: Path, sources: Sequence[str]) -> None:
        self._sink = _HashingFile(path)
        self._sources = texts_as_arrow(sources)
        self._stream = pa.ipc.new_stream(pa.PythonFile(cast(Any, self._sink), mode="w"), SCHEMA)

    def write(self, rows: Sequence[TokenRow]) -> None:
        """Append rows as one record batch."""
        if rows:
            self._stream.write_batch(_batch(rows, self._sources))

    def close(self) -> FileRecord:
        """Finish the stream and force it to disk."""
        self._stream.close()
        return self._sink.finish()


def read_shard(path: Path) -> Iterator[pa.RecordBatch]:
    """The record batches of a shard, memory-mapped; raises `pa.ArrowInvalid` or OSError where it is not one."""
    with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as stream:
        yield from stream


def flat(column: pa.ListArray) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """All values of a list column and the start of each row in them: `[values]`, `[rows + 1]`."""
    offsets = as_numpy(column.offsets).astype(np.int64)
    return as_numpy(column.values)[offsets[0] : offsets[-1]], offsets - offsets[0]


def describe(folder: Path, shards: Sequence[str], fingerprint: str) -> None:
    """Write `state.json` (format torch) and `dataset_info.json`, which make a folder of shards a saved dataset."""
    state = {
        "_data_files": [{"filename": name} for name in shards],
        "_fingerprint": fingerprint,
        "_format_columns": list(TORCH_COLUMNS),
        "_format_kwargs": {},
        "_format_type": "torch",
        "_output_all_columns": False,
        "_split": None,
    }
    features = {
        "input_ids": {"feature": {"dtype": "int32", "_type": "Value"}, "_type": "List"},
        "loss_mask": {"feature": {"dtype": "bool", "_type": "Value"}, "_type": "List"},
        "seq_len": {"dtype": "int64", "_type": "Value"},
        "source": {"dtype": "string", "_type": "Value"},
        "row_id": {"dtype": "string", "_type": "Value"},
    }
    info = {"citation": "", "description": "", "features": features, "homepage": "", "license": ""}
    write_whole(folder / STATE_FILE, orjson.dumps(state, option=orjson.OPT_INDENT_2))
    write_whole(folder / INFO_FILE, orjson.dumps(info, option=orjson.OPT_INDENT_2))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file and force it to disk under a name of its own first, so that it is there whole or not at all."""
    beside = path.with_name(path.name + ".writing")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def record_of(path: Path) -> FileRecord:
    """Size and SHA-256 of a file that stands on disk."""
    with path.open("rb") as file:
        return FileRecord(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def _batch(rows: Sequence[TokenRow], sources: pa.StringArray) -> pa.RecordBatch:
    lengths = np.fromiter((len(row.input_ids) for row in rows), np.int64, len(rows))
    offsets = as_arrow(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    ids = np.concatenate([row.input_ids for row in rows]).astype(np.int32, copy=False)
    mask = np.concatenate([row.loss_mask for row in rows]).astype(np.bool_, copy=False)
    columns = [
        pa.ListArray.from_arrays(offsets, as_arrow(ids)),
        pa.ListArray.from_arrays(offsets, as_arrow(mask)),
        as_arrow(lengths),
        pa.DictionaryArray.from_arrays(as_arrow(np.array([row.source for row in rows], np.int32)), sources),
        texts_as_arrow([row.row_id for row in rows]),
    ]
    return pa.record_batch(columns, schema=SCHEMA)


class _HashingFile(RawIOBase):
    """A file that hashes what passes through it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.with_name(path.name + ".writing").open("wb")
        self._hash = hashlib.sha256()
        self._bytes = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._hash.update(data)
        self._bytes += len(data)
        return self._file.write(data)

    def finish(self) -> FileRecord:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        Path(self._file.name).replace(self._path)
        return FileRecord(self._bytes, self._hash.hexdigest())

    def close(self) -> None:
        super().close()
