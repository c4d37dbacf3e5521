"""A tokenized dataset as flat arrays: the ids, the loss mask and the offsets of its rows. It knows no model."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core.errors import InputError


class DatasetUnusable(InputError):
    """The folder does not hold a tokenized dataset that a drafter can train on."""


@dataclass(frozen=True)
class TokenizedRows:
    """Rows one after the other; row i is `offsets[i]:offsets[i + 1]` of `ids` and `mask`."""

    path: Path
    ids: NDArray[np.int32]
    """[tokens]"""
    mask: NDArray[np.bool_]
    """[tokens], true where the token is supervised"""
    offsets: NDArray[np.int64]
    """[rows + 1]"""
    sources: tuple[str, ...]
    """[rows]"""
    row_ids: tuple[str, ...]
    """[rows], the conversation each row was made of"""

    @classmethod
    def load(cls, path: Path) -> "TokenizedRows":
        """The dataset saved in a folder; raises `DatasetUnusable` when a column is missing, nothing is in it or sizes disagree."""
        from datasets import load_from_disk  # noqa: PLC0415 - takes a second to import

        if not (path / "state.json").is_file():
            raise DatasetUnusable(f"{path} holds no dataset (no state.json): give the folder that `mixdown tokenize` wrote.")
        try:
            dataset = load_from_disk(str(path))
        except (OSError, ValueError, pa.ArrowException, json.JSONDecodeError) as error:
            raise DatasetUnusable(f"{path} cannot be opened as a dataset: {str(error).splitlines()[0]}") from error
        missing = [name for name in ("input_ids", "loss_mask") if name not in dataset.column_names]
        if missing:
            raise DatasetUnusable(f"{path} has no column {missing[0]}: give the folder that `mixdown tokenize` wrote.")
        if not len(dataset):
            raise DatasetUnusable(f"{path} has no rows, so there is nothing to train on.")
        if dataset._indices is not None:
            dataset = dataset.flatten_indices()
        table = dataset.data.table
        ids = _flat(table, "input_ids")
        mask = _flat(table, "loss_mask")
        lengths = np.concatenate([chunk.value_lengths().to_numpy() for chunk in table.column("input_ids").chunks])
        masks = np.concatenate([chunk.value_lengths().to_numpy() for chunk in table.column("loss_mask").chunks])
        if not np.array_equal(lengths, masks):
            row = int(np.flatnonzero(lengths != masks)[0])
            raise DatasetUnusable(f"{path}, row {row}: {lengths[row]} input_ids but {masks[row]} loss_mask entries; tokenize again.")
        rows = len(lengths)
        return cls(
            path=path,
            ids=ids.astype(np.int32, copy=False),
            mask=mask.astype(np.bool_, copy=False),
            offsets=np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
            sources=_strings(table, "source", rows, "all"),
            row_ids=_strings(table, "row_id", rows, None),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def tokens(self) -> int:
        """All tokens."""
        return len(self.ids)

    def row(self, index: int) -> NDArray[np.int32]:
        """The ids of one row, [tokens of the row]."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @cached_property
    def supervised_run(self) -> NDArray[np.int32]:
        """[tokens]: how many tokens in a row, from this one on and inside its row, are supervised (0 where it is not itself)."""
        ends = np.arange(self.tokens + 1)
        breaks = np.ones(self.tokens + 1, np.bool_)
        breaks[:-1] = ~self.mask
        # The first token of a row ends the run of the row before it, even where it is supervised itself.
        starts = np.zeros(self.tokens + 1, np.bool_)
        starts[self.offsets] = True
        stop = np.where(breaks, ends, self.tokens)
        next_break = np.minimum.accumulate(stop[::-1])[::-1][:-1]
        next_start = np.minimum.accumulate(np.where(starts, ends, self.tokens)[::-1])[::-1][1:]
        return (np.minimum(next_break, next_start) - ends[:-1]).clip(min=0).astype(np.int32)


def _flat(table: pa.Table, name: str) -> NDArray[np.generic]:
    """All values of a list column as one array."""
    flat: NDArray[np.generic] = np.concatenate([chunk.flatten().to_numpy(zero_copy_only=False) for chunk in table.column(name).chunks])
    return flat


def _strings(table: pa.Table, name: str, rows: int, otherwise: str | None) -> tuple[str, ...]:
    """A text (or dictionary) column; where it is absent, `otherwise` or the row's number."""
    if name not in table.column_names:
        return tuple(otherwise or str(row) for row in range(rows))
    column = table.column(name)
    if pa.types.is_integer(column.type):  # a ClassLabel
        return tuple(str(value) for value in column.to_pylist())
    return tuple(column.to_pylist())
