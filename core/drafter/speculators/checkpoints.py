"""The checkpoints of speculators: which one is the drafter, how a training that was stopped goes on, and the folder others read.

Its own resume finds numbered folders only and leaves out the one that an interrupt wrote; given a number and the step, it goes on there.
"""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.errors import MixdownError

INTERRUPTED, BEST = "interrupted", "checkpoint_best"
PARTS = ("config.json", "model.safetensors")


class NoCheckpoint(MixdownError):
    """The trainer ended without having written any drafter."""


def numbered(folder: Path) -> list[Path]:
    """The whole checkpoints by epoch, oldest first."""
    found = [path for path in folder.glob("[0-9]*") if path.name.isdecimal() and not path.is_symlink() and _whole(path)]
    return sorted(found, key=lambda path: int(path.name))


def adopt_interrupted(folder: Path, epoch: int, steps_of_epoch: int, step: int) -> bool:
    """Give the checkpoint of an interrupt its number, so that the next start goes on at the step after it; whether there was one.

    `epoch` counts from 0, `steps_of_epoch` the steps done of it, `step` all steps. The state of its optimizers is in bfloat16, so the
    curve goes on but not as if it had never stopped.
    """
    interrupted = folder / INTERRUPTED
    if not _whole(interrupted):
        return False
    state = {"epoch": epoch, "local_step": steps_of_epoch, "global_step": step}
    (interrupted / "training_state.json").write_text(json.dumps(state))
    shutil.rmtree(folder / str(epoch), ignore_errors=True)
    interrupted.rename(folder / str(epoch))
    return True


def chosen(folder: Path, *, interrupted: bool) -> Path:
    """The checkpoint that becomes the drafter: the newest, that of an interrupt too where it was wanted; raises `NoCheckpoint`.

    The newest and not the one of lowest loss, as the native engine does: with a schedule that ends at zero the last is the best but
    for noise, and its own "best" is by loss, not by accepted tokens.
    """
    if interrupted and _whole(folder / INTERRUPTED):
        return folder / INTERRUPTED
    found = numbered(folder)
    if not found:
        raise NoCheckpoint(f"speculators wrote no whole checkpoint into {folder}: its log says why.")
    return found[-1]


def make_drafter(checkpoint: Path, into: Path, state: Mapping[str, Any], heldout: Path | None) -> None:
    """Write the drafter of a checkpoint into the new folder `into`: its two files, what is known of its training, held-out prompts."""
    into.mkdir()
    for part in PARTS:
        shutil.copyfile(checkpoint / part, into / part)
    if heldout is not None and heldout.is_file():
        shutil.copyfile(heldout, into / "heldout.parquet")
    (into / "training_state.json").write_text(json.dumps(dict(state), indent=2) + "\n", "utf-8")
    for file in into.iterdir():
        file.chmod(0o644)
        with file.open("rb") as written:
            os.fsync(written.fileno())


def _whole(folder: Path) -> bool:
    return all((folder / part).is_file() for part in PARTS)
