"""Where a drafter grows before it has its name: a locked folder beside it, with the captured states and the newest checkpoint.

It knows folders and what a training was started with; it does not know how one is done.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.drafter.settings import FREE, SHAPE
from core.drafter.standing import LAST, Standing, read_standing
from core.errors import InputError

ABOUT, STATES = "training.json", "states"


class OutputExists(InputError):
    """The drafter's folder is there already."""


class OutputBusy(InputError):
    """Another training writes the same drafter."""


class NothingToResume(InputError):
    """A training that was to go on is not there, or was another one."""


@dataclass(frozen=True)
class Unfinished:
    """A training that was stopped or killed before its end."""

    folder: Path
    data: str
    target: str
    settings: dict[str, Any]
    """as `TrainSettings.to_json`"""
    standing: Standing | None
    """None: no checkpoint yet, only hidden states"""
    bytes: int
    """what it takes on the disk, most of it hidden states"""

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**vars(self), "folder": str(self.folder), "standing": vars(self.standing) if self.standing else None}


def unfinished_folder(out: Path) -> Path:
    """Where the training of the drafter `out` works: a hidden sibling, so that both lie on one disk."""
    return out.with_name(f".{out.name}.training")


def find_unfinished(out: Path) -> Unfinished | None:
    """What is left of a training of `out` that did not end; None where there is nothing to go on from."""
    folder = unfinished_folder(out)
    about = _read(folder)
    if about is None:
        return None
    standing = read_standing(folder / LAST) if (folder / LAST).is_file() else None
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return Unfinished(folder, about["data"], about["target"], about["settings"], standing, size)


def discard_unfinished(out: Path) -> None:
    """Remove what is left of a training of `out`; nothing is done where there is nothing. Raises `OutputBusy` while it runs."""
    folder = unfinished_folder(out)
    if folder.is_dir():
        lock = _locked(folder, out)
        try:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


@contextmanager
def workplace(out: Path, about: Mapping[str, Any], resume: bool | None) -> Iterator[Path]:
    """A folder to train `out` in, ours alone. `about`: `data`, `target`, `settings`, and `made_of`, which tells data and targets apart.

    What an interrupted training left is gone on from with `resume` True (settings that checkpoints do not depend on may differ), removed
    with False; None goes on where nothing differs and else begins anew. It stays after any error once there is a checkpoint or a capture
    under way, and goes when `out` is there. Raises `OutputExists`, `OutputBusy`, `NothingToResume`, `InputError` for a folder that
    cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutputExists(f"{out} exists already: choose another folder, or remove it first.")
    folder = unfinished_folder(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}. Choose another folder.") from error
    lock = _locked(folder, out)
    try:
        before = _read(folder)
        if resume and before is None:
            shutil.rmtree(folder)
            raise NothingToResume(f"No unfinished training of {out} is there to go on with: start it without resume.")
        differs = None if before is None else _difference(before, about, strict=not resume)
        if resume and differs is not None:
            raise NothingToResume(
                f"The unfinished training of {out} had another {differs}: resume it with its own, or start over without resume."
            )
        if before is None or differs is not None or resume is False:
            _empty(folder)
        # What may be resumed must be known before there is anything to resume.
        beside = folder / f"{ABOUT}.writing"
        beside.write_text(json.dumps(dict(about), indent=2) + "\n", "utf-8")
        beside.replace(folder / ABOUT)
        yield folder
    finally:
        if (out.exists() and any(out.iterdir())) or not any((folder / name).exists() for name in (LAST, STATES)):
            shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _difference(before: Mapping[str, Any], about: Mapping[str, Any], *, strict: bool) -> str | None:
    """What differs between two trainings, in words; None where one can go on as the other. Free settings never count."""
    mine, theirs = json.loads(json.dumps(about["settings"])), before["settings"]
    for name in sorted({*mine, *theirs} - set(FREE)):
        if mine.get(name) != theirs.get(name) and (strict or name in SHAPE):
            return f"{name} ({theirs.get(name)}, not {mine.get(name)})"
    if before["made_of"] != about["made_of"]:
        name = next(name for name in about["made_of"] if before["made_of"].get(name) != about["made_of"][name])
        return f"{name} ({about[name]}, or other content there than before)" if name in about else name
    return None


def _locked(folder: Path, out: Path) -> int:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise OutputBusy(f"Another training writes {out}: wait for it, stop it, or choose another name.") from error
    return lock


def _read(folder: Path) -> dict[str, Any] | None:
    try:
        about: dict[str, Any] = json.loads((folder / ABOUT).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return about if {"data", "target", "settings", "made_of"} <= set(about) else None


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
