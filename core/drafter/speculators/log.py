"""Reads the log of `speculators.train`: one line per step with its figures, and the words it says about epochs and checkpoints.

The figures become points of the same shape as those of the native engine. It knows only text.
"""

import re
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

_PAIR = re.compile(r"([A-Za-z][\w/]*)=([-+\w.]+)(?:,|\s|$)")
_POSITION = re.compile(r"position_(\d+)_acc")
_DEPTH = re.compile(r"full_acc_(\d+)")
_GIVEN = re.compile(r"cond_acc_(\d+)")
_EPOCH = re.compile(r"Training epoch (\d+)/(\d+) started")
_SAVED = re.compile(r"Checkpoint saved to (\S.*?)\s*(?:\w+\.py:\d+)?\s*$")

Point = dict[str, float | int | str]


@dataclass(frozen=True)
class Step:
    """One step of training."""

    step: int
    """Counted from 1 over all epochs."""
    epoch: int
    point: Point


@dataclass(frozen=True)
class Validated:
    """An epoch's validation."""

    epoch: int
    point: Point


@dataclass(frozen=True)
class EpochBegan:
    """`epoch` of `epochs`, counted from 1."""

    epoch: int
    epochs: int


@dataclass(frozen=True)
class Saved:
    """A checkpoint was written."""

    name: str


def read_line(line: str) -> Step | Validated | EpochBegan | Saved | None:
    """What a line of its log says; None for all the rest."""
    if found := _EPOCH.search(line):
        return EpochBegan(int(found[1]), int(found[2]))
    if found := _SAVED.search(line):
        return Saved(found[1].rstrip("'\"").rpartition("/")[2])
    if "train/" not in line and "val/" not in line:
        return None
    figures = _figures(line)
    if "global_step" in figures and any(name.startswith("train/") for name in figures):
        step = int(figures["global_step"]) + 1
        return Step(step, int(figures.get("epoch", 0)), _step_point(figures, step))
    if any(name.startswith("val/") for name in figures):
        return Validated(int(figures.get("epoch", 0)), _validation_point(figures))
    return None


def _figures(line: str) -> dict[str, float]:
    found = {}
    for name, text in _PAIR.findall(line):
        try:
            found[name] = float(text)
        except ValueError:
            continue
    return found


def _step_point(figures: dict[str, float], step: int) -> Point:
    train = {name.removeprefix("train/"): value for name, value in figures.items() if name.startswith("train/")}
    point: Point = {"step": step}
    loss = train.get("loss", next((value for name, value in train.items() if name.startswith("loss")), None))
    if loss is not None:
        point["loss"] = loss
    rate = figures.get("lr/Muon", figures.get("lr", next((value for name, value in figures.items() if name.startswith("lr/")), None)))
    if rate is not None:
        point["learning_rate"] = rate
    if "profile/tokens_per_s" in figures:
        point["tokens_per_second"] = figures["profile/tokens_per_s"]
    if train.get("error_records"):
        point["unusable_rows"] = train["error_records"]
    return point | _accuracies(train)


def _accuracies(figures: dict[str, float]) -> Point:
    """Accuracy by place in the draft, counted from 1, and the tokens a round would give, the target's own among them (its `eal`).

    Algorithms without that figure say how often a place is right where all before it were; the sum of the products is the same thing.
    """
    found = {int(match[1]): value for name, value in figures.items() if (match := _POSITION.fullmatch(name))}
    if not found:
        found = {int(match[1]): value for name, value in figures.items() if (match := _DEPTH.fullmatch(name))}
    # Algorithms that draft from the anchor itself count places from 0.
    shift = 1 if 0 in found else 0
    point: Point = {f"accuracy_{place + shift}": value for place, value in sorted(found.items())}
    matched = ((_GIVEN.fullmatch(name), value) for name, value in figures.items())
    given = [value for _, value in sorted((int(match[1]), value) for match, value in matched if match)]
    if "eal" in figures:
        point["acceptance"] = figures["eal"]
    elif given:
        point["acceptance"] = 1 + sum(accumulate(given, mul))
    return point


def _validation_point(figures: dict[str, float]) -> Point:
    values = {name.removeprefix("val/").removesuffix("_epoch"): value for name, value in figures.items() if name.startswith("val/")}
    point: Point = {}
    if (acceptance := _accuracies(values).get("acceptance")) is not None:
        point["validation/all"] = acceptance
    if "loss" in values:
        point["validation_loss"] = values["loss"]
    return point
