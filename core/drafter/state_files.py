"""Hidden states in the layout of speculators: one `hs_{row}.safetensors` per row of a dataset, each with the ids it was made from.

`hidden_states` [tokens, taps + 1, hidden] bfloat16, the last slot before the final norm, and `token_ids` [tokens] int64. A row is
there whole or not at all, so what was written is never made again. It knows no server.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from core.drafter.dataset import TokenizedRows
from core.drafter.hidden_states import CHOICES, STATES, HiddenStates, NotEnoughDisk, StaleHiddenStates, bytes_needed, check_disk, seal
from core.drafter.target import TargetModel
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled


@dataclass(frozen=True)
class StateFiles:
    """The state files of a dataset's rows in a folder."""

    folder: Path
    rows: TokenizedRows
    slots: int
    """states per token: the taps and the last one"""
    hidden_size: int

    def path(self, row: int) -> Path:
        """Where a row's states lie."""
        return self.folder / f"hs_{row}.safetensors"

    def missing(self) -> list[int]:
        """Rows without a file."""
        there = {entry.name for entry in os.scandir(self.folder)} if self.folder.is_dir() else set()
        return [row for row in range(len(self.rows)) if self.path(row).name not in there]

    def bytes_needed(self) -> int:
        """Disk, in bytes, that the missing rows will take."""
        tokens = sum(len(self.rows.row(row)) for row in self.missing())
        return tokens * (self.slots * self.hidden_size * 2 + 8)

    def prepare(self) -> None:
        """Make the folder; raises `NotEnoughDisk` when the missing rows would not fit."""
        self.folder.mkdir(parents=True, exist_ok=True)
        needed, free = self.bytes_needed(), shutil.disk_usage(self.folder).free
        if needed > free:
            raise NotEnoughDisk(
                f"The hidden states still missing need {needed / 1e9:.1f} GB in {self.folder}, where {free / 1e9:.1f} GB are free: "
                "make room, or use fewer rows."
            )

    def write(self, row: int, states: Tensor) -> None:
        """Keep the states [tokens, slots, hidden] of a row; raises `StaleHiddenStates` when they have another shape."""
        ids = torch.from_numpy(self.rows.row(row).astype(np.int64))
        self._check_shape(row, states)
        data = save({"hidden_states": states.to(torch.bfloat16).contiguous(), "token_ids": ids})
        beside = self.folder / f".hs_{row}.writing"
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path(row))

    def read(self, row: int) -> Tensor:
        """The states [tokens, slots, hidden] bfloat16 of a row; raises `StaleHiddenStates` when they are missing or of other tokens."""
        path = self.path(row)
        try:
            found = load_file(path)
            states, ids = found["hidden_states"], found["token_ids"]
        except FileNotFoundError as error:
            raise StaleHiddenStates(f"{path} is missing: capture the hidden states again, it goes on where it stopped.") from error
        except (OSError, KeyError, SafetensorError) as error:
            raise StaleHiddenStates(f"{path} cannot be read as hidden states ({error}): delete it and capture again.") from error
        if ids.tolist() != self.rows.row(row).tolist():
            raise StaleHiddenStates(
                f"{path} was made from other tokens than row {row} of {self.rows.path}: delete the folder, capture again."
            )
        self._check_shape(row, states)
        return states

    def _check_shape(self, row: int, states: Tensor) -> None:
        wanted = (len(self.rows.row(row)), self.slots, self.hidden_size)
        if tuple(states.shape) != wanted:
            raise StaleHiddenStates(
                f"The hidden states of row {row} have the shape {list(states.shape)} instead of {list(wanted)} (tokens, layers, width): "
                "capture the layers of this target and dataset."
            )


def write_state_files(states: HiddenStates, rows: TokenizedRows, folder: Path, watcher: Watcher | None = None) -> StateFiles:
    """Write a capture in the layout of speculators; rows that are there already stay. Raises `NotEnoughDisk`, `Cancelled`."""
    watcher = watcher or Unwatched()
    files = StateFiles(folder, rows, len(states.taps) + 1, states.hidden_size)
    files.prepare()
    missing = files.missing()
    for done, row in enumerate(missing, 1):
        stop_if_cancelled(watcher)
        files.write(row, states.row(row))
        watcher.progress(Progress("write hidden states", len(rows) - len(missing) + done, len(rows), "rows"))
    return files


def rows_of(files: StateFiles) -> Iterator[Tensor]:
    """The states of all rows in order, each checked; raises `StaleHiddenStates`."""
    return (files.read(row) for row in range(len(files.rows)))


def gather(files: StateFiles, target: TargetModel, taps: Sequence[int], folder: Path, watcher: Watcher | None = None) -> HiddenStates:
    """Make the flat capture that training reads (`folder`, made new) from state files of the same taps, wherever these came from.

    Every row is checked. Raises `StaleHiddenStates`, `NotEnoughDisk`, `Cancelled`; then the folder is gone.
    """
    watcher = watcher or Unwatched()
    rows = files.rows
    layers = tuple(taps) if taps[-1] == target.depth else (*taps, target.depth)
    check_disk(bytes_needed(rows.tokens, len(layers), target.hidden_size), folder.parent)
    folder.mkdir(parents=True)
    try:
        with (folder / STATES).open("wb") as flat, (folder / CHOICES).open("wb") as chosen:
            for row, states in enumerate(rows_of(files)):
                stop_if_cancelled(watcher)
                flat.write(states[:, : len(layers)].contiguous().view(torch.uint16).numpy().tobytes())
                chosen.write(target.choices(states[:, -1].float()).to(torch.int32).numpy().tobytes())
                watcher.progress(Progress("gather hidden states", row + 1, len(rows), "rows"))
        seal(folder, rows, layers, taps, target.hidden_size)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return HiddenStates.open(folder, rows)
