"""The target's hidden states over a dataset, captured once and kept in one flat file beside the target's own choices.

One file with offsets, not one file per row: a training step reads its sixteen rows in under a millisecond. Every read
is a plain file read rather than a mapping, so that the cache does not count as this process's memory. It knows nothing of drafters.
"""

import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import torch
import xxhash
from numpy.typing import NDArray
from torch import Tensor

from core.drafter.dataset import TokenizedRows
from core.drafter.lanes import Lanes
from core.drafter.target import TargetModel
from core.errors import InputError
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled

BATCH_TOKENS = 1_024
"""Padded tokens of one pass: more fall out of the processor's cache (4 x 256: 21.0 k tokens/s, 16 x 256: 18.9 k, demo target)."""

STATES, CHOICES, ABOUT = "states.bf16", "choices.i32", "about.json"
PLAN, MARKS = "plan.json", "captured.u8"
"""What a capture under way is of, and a byte per row, 1 where its states are on the disk."""

MARK_EVERY = 10.0
"""Seconds between two syncs of what was captured: as much is done again after a kill."""


class NotEnoughDisk(InputError):
    """The hidden states would not fit on the disk."""


class StaleHiddenStates(InputError):
    """Captured states that are incomplete or belong to other rows, layers or another target."""


def bytes_needed(tokens: int, layers: int, hidden_size: int) -> int:
    """Disk a capture takes, in bytes: per token one bfloat16 vector for each layer and one int32 choice."""
    return tokens * (layers * hidden_size * 2 + 4)


@dataclass(frozen=True)
class HiddenStates:
    """States of every token of a dataset, open for reading; close it (or use it as a context) when done."""

    folder: Path
    layers: tuple[int, ...]
    """Which states are stored, counted from the embedding output (0); the last one is always the one before the final norm."""
    taps: tuple[int, ...]
    """Those the drafter is fed with; a subset of `layers`."""
    hidden_size: int
    offsets: NDArray[np.int64]
    """[rows + 1]"""
    choices: NDArray[np.int32]
    """[tokens]: the target's most probable next token after each token."""
    _file: int

    @classmethod
    def open(cls, folder: Path, rows: TokenizedRows) -> "HiddenStates":
        """The states captured into `folder`; raises `StaleHiddenStates` when they are not of exactly these rows."""
        try:
            about = json.loads((folder / ABOUT).read_text())
            ids = np.fromfile(folder / "ids.i32", np.int32)
            choices = np.fromfile(folder / CHOICES, np.int32)
            size = (folder / STATES).stat().st_size
        except (OSError, ValueError) as error:
            raise StaleHiddenStates(f"{folder} holds no whole capture of hidden states; capture them again.") from error
        layers = tuple(about["layers"])
        if not np.array_equal(ids, rows.ids) or about["offsets"] != rows.offsets.tolist():
            raise StaleHiddenStates(f"{folder} was captured from other rows than those in {rows.path}; capture again.")
        if size != rows.tokens * len(layers) * about["hidden_size"] * 2 or len(choices) != rows.tokens:
            raise StaleHiddenStates(f"{folder} is cut off: {size} bytes do not hold {rows.tokens} tokens; capture again.")
        file = os.open(folder / STATES, os.O_RDONLY)
        return cls(folder, layers, tuple(about["taps"]), about["hidden_size"], rows.offsets, choices, file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the captured states stay."""
        os.close(self._file)

    def row(self, index: int) -> Tensor:
        """One row as speculators lays it out: [tokens, taps + 1, hidden] bfloat16, the last slot before the final norm."""
        tokens = int(self.offsets[index + 1] - self.offsets[index])
        block = np.zeros((1, tokens, len(self.layers) * self.hidden_size), np.uint16)
        self._read(index, block[0])
        states = torch.from_numpy(block).view(torch.bfloat16).view(tokens, len(self.layers), self.hidden_size)
        return states[:, [self.layers.index(layer) for layer in (*self.taps, self.layers[-1])]]

    def features(self, rows: Sequence[int], lengths: Sequence[int]) -> Tensor:
        """The taps of the first `lengths[i]` tokens of each row, right-padded with zeros: [rows, max(lengths), taps * hidden] bfloat16."""
        # The taps come first in the file; a last state that is no tap follows them.
        return self.beginnings(rows, lengths)[..., : len(self.taps) * self.hidden_size]

    def beginnings(self, rows: Sequence[int], lengths: Sequence[int]) -> Tensor:
        """As `features`, of all that is stored: [rows, max(lengths), layers * hidden], the state before the final norm at the end."""
        block = np.zeros((len(rows), max(lengths), len(self.layers) * self.hidden_size), np.uint16)
        for place, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            self._read(row, block[place, :length])
        return torch.from_numpy(block).view(torch.bfloat16)

    def _read(self, row: int, into: NDArray[np.uint16]) -> None:
        """Fill `into` [tokens, layers * hidden] from the start of a row."""
        width = len(self.layers) * self.hidden_size * 2
        got = os.preadv(self._file, [into.data], int(self.offsets[row]) * width)
        if got != into.nbytes:
            raise StaleHiddenStates(f"{self.folder} ends inside row {row}; capture the hidden states again.")


def capture(rows: TokenizedRows, target: TargetModel, taps: Sequence[int], folder: Path, watcher: Watcher | None = None) -> HiddenStates:
    """Run the target over every row and write its states at `taps` and before the final norm into `folder`.

    Rows are batched by length and padded on the right. A capture of the same rows, layers and target that lies there is opened, or goes
    on where it was interrupted; another one is replaced. Raises `NotEnoughDisk` before any work, and `Cancelled`.
    """
    watcher = watcher or Unwatched()
    layers = tuple(taps) if taps[-1] == target.depth else (*taps, target.depth)
    _check_ids(rows, target)
    plan = json.dumps([list(layers), list(taps), target.fingerprint, xxhash.xxh3_128_hexdigest(np.ascontiguousarray(rows.ids).data)])
    begun = (folder / PLAN).is_file() and (folder / PLAN).read_text() == plan
    if begun and (folder / ABOUT).is_file():
        return HiddenStates.open(folder, rows)
    needed = bytes_needed(rows.tokens, len(layers), target.hidden_size)
    there = sum(file.stat().st_blocks * 512 for file in folder.iterdir()) if folder.is_dir() else 0
    check_disk(needed - there, folder.parent)
    if not begun:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / PLAN).write_text(plan)
    _run(rows, target, layers, folder, watcher)
    seal(folder, rows, layers, taps, target.hidden_size)
    return HiddenStates.open(folder, rows)


def seal(folder: Path, rows: TokenizedRows, layers: Sequence[int], taps: Sequence[int], hidden_size: int) -> None:
    """Say what a capture is of, when its states and choices are written: a folder without this is not a whole capture."""
    rows.ids.tofile(folder / "ids.i32")
    about = {"layers": list(layers), "taps": list(taps), "hidden_size": hidden_size, "offsets": rows.offsets.tolist()}
    (folder / ABOUT).write_text(json.dumps(about))


def _run(rows: TokenizedRows, target: TargetModel, layers: tuple[int, ...], folder: Path, watcher: Watcher) -> None:
    """The passes: states and choices of each batch go to their rows' places in the files."""
    width = len(layers) * target.hidden_size * 2
    lengths = np.diff(rows.offsets)
    files = [os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o644) for name in (STATES, CHOICES, MARKS)]
    states_file, choices_file, marks_file = files

    def run(batch: NDArray[np.int64]) -> NDArray[np.int64]:
        """One pass; returns its rows. Every row has its own place in the files, so lanes do not meet."""
        ids = np.zeros((len(batch), int(lengths[batch].max())), np.int64)
        for place, row in enumerate(batch):
            ids[place, : lengths[row]] = rows.row(row)
        states = target.hidden_states(torch.from_numpy(ids), layers)
        chosen = target.choices(states[-1]).to(torch.int32).numpy()
        joined = torch.cat([state.to(torch.bfloat16) for state in states], -1).view(torch.uint16).numpy()
        for place, row in enumerate(batch):
            os.pwrite(states_file, joined[place, : lengths[row]].data, int(rows.offsets[row]) * width)
            os.pwrite(choices_file, chosen[place, : lengths[row]].tobytes(), int(rows.offsets[row]) * 4)
        return batch

    def mark() -> None:
        """Say of what was captured that it is there, once it is."""
        os.fsync(states_file)
        os.fsync(choices_file)
        os.pwrite(marks_file, marks.tobytes(), 0)

    try:
        marks = np.zeros(len(rows), np.uint8)
        marks[:] = np.frombuffer(os.pread(marks_file, len(rows), 0).ljust(len(rows), b"\0"), np.uint8)
        done, marked = int(lengths[marks == 1].sum()), time.monotonic()
        with Lanes() as lanes:
            for batch in lanes.map(run, [batch for batch in _batches(lengths) if not marks[batch].all()]):
                done += int(lengths[batch][marks[batch] == 0].sum())
                marks[batch] = 1
                watcher.progress(Progress("capture hidden states", done, rows.tokens, "tokens"))
                stop = watcher.cancelled()
                if stop or time.monotonic() - marked >= MARK_EVERY:
                    mark()
                    marked = time.monotonic()
                if stop:
                    stop_if_cancelled(watcher)
        mark()
    finally:
        for file in files:
            os.close(file)


def _batches(lengths: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Row numbers in batches of similar length, each at most `BATCH_TOKENS` padded tokens (or one row)."""
    order = np.argsort(lengths, kind="stable")
    batches = []
    start = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or (end + 1 - start) * lengths[order[end]] > BATCH_TOKENS:
            batches.append(order[start:end])
            start = end
    return batches


def _check_ids(rows: TokenizedRows, target: TargetModel) -> None:
    """Refuse ids the target has no embedding for: the dataset was made for another target."""
    vocabulary = int(target.config.vocab_size)
    if rows.tokens and int(rows.ids.max()) >= vocabulary:
        raise StaleHiddenStates(
            f"{rows.path} holds token id {int(rows.ids.max())}, but {target.path} has {vocabulary} tokens: tokenize for this target."
        )


def check_disk(needed: int, parent: Path) -> None:
    """Refuse a capture for which `parent`'s disk has no room."""
    place = next(folder for folder in (parent, *parent.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    if needed > free:
        raise NotEnoughDisk(
            f"The hidden states need {needed / 1e9:.1f} GB in {place}, where {free / 1e9:.1f} GB are free: make room, or use fewer rows."
        )
