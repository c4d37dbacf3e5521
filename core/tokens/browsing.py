"""Single rows of a finished dataset and of its ledger, for people who want to look at some. It does not know what they mean."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.tokens.dropped import DROPPED_FILE
from core.tokens.manifest import Manifest
from core.tokens.shards import flat, read_shard


@dataclass(frozen=True)
class WrittenRow:
    """A row as it stands in its shard: ids int32 `[T]`, mask bool `[T]`."""

    input_ids: npt.NDArray[np.int32]
    loss_mask: npt.NDArray[np.bool_]
    source: str
    row_id: str


@dataclass(frozen=True)
class LostRows:
    """What was left out of one source for one reason: how often, and the first few as `(row id, message index or None, detail)`."""

    split: str
    source: str
    reason: str
    count: int
    first: tuple[tuple[str, int | None, str], ...]


def written_row(folder: Path, number: int) -> WrittenRow:
    """Row `number` (from 0) of the dataset in `folder`. Raises `NotADataset`, `ManifestBroken`, `IndexError` outside it."""
    manifest = Manifest.load(folder)
    left = number
    for name in manifest.shards:
        rows = manifest.files[name]["rows"]
        if 0 <= left < rows:
            for batch in read_shard(folder / name):
                if left < batch.num_rows:
                    one = batch.slice(left, 1)
                    ids, mask = (flat(one.column(column))[0].copy() for column in ("input_ids", "loss_mask"))
                    return WrittenRow(ids, mask, one.column("source")[0].as_py(), one.column("row_id")[0].as_py())
                left -= batch.num_rows
        left -= rows
    raise IndexError(number)


def lost_rows(folder: Path, few: int = 5) -> list[LostRows]:
    """What is in the dataset's ledger, by source and reason, the most frequent first, each with its first `few` rows."""
    found: Counter[tuple[str, str, str]] = Counter()
    first: dict[tuple[str, str, str], list[tuple[str, int | None, str]]] = {}
    ledger = pq.ParquetFile(folder / DROPPED_FILE)
    for group in range(ledger.num_row_groups):
        table = ledger.read_row_group(group)
        kinds = table.group_by(["split", "source", "reason"], use_threads=False).aggregate([([], "count_all")]).to_pylist()
        for kind in kinds:
            key = (kind["split"], kind["source"], kind["reason"])
            found[key] += kind["count_all"]
            shown = first.setdefault(key, [])
            if len(shown) < few:
                mine = [pc.equal(table[name], value) for name, value in zip(("split", "source", "reason"), key, strict=True)]
                rows = table.filter(pc.and_(pc.and_(mine[0], mine[1]), mine[2])).slice(0, few - len(shown)).to_pylist()
                shown += [(row["row_id"], row["turn"], row["detail"]) for row in rows]
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [LostRows(*key, count, tuple(first[key])) for key, count in ordered]
