"""The target's hidden states over a dataset, from wherever they come: this process, a folder of state files, or a server.

Training reads one flat file; what it cost to make can be kept beside it as state files, which speculators reads too and which are never
made twice. It knows no drafter.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xxhash

from core.drafter.dataset import TokenizedRows
from core.drafter.hidden_states import ABOUT as SEALED
from core.drafter.hidden_states import BATCH_TOKENS, HiddenStates, StaleHiddenStates, capture, check_disk
from core.drafter.hidden_states import bytes_needed as flat_bytes
from core.drafter.state_files import StateFiles, gather
from core.drafter.state_server import StateServer, capture_from_server
from core.drafter.target import TargetModel
from core.runs.files import read_json, write_json
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled

ABOUT = "states.json"
"""In a folder of state files: which states of which target they are."""


@dataclass(frozen=True)
class StatesFrom:
    """Where a training takes states from, and whether they stay."""

    folder: Path | None = None
    """State files are kept here and taken from here; None: nothing is kept (from a server: only until the training has ended well)."""
    server: str | None = None
    """A vLLM server with the hidden-states connector; None: the target runs in this process."""
    timeout: float = 120.0
    """Seconds to wait for one answer of the server."""
    requests: int = 8
    """Asked of the server at a time."""


def obtain(
    rows: TokenizedRows, target: TargetModel, taps: Sequence[int], flat: Path, source: StatesFrom, kept: Path, watcher: Watcher
) -> HiddenStates:
    """The states of all rows in the folder `flat`, as training reads them; made unless they are there.

    State files of a folder or a server go into `source.folder`, else into `kept`; what is there already is not made again. Both the files
    and the flat copy must fit the disk. Raises `NotEnoughDisk`, `StaleHiddenStates`, `ServerPaused`, `ServerUnusable`, `Cancelled`.
    """
    if source.folder is None and source.server is None:
        return capture(rows, target, taps, flat, watcher)
    if (flat / SEALED).is_file():
        return HiddenStates.open(flat, rows)  # of a training that goes on
    shutil.rmtree(flat, ignore_errors=True)  # a copy that was cut off
    files = state_files(source.folder or kept, rows, target, taps)
    check_disk(files.bytes_needed() + flat_bytes(rows.tokens, len(_layers(target, taps)), target.hidden_size), files.folder.parent)
    fill(files, target, taps, source, watcher)
    return gather(files, target, taps, flat, watcher)


def fill(files: StateFiles, target: TargetModel, taps: Sequence[int], source: StatesFrom, watcher: Watcher) -> None:
    """Make the state files that are missing, by the server where there is one."""
    if source.server is not None:
        capture_from_server(files, StateServer(source.server.rstrip("/").removesuffix("/v1"), source.timeout), source.requests, watcher)
    else:
        capture_to_files(files, target, taps, watcher)


def state_files(folder: Path, rows: TokenizedRows, target: TargetModel, taps: Sequence[int]) -> StateFiles:
    """The state files in a folder, which is made and marked where it is new.

    Raises `StaleHiddenStates` when it holds states of another target or of other layers (their shape would not tell), or anything else.
    """
    wanted: dict[str, Any] = {"target": _identity(target), "target_layers": list(taps)}
    found = read_json(folder / ABOUT)
    if found is None:
        if any(folder.glob("hs_*.safetensors")):
            raise StaleHiddenStates(
                f"{folder} holds hidden states, but no {ABOUT} that says of which target and layers: write "
                f"{json.dumps(wanted)} into it if that is what they are, or choose another folder."
            )
        if folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir()):
            raise StaleHiddenStates(f"{folder} holds other files than hidden states: choose a new or an empty folder.")
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / ABOUT, wanted)
    elif found != wanted:
        what = "layers " + str(found.get("target_layers")) if found.get("target") == wanted["target"] else "another target"
        raise StaleHiddenStates(f"{folder} holds the hidden states of {what} (wanted: layers {list(taps)}): choose another folder.")
    return StateFiles(folder, rows, len(taps) + 1, target.hidden_size)


def capture_to_files(files: StateFiles, target: TargetModel, taps: Sequence[int], watcher: Watcher | None = None) -> None:
    """Run the target over the rows that are missing, batched by length and padded on the right; each is kept as soon as it is known.

    Raises `NotEnoughDisk` before any work, `Cancelled`; then the rows that came stay.
    """
    watcher = watcher or Unwatched()
    files.prepare()
    missing = sorted(files.missing(), key=lambda row: (len(files.rows.row(row)), row))
    layers, came = (*taps, target.depth), len(files.rows) - len(missing)
    start = 0
    for end in range(1, len(missing) + 1):
        if end < len(missing) and (end + 1 - start) * len(files.rows.row(missing[end])) <= BATCH_TOKENS:
            continue
        stop_if_cancelled(watcher)
        batch = missing[start:end]
        ids = np.zeros((len(batch), len(files.rows.row(batch[-1]))), np.int64)
        for place, row in enumerate(batch):
            ids[place, : len(files.rows.row(row))] = files.rows.row(row)
        states = torch.stack(target.hidden_states(torch.from_numpy(ids), layers), 2)
        for place, row in enumerate(batch):
            files.write(row, states[place, : len(files.rows.row(row))])
        came += len(batch)
        start = end
        watcher.progress(Progress("capture hidden states", came, len(files.rows), "rows"))


def forget(folder: Path) -> None:
    """Remove state files that were kept only until a training had ended well."""
    shutil.rmtree(folder, ignore_errors=True)


def _layers(target: TargetModel, taps: Sequence[int]) -> tuple[int, ...]:
    return tuple(taps) if taps[-1] == target.depth else (*taps, target.depth)


def _identity(target: TargetModel) -> dict[str, Any]:
    """What tells targets apart without reading all of their weights: architecture, sizes, and of every weight file size and end."""
    config = target.config
    return {
        "architecture": type(target.model).__name__,
        "hidden_size": target.hidden_size,
        "layers": target.depth,
        "vocabulary": int(config.vocab_size),
        "weights": {path.name: _fingerprint(path) for path in sorted(target.path.glob("*.safetensors"))},
    }


def _fingerprint(path: Path) -> str:
    """Size and hash of the last megabyte: training a target further changes every part of it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - 1_000_000))
        return f"{size}:{xxhash.xxh3_64_hexdigest(file.read())}"
