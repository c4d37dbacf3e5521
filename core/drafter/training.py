"""From a tokenized dataset to a DFlash drafter beside a frozen target: capture the target's states, run the loop, write the drafter.

It knows nothing about runs, screens or how a dataset was made; the loop itself is `core.drafter.loop`.
"""

import os
import shutil
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xxhash

from core.drafter.checkpoint import save_drafter
from core.drafter.dataset import TokenizedRows
from core.drafter.first_drafter import first_drafter
from core.drafter.hidden_states import HiddenStates
from core.drafter.loop import Fitted, TrainingDiverged, best_weights, fit
from core.drafter.model import DraftModel
from core.drafter.ranks import Ranks, together
from core.drafter.settings import TrainSettings
from core.drafter.standing import BEST
from core.drafter.state_capture import StatesFrom, forget, obtain
from core.drafter.target import TargetModel
from core.drafter.unfinished import STATES, OutputExists, unfinished_folder, workplace
from core.watch import Cancelled, Unwatched, Watcher

__all__ = ["OutputExists", "TrainResult", "TrainingDiverged", "follow", "train"]

BEST_FOLDER = "best"
"""In the drafter's folder: the drafter of the best measurement, where that was not the last one's."""


@dataclass(frozen=True)
class TrainResult:
    """What a training made. Seconds are wall clock, over all parts of a training that was interrupted."""

    path: Path
    steps: int
    seconds: float
    """of training alone"""
    capture_seconds: float
    """of this call; 0 where the states were there already"""
    loss: float
    """mean of the last 20 steps"""
    parameters: int
    epochs: float
    validation: dict[str, float] = field(default_factory=dict)
    """estimated acceptance length on rows kept out of training, by source, and under "all" """
    best_step: int = 0
    """the step after which that was best, 0 where it was never measured"""

    def to_json(self) -> dict[str, object]:
        """The fields, JSON-ready."""
        return {**vars(self), "path": str(self.path)}


def train(
    data: Path,
    target: Path,
    out: Path,
    settings: TrainSettings | None = None,
    watcher: Watcher | None = None,
    states_from: StatesFrom | None = None,
    *,
    resume: bool | None = None,
    ranks: Ranks | None = None,
) -> TrainResult:
    """Train a drafter for the target in folder `target` on the dataset in folder `data`, and write it to the new folder `out`.

    States and checkpoints lie in a hidden folder beside `out` while it runs (`core.drafter.unfinished`); what a stop or a kill leaves
    there is gone on from by the same call, at the step of its last checkpoint: `resume` None goes on where data, target and settings are
    the same, True demands it but lets rates, lengths and the like differ, False begins anew. `out` appears whole at the end or not at all.
    `ranks`: the processes of a launcher, this one leading (the others call `follow`); else `settings.processes` are started here.

    Raises `OutputExists`, `OutputBusy`, `NothingToResume`, `DatasetUnusable`, `TargetUnusable`, `BadSettings`, `DrafterUnusable` (warm
    start), `NotEnoughDisk`, `NotSaved`, `PeerLost`, `TrainingDiverged`, and `Cancelled`, which leaves a checkpoint.
    """
    settings, watcher = settings or TrainSettings(), watcher or Unwatched()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutputExists(f"{out} exists already: choose another folder, or remove it first.")
    rows = TokenizedRows.load(data)
    verifier = TargetModel.load(target)
    model = first_drafter(rows, verifier, settings)
    about = {"data": str(data), "target": str(target), "settings": settings.to_json(), "made_of": _made_of(rows, verifier, model)}
    with workplace(out, about, resume) as work:
        began = time.monotonic()
        kept = out.parent / f".{out.name}.states"
        source = states_from or StatesFrom()
        with obtain(rows, verifier, model.shape.target_layers, work / STATES, source, kept, watcher) as states:
            captured = time.monotonic() - began
            started = nullcontext(ranks) if ranks else together(settings.processes or 1, follow, data, target, out, settings)
            with started as all_ranks:
                all_ranks.wait()  # the others may open the states now
                fitted = fit(model, verifier.ends, rows, states, settings, watcher, all_ranks, work)
        result = TrainResult(out, capture_seconds=captured, parameters=sum(part.numel() for part in model.parameters()), **vars(fitted))
        state = {name: value for name, value in result.to_json().items() if name != "path"}
        _write(work, model, verifier, {**state, **{name: about[name] for name in ("settings", "data", "target")}}, fitted, settings)
        if (data / "heldout.parquet").is_file():
            shutil.copyfile(data / "heldout.parquet", work / "drafter" / "heldout.parquet")
        _publish(work / "drafter", out)
        forget(kept)
    return result


def follow(ranks: Ranks, data: Path, target: Path, out: Path, settings: TrainSettings) -> None:
    """The training of a process that does not lead; what ends it early is told by the one that does."""
    rows, verifier = TokenizedRows.load(data), TargetModel.load(target)
    model = first_drafter(rows, verifier, settings)
    work = unfinished_folder(out)
    ranks.wait()
    with HiddenStates.open(work / STATES, rows) as opened, suppress(Cancelled, TrainingDiverged):
        fit(model, verifier.ends, rows, opened, settings, ranks=ranks, folder=work)


def _made_of(rows: TokenizedRows, target: TargetModel, model: DraftModel) -> dict[str, str]:
    """What tells datasets, targets and first weights apart, whatever their folders are called."""
    data = xxhash.xxh3_128()
    for part in (rows.ids, rows.mask, rows.offsets):
        data.update(np.ascontiguousarray(part).data)
    data.update("\n".join((*rows.sources, *rows.row_ids)).encode())
    first = xxhash.xxh3_128()
    for weight in model.parameters():
        first.update(weight.detach().contiguous().view(torch.uint8).numpy().data)
    return {"data": data.hexdigest(), "target": target.fingerprint, "first weights": first.hexdigest()}


def _write(work: Path, model: DraftModel, target: TargetModel, state: dict[str, Any], fitted: Fitted, settings: TrainSettings) -> None:
    """The drafter in `work/drafter`, with the weights that the settings keep, and the best ones beside them where they are others."""
    made = work / "drafter"
    shutil.rmtree(made, ignore_errors=True)  # of an earlier part that was killed while it wrote
    made.mkdir()
    other_best = 0 < fitted.best_step < fitted.steps and (work / BEST).is_file()
    if other_best and settings.keep == "last":
        save_drafter(made, model, target, state)
        (made / BEST_FOLDER).mkdir()
        model.load_state_dict(best_weights(work))
        save_drafter(made / BEST_FOLDER, model, target, state | {"weights_of_step": fitted.best_step})
        return
    if other_best:
        model.load_state_dict(best_weights(work))
        state = state | {"weights_of_step": fitted.best_step}
    save_drafter(made, model, target, state)


def _publish(made: Path, out: Path) -> None:
    """Give the finished folder its name, once all of it is on the disk."""
    for file in made.rglob("*"):
        if file.is_file():
            with file.open("rb") as written:
                os.fsync(written.fileno())
    if out.exists():
        out.rmdir()  # empty, as checked before
    made.rename(out)
