"""Where a dataset grows before it has its name: a locked folder beside it, which takes the name in one step when it is whole.

It knows folders, locks and which folders are ours to replace. It does not know what a dataset holds.
"""

import ctypes
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import InputError, MixdownError
from core.tokens.manifest import is_ours
from core.tokens.shards import write_whole
from core.tokens.workers import WorkerDied
from core.watch import Cancelled

_KEY = "key"
_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux's renameat2(2)."""


class OutputExists(InputError):
    """Something stands at the output already."""


class OutputUnwritable(InputError):
    """The output's folder cannot be made or written to."""


class OutputBusy(InputError):
    """Another run writes to the same output."""


class WriteFailed(MixdownError):
    """The disk refused a write under way (full, gone, read-only)."""


def partial_folder(out: Path) -> Path:
    """Where an unfinished dataset for `out` stands: a hidden sibling, so that both lie on one disk."""
    return out.with_name(f".{out.name}.partial")


def discard_partial(out: Path) -> None:
    """Remove what an interrupted run left for `out`; nothing is done where none did."""
    shutil.rmtree(partial_folder(out), ignore_errors=True)


@contextmanager
def staged(out: Path, key: str, *, overwrite: bool, resume: bool) -> Iterator[Path]:
    """A folder to build `out` in, ours alone; `publish` ends it.

    What an interrupted run left is continued with `resume` when it was made for the same `key`, else removed. When the block is
    interrupted (cancelled, killed, disk full) the folder stays for a later resume; after any other error it goes. Nothing stands at
    `out` that did not before. What a kill between the two renames of an overwrite left is put right.

    Raises `OutputExists` (with `overwrite` only for what is not a dataset of ours), `OutputUnwritable`, `OutputBusy`; `WriteFailed` for
    an OSError inside.
    """
    check_output(out, overwrite=overwrite)
    partial = partial_folder(out)
    lock = _locked(partial)
    try:
        _recover(out)
        check_output(out, overwrite=overwrite)
        if not (resume and _key_of(partial) == key):
            _empty(partial)
            write_whole(partial / _KEY, key.encode())
        yield partial
    except OSError as error:
        raise WriteFailed(_sentence(out, error)) from error
    except (Cancelled, WorkerDied):
        raise
    except MixdownError:
        discard_partial(out)
        raise
    finally:
        _held.discard(lock)
        os.close(lock)


def check_output(out: Path, *, overwrite: bool) -> None:
    """Raise before any work where `out` could not be published: `OutputExists`, `OutputUnwritable`."""
    try:
        real = out.is_dir() and not out.is_symlink()
        free = not any(out.iterdir()) if real else not (out.exists() or out.is_symlink())
    except OSError as error:
        raise OutputUnwritable(_sentence(out, error)) from error
    if free:
        return
    if not overwrite:
        raise OutputExists(f"{out} exists already; choose another name, or pass --overwrite to replace the dataset there.")
    if not is_ours(out):
        raise OutputExists(f"{out} is not a dataset made by Mixdown, so it is not overwritten; choose another name or move it away.")


def publish(partial: Path, out: Path) -> None:
    """Give the finished folder its name. An older dataset there is swapped with it in one step, or where that cannot be set aside first."""
    (partial / _KEY).unlink()
    _sync(partial)
    old = _old(out)
    if out.exists() and exchange(partial, out):
        partial.replace(old)
    else:
        if out.exists():
            out.replace(old)
        partial.replace(out)
    _sync(out.parent)
    shutil.rmtree(old, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step, so that at no moment either is missing; False where the system or the disk cannot."""
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    return int(swap(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)) == 0


def _locked(partial: Path) -> int:
    try:
        partial.mkdir(parents=True, exist_ok=True)
        lock = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise OutputUnwritable(_sentence(partial.parent, error)) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        same = partial.exists() and os.path.samestat(os.fstat(lock), partial.stat())
    except OSError:
        same = False
    if not same:
        os.close(lock)
        raise OutputBusy(f"Another run is writing {partial.parent / partial.name[1:-8]}; wait for it, stop it, or choose another name.")
    if not os.access(partial, os.W_OK | os.X_OK):
        os.close(lock)
        raise OutputUnwritable(f"{partial} cannot be written to; choose another output or change its permissions.")
    _held.add(lock)
    return lock


def _let_go() -> None:
    """In a forked worker: the lock is its parent's alone, and ends with it."""
    for handle in _held:
        os.close(handle)
    _held.clear()


_held: set[int] = set()
os.register_at_fork(after_in_child=_let_go)


def _old(out: Path) -> Path:
    return out.with_name(f".{out.name}.replaced")


def _recover(out: Path) -> None:
    old = _old(out)
    if old.is_dir():
        if out.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.replace(out)


def _key_of(partial: Path) -> str | None:
    try:
        return (partial / _KEY).read_text()
    except (OSError, UnicodeDecodeError):
        return None


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sentence(where: Path, error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return f"The disk that holds {where} is full; free some space and run again with --resume."
    reason = (error.strerror or str(error)).lower()
    return f"{where} cannot be written ({reason}{f': {error.filename}' if error.filename else ''}); choose another output or fix it."
