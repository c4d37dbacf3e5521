"""Trains a DFlash drafter beside a frozen target: capture the target's states, then one loop of Muon and AdamW steps.

Read `train` top to bottom for the whole of it. It knows nothing about runs, screens or how a dataset was made.
"""

import math
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
import xxhash
from torch import Tensor

from core.drafter.accuracy import SlotCounts
from core.drafter.batches import PART, AnchorBatches, Batch
from core.drafter.checkpoint import save_drafter, shape_for
from core.drafter.dataset import DatasetUnusable, TokenizedRows
from core.drafter.hidden_states import HiddenStates, capture
from core.drafter.lanes import SMALL, Lanes
from core.drafter.loss import draft_loss
from core.drafter.model import DraftModel, DraftShape
from core.drafter.ranks import ALONE, Ranks, together
from core.drafter.settings import TrainSettings
from core.drafter.target import TargetEnds, TargetModel
from core.errors import InputError, MixdownError
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled

LONG_SECONDS, LONG_STEPS = 30.0, 300
"""Below these a training is over before further processes have loaded."""


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
            with together(_processes(settings, shape), _peer, data, target, work / "states", settings) as ranks:
                fitted = fit(model, verifier.ends, rows, states, settings, watcher, ranks)
        made = work / "drafter"
        made.mkdir()
        result = TrainResult(out, capture_seconds=captured, parameters=sum(part.numel() for part in model.parameters()), **vars(fitted))
        state = {**result.to_json(), "settings": settings.to_json(), "data": str(data), "target": str(target)}
        save_drafter(made, model, verifier, {name: value for name, value in state.items() if name != "path"})
        if (data / "heldout.parquet").is_file():
            shutil.copyfile(data / "heldout.parquet", made / "heldout.parquet")
        for file in made.iterdir():
            with file.open("rb") as written:
                os.fsync(written.fileno())
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


def _processes(settings: TrainSettings, shape: DraftShape) -> int:
    """As many as asked for, else as pay: one for a short training or a large model, whose kernels keep every thread busy."""
    if settings.processes:
        return settings.processes
    short = (settings.max_steps or LONG_STEPS) < LONG_STEPS or (settings.max_seconds or LONG_SECONDS) < LONG_SECONDS
    if short or shape.hidden_size >= SMALL:
        return 1
    return min(torch.get_num_threads(), -(-settings.conversations // PART))


def _peer(ranks: Ranks, data: Path, target: Path, states: Path, settings: TrainSettings) -> None:
    """The training of a process that does not lead."""
    rows, verifier = TokenizedRows.load(data), TargetModel.load(target)
    with HiddenStates.open(states, rows) as opened:
        fit(DraftModel(shape_for(verifier, settings), settings.seed), verifier.ends, rows, opened, settings, ranks=ranks)


def fit(
    model: DraftModel,
    ends: TargetEnds,
    rows: TokenizedRows,
    states: HiddenStates,
    settings: TrainSettings,
    watcher: Watcher | None = None,
    ranks: Ranks = ALONE,
) -> Fitted:
    """Train `model` in place until the steps or the seconds are used up; every process of `ranks` ends with the same weights.

    The process that leads watches the clock, measures and reports; what it says in each step holds for all.
    """
    watcher = watcher or Unwatched()
    kept_out = validation_rows(rows, settings)
    batches = _batches(rows, states, [row for row in range(len(rows)) if row not in kept_out], settings)
    if not len(batches.usable):
        raise DatasetUnusable(f"{rows.path}: no row has two supervised tokens in a row, so there is nothing to draft; check the loss mask.")
    measured = _batches(rows, states, sorted(kept_out), settings)
    optimizers, shares = _optimizers(model, settings, ranks)
    validation: dict[str, float] = {}
    losses: list[float] = []
    ranks.total(torch.zeros(1))  # everybody has loaded: the clock starts
    began = last = time.monotonic()
    step, done = 0, 0.0
    with Lanes(-(-settings.conversations // PART // ranks.count)) as lanes:
        while done < 1:
            stop_if_cancelled(watcher)
            share = min(1.0, (step + 1) / max(1, settings.warmup_steps)) * 0.5 * (1 + math.cos(math.pi * done))
            for optimizer, peak in optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = peak * share
            parts = list(lanes.map(partial(_gradients, model, ends, settings), batches.step(step, ranks.rank, ranks.count)))
            done = _share_done(step + 1, time.monotonic() - began, settings)
            total = _together(parts, done if ranks.leads else 0.0, model, settings, ranks)
            done = total.done
            torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
            list(lanes.map(_step, [optimizer for optimizer, _ in optimizers]))
            ranks.share(shares)
            losses.append(total.loss / total.slots)
            if not math.isfinite(losses[-1]):
                raise TrainingDiverged(
                    f"The loss became {losses[-1]} at step {step + 1}: use a learning rate below {settings.learning_rate}."
                )
            step += 1
            if not ranks.leads:
                continue
            now = time.monotonic()
            figures = {
                "step": step,
                "seconds": now - began,
                "loss": losses[-1],
                "learning_rate": settings.learning_rate * share,
                "tokens_per_second": total.slots / (now - last),
            }
            watcher.metric({**figures, **total.counts.figures()})
            watcher.progress(_progress(step, now - began, settings))
            last = now
            if len(measured.usable) and (done >= 1 or step % settings.validate_every == 0):
                validation = _validate(model, ends, measured, rows, lanes)
                watcher.metric({"step": step, **{f"validation/{name}": value for name, value in validation.items()}})
    model.eval()
    recent = losses[-20:]
    return Fitted(step, time.monotonic() - began, sum(recent) / len(recent), step / batches.per_epoch, validation)


def _optimizers(
    model: DraftModel, settings: TrainSettings, ranks: Ranks
) -> tuple[list[tuple[torch.optim.Optimizer, float]], list[list[Tensor]]]:
    """This process's optimizers, each with its peak rate, and the matrices by the process that steps them.

    Muon has the matrices, AdamW the norms, which every process steps alike. A process on its own halves its matrices and steps both
    halves side by side.
    """
    matrices = sorted((parameter for parameter in model.parameters() if parameter.ndim == 2), key=Tensor.numel)
    vectors = [parameter for parameter in model.parameters() if parameter.ndim != 2]
    shares: list[list[Tensor]] = [list(matrices[rank :: ranks.count]) for rank in range(ranks.count)]
    own = shares[ranks.rank]
    muons = [
        torch.optim.Muon(
            half, lr=0.0, weight_decay=settings.weight_decay, momentum=0.95, ns_steps=settings.muon_steps, adjust_lr_fn="match_rms_adamw"
        )
        for half in ((own[::2], own[1::2]) if ranks.count == 1 else (own,))
    ]
    adamw = torch.optim.AdamW(vectors, lr=0.0, betas=settings.betas, weight_decay=settings.weight_decay, fused=True)
    return [*((muon, settings.learning_rate) for muon in muons), (adamw, settings.vector_rate)], shares


def _step(optimizer: torch.optim.Optimizer) -> None:
    optimizer.step()


def _batches(rows: TokenizedRows, states: HiddenStates, chosen: Sequence[int], settings: TrainSettings) -> AnchorBatches:
    """Batches of some rows, as the settings say."""
    return AnchorBatches(
        rows,
        states,
        chosen,
        conversations=settings.conversations,
        anchors=settings.anchors,
        block_size=settings.block_size,
        seed=settings.seed,
    )


def draft(model: DraftModel, ends: TargetEnds, batch: Batch) -> Tensor:
    """The drafter's logits for the valid slots of a batch, [valid slots, vocabulary], in the order of `batch.valid`."""
    slots = model.shape.block_size
    tokens = torch.full((*batch.anchors.shape, slots), model.shape.mask_token_id)
    tokens[..., 0] = batch.committed
    positions = batch.anchors[..., None] + torch.arange(slots)
    states = model(ends.embed(tokens), positions, model.context(batch.features.float()), batch.anchors)
    logits: Tensor = ends.head(states[..., 1:, :][batch.valid])
    return logits


@dataclass(frozen=True)
class _Part:
    """What one part of a batch adds to a step."""

    loss: float
    gradients: tuple[Tensor, ...]
    counts: SlotCounts


def _gradients(model: DraftModel, ends: TargetEnds, settings: TrainSettings, batch: Batch) -> _Part:
    """Loss, its gradients (sums over valid slots, in the order of the parameters) and accuracy of one part of a batch."""
    logits = draft(model, ends, batch)
    loss = draft_loss(logits, batch.choices, batch.valid, weights=settings.weights, alpha=settings.alpha, gamma=settings.gamma)
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    return _Part(loss.item(), gradients, SlotCounts.of(logits, batch.choices, batch.valid))


@dataclass(frozen=True)
class _Total:
    """A whole step over all processes."""

    loss: float
    slots: int
    counts: SlotCounts
    done: float


def _together(parts: Sequence[_Part], done: float, model: DraftModel, settings: TrainSettings, ranks: Ranks) -> _Total:
    """Sum the parts of all processes and set the model's gradients; one message, since each costs the same however short it is."""
    parameters = list(model.parameters())
    sizes = [parameter.numel() for parameter in parameters]
    slots = settings.block_size - 1
    # Counts stay exact in float32 up to 16 million blocks a step.
    flat = torch.zeros(sum(sizes) + 2 + SlotCounts.numbers(slots))
    for part in parts:
        figures = torch.tensor([part.loss, 0.0, *part.counts.flat()])
        flat += torch.cat([*(gradient.reshape(-1) for gradient in part.gradients), figures])
    flat[sum(sizes) + 1] = done
    gradients, figures = torch.split(ranks.total(flat), [sum(sizes), 2 + SlotCounts.numbers(slots)])
    loss, done, *numbers = figures.tolist()
    counts = SlotCounts.from_flat([round(number) for number in numbers])
    for parameter, gradient in zip(parameters, torch.split(gradients / sum(counts.valid), sizes), strict=True):
        parameter.grad = gradient.view_as(parameter)
    return _Total(loss, sum(counts.valid), counts, done)


def validation_rows(rows: TokenizedRows, settings: TrainSettings) -> set[int]:
    """Rows kept out of training: whole conversations, chosen by hash so that nothing else changes them."""
    wanted = min(settings.validation_rows, len(rows) // 20)
    ranked = sorted(range(len(rows)), key=lambda row: (xxhash.xxh3_64_intdigest(rows.row_ids[row].encode(), settings.seed), row))
    chosen = {rows.row_ids[row] for row in ranked[:wanted]}
    return {row for row in ranked if rows.row_ids[row] in chosen} if wanted else set()


@torch.no_grad()
def _counts_by_row(model: DraftModel, ends: TargetEnds, batch: Batch) -> list[tuple[int, SlotCounts]]:
    """Each row of a batch with its own counts."""
    logits = torch.split(draft(model, ends, batch), batch.valid.flatten(1).sum(1).tolist())
    return [(row, SlotCounts.of(logits[place], batch.choices[place], batch.valid[place])) for place, row in enumerate(batch.rows)]


def _validate(model: DraftModel, ends: TargetEnds, batches: AnchorBatches, rows: TokenizedRows, lanes: Lanes) -> dict[str, float]:
    """Estimated acceptance length of the validation rows by source, and over "all"; a block counts once."""
    found: dict[str, list[SlotCounts]] = {}
    for counted in lanes.map(partial(_counts_by_row, model, ends), batches.in_order()):
        for row, counts in counted:
            found.setdefault(rows.sources[row], []).append(counts)
    by_source = {source: SlotCounts.total(counts).acceptance for source, counts in sorted(found.items())}
    return {"all": SlotCounts.total(counts for part in found.values() for counts in part).acceptance, **by_source}


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
