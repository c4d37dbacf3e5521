"""The training loop: steps until the steps or the seconds are used up, measured, saved and stopped along the way.

Read `fit` top to bottom for the whole of it. It knows nothing about runs, screens or how a dataset was made.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch

from core.drafter.batches import PART, AnchorBatches
from core.drafter.dataset import DatasetUnusable, TokenizedRows
from core.drafter.gradients import Order, Total, add_up, part_of_step
from core.drafter.hidden_states import HiddenStates
from core.drafter.lanes import Lanes
from core.drafter.model import DraftModel
from core.drafter.optimizers import Optimizers, rate_share
from core.drafter.placement import Placement
from core.drafter.ranks import ALONE, Ranks
from core.drafter.settings import TrainSettings
from core.drafter.snapshots import load_snapshot, save_best, save_snapshot
from core.drafter.standing import BEST, LAST, Standing
from core.drafter.target import TargetEnds
from core.drafter.validation import ALL, validate, validation_rows
from core.errors import MixdownError
from core.watch import Cancelled, Progress, Unwatched, Watcher

RECENT = 20
"""Steps over which the loss is averaged at the end."""


class TrainingDiverged(MixdownError):
    """The loss is no number any more."""


@dataclass(frozen=True)
class Fitted:
    """How the loop ended."""

    steps: int
    seconds: float
    loss: float
    epochs: float
    validation: dict[str, float]
    best_step: int
    """the step after which the best acceptance was measured, 0 where none was"""


def fit(
    model: DraftModel,
    ends: TargetEnds,
    rows: TokenizedRows,
    states: HiddenStates,
    settings: TrainSettings,
    watcher: Watcher | None = None,
    ranks: Ranks = ALONE,
    folder: Path | None = None,
) -> Fitted:
    """Train `model` in place until the steps or the seconds are used up; every process of `ranks` ends with the same weights.

    With a `folder` checkpoints are kept there, and a training whose checkpoint lies there goes on from it: on a CPU with as many processes
    and threads its curve is the one it would have had. The process that leads watches the clock, measures, saves and reports; what it says
    in each step holds for all. Raises `Cancelled` (after a last checkpoint), `TrainingDiverged`, `NotSaved`.
    """
    kept_out = validation_rows(rows, settings)
    batches = _batches(rows, states, [row for row in range(len(rows)) if row not in kept_out], settings, measuring=False)
    if not len(batches.usable):
        raise DatasetUnusable(f"{rows.path}: no row has two supervised tokens in a row, so there is nothing to draft; check the loss mask.")
    place = Placement.of(settings)
    model, ends = place.put(model, ends)
    optimizers = Optimizers(model, settings, ranks)
    standing = Standing()
    if folder is not None and (folder / LAST).is_file():
        standing, weights, state, following = load_snapshot(folder / LAST)
        model.load_state_dict(weights)
        optimizers.load(state)
        if following is not None and following.shape == batches.following.shape:
            batches.following = following
        standing.done = _still_done(standing, settings)
    lead = _Lead(settings, watcher or Unwatched(), standing, folder) if ranks.leads else None
    measured = _batches(rows, states, sorted(kept_out), settings, measuring=True)
    work = partial(part_of_step, place.compiled(model, settings), ends, settings, place.precision)
    ranks.total(torch.zeros(1, device=place.device))  # everybody has loaded: the clock starts
    if lead:
        lead.start()
    with Lanes(place.lanes(-(-settings.conversations // PART // ranks.count))) as lanes:
        while standing.done < 1:
            share = rate_share(standing.step, standing.done, settings)
            optimizers.set_rates(share)
            parts = list(lanes.map(work, batches.step(standing.step, ranks.rank, ranks.count)))
            done, order = lead.decide() if lead else (0.0, Order.GO_ON)
            total = add_up(parts, done, order, model, settings, ranks)
            batches.follow(standing.step, total.behind)
            norm = optimizers.clip()
            loss = total.loss / total.slots
            if not math.isfinite(loss) or not math.isfinite(norm):
                raise TrainingDiverged(_diverged(standing.step + 1, loss, norm, settings, folder))
            optimizers.step(lanes)
            standing.step, standing.done = standing.step + 1, total.done
            standing.losses = [*standing.losses[1 - RECENT :], loss]
            if lead:
                lead.report(total, loss, share)
            if len(measured.usable) and (total.done >= 1 or standing.step % settings.validate_every == 0):
                enough = lead is not None and lead.measured(validate(model, ends, measured, rows, lanes), model)
                if float(ranks.total(torch.full((1,), float(enough), device=place.device))):
                    standing.done = 1.0
            if total.order is not Order.GO_ON and folder is not None:
                state = optimizers.state()
                if lead:
                    lead.save(model, state, batches.following)
            if total.order is Order.STOP:
                raise Cancelled("The run was cancelled.")
    model.eval()
    return Fitted(
        steps=standing.step,
        seconds=lead.seconds() if lead else 0.0,
        loss=sum(standing.losses) / len(standing.losses),
        epochs=standing.step / batches.per_epoch,
        validation=standing.validation,
        best_step=standing.best_step,
    )


class _Lead:
    """What only the process that leads does."""

    def __init__(self, settings: TrainSettings, watcher: Watcher, standing: Standing, folder: Path | None) -> None:
        self._settings, self._watcher, self._standing, self._folder = settings, watcher, standing, folder
        self._before = standing.seconds
        self._began = self._saved = self._last = 0.0

    def start(self) -> None:
        """Start the clock."""
        self._began = self._saved = self._last = time.monotonic()

    def seconds(self) -> float:
        """Of training so far, over all its parts."""
        return self._before + time.monotonic() - self._began

    def decide(self) -> tuple[float, Order]:
        """How much of the training is over after the step at hand, and what to do after it."""
        settings, step = self._settings, self._standing.step + 1
        done = _share_done(step, self.seconds(), settings)
        if self._watcher.cancelled():
            return done, Order.STOP
        due = settings.save_seconds is not None and time.monotonic() - self._saved >= settings.save_seconds
        due = due or (settings.save_steps is not None and step % settings.save_steps == 0)
        return done, Order.SAVE if due else Order.GO_ON

    def report(self, total: Total, loss: float, share: float) -> None:
        """Tell the watcher about a step."""
        settings, now, seconds = self._settings, time.monotonic(), self.seconds()
        figures = {
            "step": self._standing.step,
            "seconds": seconds,
            "loss": loss,
            "learning_rate": settings.learning_rate * share,
            "tokens_per_second": total.slots / (now - self._last),
        }
        self._last = now
        self._watcher.metric({**figures, **total.counts.figures()})
        # Counted in steps where these end the training, else in seconds.
        if settings.max_steps:
            self._watcher.progress(Progress("train", self._standing.step, settings.max_steps, "steps"))
        else:
            most = int(settings.max_seconds or 0)
            self._watcher.progress(Progress("train", min(int(seconds), most), most, "seconds", {"steps": self._standing.step}))

    def measured(self, validation: dict[str, float], model: DraftModel) -> bool:
        """Note a measurement; whether it is time to stop early."""
        standing = self._standing
        standing.validation = validation
        self._watcher.metric({"step": standing.step, **{f"validation/{name}": value for name, value in validation.items()}})
        if validation[ALL] > standing.best:
            standing.best, standing.best_step, standing.misses = validation[ALL], standing.step, 0
            if self._folder is not None:
                save_best(self._folder, standing, model.state_dict())
        else:
            standing.misses += 1
        return self._settings.patience is not None and standing.misses >= self._settings.patience

    def save(self, model: DraftModel, state: dict[str, torch.Tensor], following: torch.Tensor) -> None:
        """Keep a checkpoint."""
        if self._folder is not None:
            save_snapshot(self._folder, replace(self._standing, seconds=self.seconds()), model.state_dict(), state, following)
            self._saved = time.monotonic()


def _share_done(step: int, seconds: float, settings: TrainSettings) -> float:
    """How much of the training is over, 0 to 1: by time or by steps, whichever is further."""
    by_time = seconds / settings.max_seconds if settings.max_seconds else 0.0
    by_steps = step / settings.max_steps if settings.max_steps else 0.0
    return min(1.0, max(by_time, by_steps))


def _still_done(standing: Standing, settings: TrainSettings) -> float:
    """The same for a checkpoint, under settings that may have been changed since; in float32, as processes tell it each other."""
    if settings.patience is not None and standing.misses >= settings.patience:
        return 1.0
    return float(torch.tensor(_share_done(standing.step, standing.seconds, settings)))


def _batches(
    rows: TokenizedRows, states: HiddenStates, chosen: Sequence[int], settings: TrainSettings, *, measuring: bool
) -> AnchorBatches:
    """Batches of some rows, as the settings say; what is measured is always the target's own choice."""
    return AnchorBatches(
        rows,
        states,
        chosen,
        conversations=settings.conversations,
        anchors=settings.anchors,
        block_size=settings.block_size,
        seed=settings.seed,
        anywhere=settings.anywhere,
        tokens=settings.loss == "tokens" and not measuring,
        finals=settings.loss in ("cross_entropy", "kl") and not measuring,
    )


def _diverged(step: int, loss: float, norm: float, settings: TrainSettings, folder: Path | None) -> str:
    """What to say about a step that went wrong."""
    what = f"The loss became {loss}" if not math.isfinite(loss) else f"The norm of the gradients became {norm}"
    kept = folder is not None and (folder / LAST).is_file()
    then = "; the checkpoint before it is kept: resume with a lower rate." if kept else "."
    return f"{what} at step {step}: use a learning rate below {settings.learning_rate}{then}"


def best_weights(folder: Path) -> dict[str, torch.Tensor]:
    """The weights of the best measurement in a training's folder; raises `SnapshotUnusable`."""
    return load_snapshot(folder / BEST)[1]
