"""A dataset in other forms: JSON Lines of ids and masks (SpecForge reads them), and Parquet.

It streams shard by shard; memory does not grow with rows. It does not know how rows are made.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InputError
from core.tokens.manifest import Manifest
from core.tokens.shards import SCHEMA, flat, read_shard

Form = Literal["jsonl", "parquet"]


class ExportExists(InputError):
    """Something stands where an export should go."""


def export(folder: Path, out: Path, form: Form) -> int:
    """Write all rows of the dataset in `folder` to the new file `out`, in order; returns their number.

    "jsonl": `{"input_ids": [int], "loss_mask": [0 or 1]}` a line; "parquet": all columns. The file is there whole or not at all.
    Raises `NotADataset`, `ManifestBroken`, `ExportExists`.
    """
    manifest = Manifest.load(folder)
    if out.exists():
        raise ExportExists(f"{out} exists already; choose another name or remove it.")
    beside = out.with_name(out.name + ".writing")
    paths = [folder / name for name in manifest.shards]
    try:
        _WRITERS[form](paths, beside)
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(out)
    finally:
        beside.unlink(missing_ok=True)
    return manifest.rows


def _jsonl(paths: list[Path], out: Path) -> None:
    with out.open("wb") as file:
        for path in paths:
            for batch in read_shard(path):
                ids, starts = flat(batch.column("input_ids"))
                mask = flat(batch.column("loss_mask"))[0].astype(np.int64)
                for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
                    row = {"input_ids": np.ascontiguousarray(ids[start:end]), "loss_mask": mask[start:end]}
                    file.write(orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))


def _parquet(paths: list[Path], out: Path) -> None:
    with pq.ParquetWriter(out, SCHEMA) as writer:
        for path in paths:
            for batch in read_shard(path):
                writer.write_table(pa.Table.from_batches([batch]))


_WRITERS: dict[Form, Callable[[list[Path], Path], None]] = {"jsonl": _jsonl, "parquet": _parquet}
