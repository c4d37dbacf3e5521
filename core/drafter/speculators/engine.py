"""Trains a drafter with `speculators.train`: states, run.yaml, its own check, its process, its checkpoints, and then a folder like ours.

Read `train_with_speculators` top to bottom for the whole of it. While it runs everything lies in a hidden folder beside `out`; when it was
stopped or failed after a checkpoint that folder stays, and the same training started again goes on there.
"""

import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.drafter.dataset import DatasetUnusable, TokenizedRows
from core.drafter.settings import BadSettings, TrainSettings, checked_target_layers
from core.drafter.speculators.check import Checked, RefusedSettings, check
from core.drafter.speculators.checkpoints import adopt_interrupted, chosen, make_drafter, numbered
from core.drafter.speculators.command import WIDE, shown_commands, train_command
from core.drafter.speculators.log import EpochBegan, Saved, Step, Validated, read_line
from core.drafter.speculators.process import Ended, failure, follow
from core.drafter.speculators.run_file import Paths
from core.drafter.speculators.settings import ENDLESS, SpeculatorsSettings
from core.drafter.speculators.written import write_run_file
from core.drafter.state_capture import StatesFrom, fill, forget, state_files
from core.drafter.target import TargetModel
from core.drafter.training import OutputExists
from core.errors import InputError
from core.runs.files import read_json, write_json
from core.watch import Cancelled, Progress, Unwatched, Watcher, stop_if_cancelled

SAVING = 110.0
"""Seconds it gets to write the checkpoint of an interrupt; it ends by itself after 120."""

STAND = "stand.json"
"""In the work folder: how far the training came, for the next start."""


@dataclass(frozen=True)
class EngineResult:
    """What a training with speculators made. Seconds are wall clock."""

    path: Path
    engine: str
    algorithm: str
    version: str
    steps: int
    epochs: int
    """epochs whose checkpoint was written"""
    seconds: float
    """of the trainer, its start and its validation included"""
    capture_seconds: float
    loss: float | None
    """mean of the last 20 steps"""
    checkpoint: str
    """which of its checkpoints the drafter is"""
    stopped_early: bool
    """whether `max_seconds` ended it"""
    commands: list[str]
    """what was run, one line per node"""
    warnings: list[str] = field(default_factory=list)
    """what its own check warned of"""
    validation: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The fields, JSON-ready."""
        return {**vars(self), "path": str(self.path)}


def train_with_speculators(
    data: Path,
    target: Path,
    out: Path,
    settings: TrainSettings,
    engine: SpeculatorsSettings,
    states: StatesFrom | None = None,
    watcher: Watcher | None = None,
) -> EngineResult:
    """Train a drafter for the target in folder `target` on the dataset in folder `data`, and write it to the new folder `out`.

    On several nodes this starts the first one and waits for the others; `commands` says what to start there. Raises `OutputExists`,
    `DatasetUnusable`, `TargetUnusable`, `BadSettings`, `NoSpeculators`, `RefusedSettings`, `NotEnoughDisk`, the errors of the states,
    `TrainerFailed`, and `Cancelled`: then what it saved is kept for the next start.
    """
    states, watcher = states or StatesFrom(), watcher or Unwatched()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutputExists(f"{out} exists already: choose another folder, or remove it first.")
    work = work_folder(out)
    rows = TokenizedRows.load(data)
    _check_format(data)
    _check_lengths(rows, engine)
    paths = Paths(data.resolve(), target.resolve(), (states.folder or work / "states").resolve(), work / "checkpoints")
    try:
        run_file = write_run_file(work, settings, engine, paths, rows.tokens)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}. Choose another folder.") from error
    try:
        said = check(engine.python, run_file)
        if engine.gpus > said.devices:
            raise RefusedSettings(
                f"{engine.gpus} GPUs are asked for, but the torch of {engine.python} sees {said.devices} on this machine: ask for fewer, "
                "or 0 to train on the CPU."
            )
        verifier = TargetModel.load(target)
        taps = checked_target_layers(settings.target_layers, verifier.depth)
        began = time.monotonic()
        fill(state_files(paths.states, rows, verifier, taps), verifier, taps, states, watcher)
        captured = time.monotonic() - began
        del verifier  # the trainer loads what it needs of the target itself
        return _train(work, out, settings, engine, paths, run_file, rows.tokens, said, captured, watcher)
    except BaseException:
        if not numbered(paths.checkpoints) and not _began_states(paths.states, work):
            shutil.rmtree(work, ignore_errors=True)
        raise


def work_folder(out: Path) -> Path:
    """Where everything lies while it runs, and after it was stopped."""
    return out.parent / f".{out.name}.speculators"


def _train(
    work: Path,
    out: Path,
    settings: TrainSettings,
    engine: SpeculatorsSettings,
    paths: Paths,
    run_file: Path,
    tokens: int,
    said: Checked,
    captured: float,
    watcher: Watcher,
) -> EngineResult:
    stop_if_cancelled(watcher)
    following = _Following(watcher, settings, read_json(work / STAND) or {})
    log = work / "trainer.log"
    ended = follow(train_command(engine, run_file), WIDE, following.line, following.stop, log, SAVING)
    if watcher.cancelled():
        _keep(work, paths.checkpoints, following)
        raise Cancelled("The training was cancelled; what speculators saved is kept, and the same training goes on from there.")
    if ended.code != 0 and not ended.interrupted:
        _keep(work, paths.checkpoints, following)
        raise failure(ended, log)
    return _finish(work, out, settings, engine, paths, tokens, said, captured, following, ended)


def _finish(
    work: Path,
    out: Path,
    settings: TrainSettings,
    engine: SpeculatorsSettings,
    paths: Paths,
    tokens: int,
    said: Checked,
    captured: float,
    following: "_Following",
    ended: Ended,
) -> EngineResult:
    checkpoint = chosen(paths.checkpoints, interrupted=not following.enough)
    result = EngineResult(
        path=out,
        engine="speculators",
        algorithm=engine.algorithm,
        version=said.version,
        steps=following.step,
        epochs=len(numbered(paths.checkpoints)),
        seconds=following.seconds,
        capture_seconds=captured,
        loss=following.loss,
        checkpoint=checkpoint.name,
        stopped_early=ended.interrupted and not following.enough,
        commands=shown_commands(engine, out / "run.yaml"),
        warnings=said.warnings,
        validation=following.validation,
    )
    shared = {"settings": settings.to_json(), "speculators": engine.to_json(), "data": str(paths.data), "target": str(paths.target)}
    made = work / "drafter"
    shutil.rmtree(made, ignore_errors=True)
    state = {name: value for name, value in result.to_json().items() if name != "path"}
    make_drafter(checkpoint, made, state | shared, paths.data / "heldout.parquet")
    shutil.copyfile(work / "trainer.log", made / "trainer.log")
    states = out / "states" if paths.states.is_relative_to(work.resolve()) else paths.states  # the former are gone: to be made again there
    write_run_file(made, settings, engine, replace(paths, states=states, checkpoints=out / "checkpoints"), tokens)
    if out.exists():
        out.rmdir()  # empty, as checked above
    paths.checkpoints.rename(made / "checkpoints")
    made.rename(out)
    forget(work)
    return result


def _keep(work: Path, checkpoints: Path, following: "_Following") -> None:
    """Make what an interrupt saved something to go on from, and note how far it came."""
    adopt_interrupted(checkpoints, following.epoch, following.steps_of_epoch, following.step)
    if work.is_dir():
        write_json(work / STAND, following.stand())


def _began_states(states: Path, work: Path) -> bool:
    """Whether the work folder holds states that took time to make."""
    return states.is_relative_to(work.resolve()) and any(states.glob("hs_*.safetensors"))


def _check_format(data: Path) -> None:
    """It compares ids as tensors, and dies in the first step where the set was not saved to give them."""
    if (read_json(data / "state.json") or {}).get("_format_type") != "torch":
        raise DatasetUnusable(
            f"{data} was not saved in torch format, which speculators needs: tokenize with Mixdown, or `set_format('torch')`."
        )


def _check_lengths(rows: TokenizedRows, engine: SpeculatorsSettings) -> None:
    longest = int(np.diff(rows.offsets).max()) if len(rows) else 0
    if longest > engine.sequence:
        raise BadSettings(
            f"{rows.path} has a row of {longest:,} tokens, but a batch takes {engine.sequence:,}: speculators would cut it off. "
            f"Set sequence to at least {longest}."
        )


class _Following:
    """What the trainer's lines have said so far; turns them into points and progress."""

    def __init__(self, watcher: Watcher, settings: TrainSettings, before: dict[str, Any]) -> None:
        self._watcher, self._settings = watcher, settings
        self._total = settings.max_steps if (settings.max_steps or ENDLESS) < ENDLESS else None
        self._began = time.monotonic()
        self._spent = float(before.get("seconds", 0.0))
        self._losses: list[float] = []
        self.step, self.epoch, self._epochs = int(before.get("step", 0)), int(before.get("epoch", 0)), 0
        self.steps_of_epoch = int(before.get("steps_of_epoch", 0))
        self.validation: dict[str, float] = {}
        self.enough = False
        """Whether all steps were done, saved and validated: its own `max_steps` would let every further epoch do one more."""

    @property
    def seconds(self) -> float:
        """Of the trainer, earlier starts included."""
        return self._spent + time.monotonic() - self._began

    @property
    def loss(self) -> float | None:
        """Mean of the last steps."""
        recent = self._losses[-20:]
        return sum(recent) / len(recent) if recent else None

    def stand(self) -> dict[str, Any]:
        """What the next start needs to know."""
        return {"seconds": self.seconds, "step": self.step, "epoch": self.epoch, "steps_of_epoch": self.steps_of_epoch}

    def stop(self) -> bool:
        """Whether it should be asked to end: by the watcher, or because its time is over."""
        limit = self._settings.max_seconds
        over = limit is not None and self.step > 0 and self.seconds >= limit
        return over or self.enough or self._watcher.cancelled()

    def line(self, text: str) -> None:
        """Take a line of its log."""
        found = read_line(text)
        match found:
            case EpochBegan(epoch, epochs):
                self._epochs = epochs
                self._watcher.progress(Progress(f"train epoch {epoch} of {epochs}", self.step, self._total, "steps"))
            case Step(step, epoch, point) if not self.enough:
                if epoch != self.epoch:
                    self.epoch, self.steps_of_epoch = epoch, 0
                self.step, self.steps_of_epoch = step, self.steps_of_epoch + 1
                if isinstance(loss := point.get("loss"), float):
                    self._losses.append(loss)
                self._watcher.metric({**point, "seconds": self.seconds})
                self._watcher.progress(Progress(f"train epoch {epoch + 1} of {self._epochs}", step, self._total, "steps"))
            case Validated(_, point):
                self.validation = {
                    name.removeprefix("validation/"): float(value) for name, value in point.items() if name.startswith("validation/")
                }
                self._watcher.metric({"step": self.step, **point})
                self.enough = self._total is not None and self.step >= self._total
            case Saved():
                self._watcher.progress(Progress("save a checkpoint", self.step, self._total, "steps"))
            case _:
                pass
