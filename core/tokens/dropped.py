"""The ledger of what is not in a dataset: `dropped.parquet`, one row per conversation or turn left out. It knows reasons as words only."""

import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from core.tokens.units import Drop

DROPPED_FILE = "dropped.parquet"

DROPPED_SCHEMA = pa.schema(
    {
        "split": pa.string(),
        "source": pa.string(),
        "row_id": pa.string(),
        "turn": pa.int64(),
        "reason": pa.string(),
        "detail": pa.string(),
    }
)
"""`split` is "train" or "heldout"; `turn` an index into the messages, null where the whole conversation is meant."""


def write_dropped(path: Path, parts: Iterable[tuple[str, Iterable[Drop]]]) -> None:
    """Write the ledger from (split, drops) parts in order, one row group per part that has any."""
    beside = path.with_name(path.name + ".writing")
    with pq.ParquetWriter(beside, DROPPED_SCHEMA) as writer:
        for split, part in parts:
            rows = [
                {
                    "split": split,
                    "source": drop.source,
                    "row_id": drop.row_id,
                    "turn": drop.turn,
                    "reason": drop.reason,
                    "detail": drop.detail,
                }
                for drop in part
            ]
            if rows:
                writer.write_table(pa.Table.from_pylist(rows, schema=DROPPED_SCHEMA))
    with beside.open("rb") as file:
        os.fsync(file.fileno())
    beside.replace(path)
