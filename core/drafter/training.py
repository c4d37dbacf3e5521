"""Trains a DFlash drafter beside a frozen target: capture the target's states, then one loop of AdamW steps.

Read `train` top to bottom for the whole of it. It knows nothing about runs, screens or how a dataset was made.
"""

import math
import shutil
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import torch
import xxhash
from torch import Tensor

from core.drafter.batches import AnchorBatches, Batch
from core.drafter.checkpoint import save_drafter, shape_for
from core.drafter.dataset import TokenizedRows
from core.drafter.hidden_states import HiddenStates, capture
from core.drafter.loss import acceptance_estimate, draft_loss
from core.drafter.model import DraftModel
from core.drafter.settings import TrainSettings
from core.drafter.target import TargetEnds, TargetModel
from core.errors import InputError, MixdownError
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled


class OutputExists(InputError):
    """The drafter's folder is there already."""


class TrainingDiverged(MixdownError):
    """The loss is no number any more."""


@dataclass(frozen=True)
class TrainResult:
    """What a training made. Seconds are wall clock."""

    path: Path
    steps: int
    seconds: float
    """of training alone"""
    capture_seconds: float
    loss: float
    """mean of the last 20 steps"""
    parameters: int
    epochs: float
    validation: dict[str, float] = field(default_factory=dict)
    """estimated acceptance length on rows kept out of training, by source, and under "all" """

    def to_json(self) -> dict[str, object]:
        """The fields, JSON-ready."""
        return {**vars(self), "path": str(self.path)}


def train(data: Path, target: Path, out: Path, settings: TrainSettings | None = None, watcher: Watcher | None = None) -> TrainResult:
    """Train a drafter for the target in folder `target` on the dataset in folder `data`, and write it to the new folder `out`.

    The hidden states lie beside `out` while it runs. `out` appears whole at the end or not at all; `Cancelled` leaves nothing. Raises
    `OutputExists`, `DatasetUnusable`, `TargetUnusable`, `BadSettings`, `NotEnoughDisk`, and `TrainingDiverged`.
    """
    settings, watcher = settings or TrainSettings(), watcher or Unwatched()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutputExists(f"{out} exists already: choose another folder, or remove it first.")
    rows = TokenizedRows.load(data)
    verifier = TargetModel.load(target)
    shape = shape_for(verifier, settings)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}. Choose another folder.") from error
    try:
        began = time.monotonic()
        with capture(rows, verifier, shape.target_layers, work / "states", watcher) as states:
            captured = time.monotonic() - began
            model = DraftModel(shape, settings.seed)
            fitted = fit(model, verifier.ends, rows, states, settings, watcher)
        made = work / "drafter"
        made.mkdir()
        result = TrainResult(out, capture_seconds=captured, parameters=sum(part.numel() for part in model.parameters()), **vars(fitted))
        state = {**result.to_json(), "settings": settings.to_json(), "data": str(data), "target": str(target)}
        save_drafter(made, model, verifier, {name: value for name, value in state.items() if name != "path"})
        if (data / "heldout.parquet").is_file():
            shutil.copyfile(data / "heldout.parquet", made / "heldout.parquet")
        if out.exists():
            out.rmdir()  # empty, as checked above
        made.rename(out)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return result


@dataclass(frozen=True)
class Fitted:
    """How the loop ended."""

    steps: int
    seconds: float
    loss: float
    epochs: float
    validation: dict[str, float]


def fit(
    model: DraftModel, ends: TargetEnds, rows: TokenizedRows, states: HiddenStates, settings: TrainSettings, watcher: Watcher | None = None
) -> Fitted:
    """Train `model` in place until the steps or the seconds are used up."""
    watcher = watcher or Unwatched()
    kept_out = validation_rows(rows, settings)
    shared = {
        "conversations": settings.conversations,
        "anchors": settings.anchors,
        "block_size": settings.block_size,
        "seed": settings.seed,
    }
    batches = AnchorBatches(rows, states, [row for row in range(len(rows)) if row not in kept_out], **shared)
    optimizer = torch.optim.AdamW(
        model.parameters(), settings.learning_rate, settings.betas, weight_decay=settings.weight_decay, fused=True
    )
    validation: dict[str, float] = {}
    losses: list[float] = []
    began = last = time.monotonic()
    step = 0
    model.train()
    while (done := _share_done(step, time.monotonic() - began, settings)) < 1:
        stop_if_cancelled(watcher)
        rate = settings.learning_rate * min(1.0, (step + 1) / settings.warmup_steps) * 0.5 * (1 + math.cos(math.pi * done))
        for group in optimizer.param_groups:
            group["lr"] = rate
        batch = batches.batch(step)
        drafted = draft(model, ends, batch)
        loss = draft_loss(drafted, batch.choices, batch.valid, weights=settings.weights, alpha=settings.alpha, gamma=settings.gamma)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        losses.append(loss.item())
        if not math.isfinite(losses[-1]):
            raise TrainingDiverged(
                f"The loss became {losses[-1]} at step {step + 1}: train again with a smaller learning rate than {settings.learning_rate}."
            )
        step += 1
        now = time.monotonic()
        figures = {"step": step, "seconds": now - began, "loss": losses[-1], "learning_rate": rate}
        watcher.metric({**figures, "tokens_per_second": len(drafted) / (now - last), **slot_figures(drafted, batch)})
        watcher.progress(_progress(step, now - began, settings))
        last = now
        if kept_out and step % settings.validate_every == 0:
            validation = _validate(model, ends, AnchorBatches(rows, states, sorted(kept_out), **shared), rows, step, watcher)
    if kept_out:
        validation = _validate(model, ends, AnchorBatches(rows, states, sorted(kept_out), **shared), rows, step, watcher)
    model.eval()
    recent = losses[-20:]
    return Fitted(step, time.monotonic() - began, sum(recent) / max(1, len(recent)), step / batches.per_epoch, validation)


def draft(model: DraftModel, ends: TargetEnds, batch: Batch) -> Tensor:
    """The drafter's logits for the valid slots of a batch, [valid slots, vocabulary], in the order of `batch.valid`."""
    slots = model.shape.block_size
    tokens = torch.full((*batch.anchors.shape, slots), model.shape.mask_token_id)
    tokens[..., 0] = batch.committed
    positions = batch.anchors[..., None] + torch.arange(slots)
    states = model(ends.embed(tokens), positions, model.context(batch.features.float()), batch.anchors)
    logits: Tensor = ends.head(states[..., 1:, :][batch.valid])
    return logits


@torch.no_grad()
def slot_figures(logits: Tensor, batch: Batch) -> dict[str, float]:
    """Estimated acceptance length and the accuracy of each drafted slot, from `draft`'s logits."""
    correct = torch.zeros_like(batch.valid).masked_scatter_(batch.valid, logits.argmax(-1) == batch.choices[batch.valid])
    right, all_ = correct.flatten(0, 1).sum(0).tolist(), batch.valid.flatten(0, 1).sum(0).tolist()
    accuracy = {f"accuracy_{slot + 1}": right[slot] / all_[slot] for slot in range(len(all_)) if all_[slot]}
    return {"acceptance": acceptance_estimate(correct, batch.valid), **accuracy}


def validation_rows(rows: TokenizedRows, settings: TrainSettings) -> set[int]:
    """Rows kept out of training: whole conversations, chosen by hash so that nothing else changes them."""
    wanted = min(settings.validation_rows, len(rows) // 20)
    ranked = sorted(range(len(rows)), key=lambda row: (xxhash.xxh3_64_intdigest(rows.row_ids[row].encode(), settings.seed), row))
    chosen = {rows.row_ids[row] for row in ranked[:wanted]}
    return {row for row in ranked if rows.row_ids[row] in chosen} if wanted else set()


@torch.no_grad()
def _validate(
    model: DraftModel, ends: TargetEnds, batches: AnchorBatches, rows: TokenizedRows, step: int, watcher: Watcher
) -> dict[str, float]:
    """Estimated acceptance length of the validation rows by source, weighted by row, and over "all"."""
    model.eval()
    found: dict[str, list[float]] = {}
    for batch in batches.in_order():
        logits = draft(model, ends, batch)
        correct = torch.zeros_like(batch.valid).masked_scatter_(batch.valid, logits.argmax(-1) == batch.choices[batch.valid])
        for place, row in enumerate(batch.rows):
            found.setdefault(rows.sources[row], []).append(acceptance_estimate(correct[place], batch.valid[place]))
    model.train()
    by_source = {source: _mean(values) for source, values in sorted(found.items())}
    figures = {"all": _mean([value for values in found.values() for value in values]), **by_source}
    watcher.metric({"step": step, **{f"validation/{name}": value for name, value in figures.items()}})
    return figures


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def _share_done(step: int, seconds: float, settings: TrainSettings) -> float:
    """How much of the training is over, 0 to 1: by time or by steps, whichever is further."""
    by_time = seconds / settings.max_seconds if settings.max_seconds else 0.0
    by_steps = step / settings.max_steps if settings.max_steps else 0.0
    return min(1.0, max(by_time, by_steps))


def _progress(step: int, seconds: float, settings: TrainSettings) -> Progress:
    """Counted in steps where these end the training, else in seconds."""
    if settings.max_steps:
        return Progress("train", step, settings.max_steps, "steps")
    return Progress("train", min(int(seconds), int(settings.max_seconds or 0)), int(settings.max_seconds or 0), "seconds", {"steps": step})
