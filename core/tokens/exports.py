"""A dataset in other forms: JSON Lines of ids and masks (SpecForge and speculators read them), Parquet, and the text of the rows.

It streams shard by shard; memory does not grow with rows. It does not know how rows are made.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InputError
from core.mix import Recipe
from core.tokens.manifest import Manifest
from core.tokens.shards import SCHEMA, flat, read_shard
from core.tokens.target import load_target, tokenizer_hash

Form = Literal["jsonl", "parquet", "text"]


class ExportExists(InputError):
    """Something stands where an export should go."""


class ExportUnwritable(InputError):
    """A place where an export cannot be written."""


class TokenizerChanged(InputError):
    """A target whose tokenizer is not the one that a dataset was made with."""


def export(folder: Path, out: Path, form: Form) -> int:
    """Write all rows of the dataset in `folder` to the new file `out`, in order; returns their number.

    "jsonl": `{"input_ids": [int], "loss_mask": [0 or 1]}` a line; "parquet": all columns. The file is there whole or not at all.
    "text": `{"text", "source", "row_id"}` a line, the rendered conversation as its tokens spell it, special tokens included, as far as the
    row goes (a character that the limit cuts is left out); it needs the target the rows were made for.
    Raises `NotADataset`, `ManifestBroken`, `ExportExists`, `TokenizerChanged`, `ExportUnwritable` and the errors of `Target.load`.
    """
    manifest = Manifest.load(folder)
    if out.exists():
        raise ExportExists(f"{out} exists already; choose another name or remove it.")
    beside = out.with_name(out.name + ".writing")
    paths = [folder / name for name in manifest.shards]
    write = _text(manifest) if form == "text" else _WRITERS[form]
    try:
        write(paths, beside)
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(out)
    except OSError as error:
        raise ExportUnwritable(f"{out} cannot be written ({error.strerror or error}); free some space or choose another place.") from error
    finally:
        with suppress(OSError):
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


def _text(manifest: Manifest) -> Callable[[list[Path], Path], None]:
    target = load_target(Recipe.model_validate(manifest.recipe))
    if tokenizer_hash(target) != manifest.target["tokenizer_sha256"]:
        raise TokenizerChanged(f"The tokenizer of {manifest.target['path']} is not the one the rows were made with; tokenize again.")
    spelled = target.encoder.token_bytes

    def write(paths: list[Path], out: Path) -> None:
        with out.open("wb") as file:
            for path in paths:
                for batch in read_shard(path):
                    ids, starts = flat(batch.column("input_ids"))
                    names, row_ids = batch.column("source").to_pylist(), batch.column("row_id").to_pylist()
                    for row, (name, row_id) in enumerate(zip(names, row_ids, strict=True)):
                        text = b"".join(map(spelled, ids[starts[row] : starts[row + 1]].tolist())).decode("utf-8", "ignore")
                        file.write(orjson.dumps({"text": text, "source": name, "row_id": row_id}, option=orjson.OPT_APPEND_NEWLINE))

    return write


def _parquet(paths: list[Path], out: Path) -> None:
    with pq.ParquetWriter(out, SCHEMA) as writer:
        for path in paths:
            for batch in read_shard(path):
                writer.write_table(pa.Table.from_batches([batch]))


_WRITERS: dict[Literal["jsonl", "parquet"], Callable[[list[Path], Path], None]] = {"jsonl": _jsonl, "parquet": _parquet}
