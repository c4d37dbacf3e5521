"""Where an imported source stands on disk, and how a new import takes the place of an older one.

    sources/<name>/current          the version that counts (one line), replaced atomically
    sources/<name>/<version>/       source.json, index/, conversations/, search/, raw/, quarantine/, quarantine_raw/
    sources/<name>/<version>/accepted   there once a person took the source with all that is wrong with it
    sources/<name>/.draft-…/        an import that is being written; without a living owner the next import goes on with it,
                                    where it is an import of the same rows in the same way, or removes it

A version never changes once `current` names it. This module knows folders and the record beside the rows, not the rows.
"""

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from core.errors import InputError, MixdownError
from core.sources.parts import DamagedLibrary
from core.watch import Cancelled
from core.workspace import Workspace

RECORD = "source.json"
CHECKPOINT = "checkpoint.json"
"""In a draft: how far its finished parts go (`core.sources.checkpoint`)."""

_CURRENT = "current"
_DRAFT = ".draft-"
_OWNER = "owner"
_KEY = "key"
_ACCEPTED = "accepted"


class SourceMissing(InputError):
    """No source of this name was imported."""


class CannotWrite(InputError):
    """The workspace cannot be written to."""


class NotWhole(MixdownError):
    """What was written does not read back as it was counted; the older import stays."""


@dataclass(frozen=True)
class Draft:
    """A version that is being written: put files into `folder`, then `publish`."""

    home: Path
    folder: Path

    def publish(self, record: Mapping[str, Any]) -> None:
        """Make this the version that counts, with `record` as its `source.json`; the one before is removed."""
        write_file(self.folder / RECORD, json.dumps(record, ensure_ascii=True, indent=1))
        version = secrets.token_hex(6)
        for name in (_OWNER, _KEY, CHECKPOINT):
            (self.folder / name).unlink(missing_ok=True)
        with _locked(self.home.parent):
            before = _current(self.home)
            self.folder.rename(self.home / version)
            write_file(self.home / _CURRENT, version + "\n")
        if before is not None:
            shutil.rmtree(self.home / before, ignore_errors=True)


@contextmanager
def open_draft(workspace: Workspace, name: str, key: str) -> Iterator[Draft]:
    """A draft of the source `name`: the one that an interrupted import with the same `key` left, else an empty one.

    A block that is cancelled or killed leaves the draft as far as its last checkpoint; one that ends otherwise without `publish`
    leaves nothing of it. Raises `CannotWrite`.
    """
    home = workspace.source(name)
    try:
        workspace.sources.mkdir(parents=True, exist_ok=True)
        with _locked(workspace.sources):
            home.mkdir(exist_ok=True)
            folder, owner = _taken_over(home, key) or _begun(home, key)
    except OSError as error:
        raise CannotWrite(f"'{home}' cannot be written to ({error.strerror or error}): choose another workspace folder.") from error
    keep = False
    try:
        yield Draft(home, folder)
    except OSError as error:
        raise CannotWrite(f"Writing to '{home}' failed ({error.strerror or error}): free some space or choose another folder.") from error
    except (Cancelled, KeyboardInterrupt):
        keep = (folder / CHECKPOINT).is_file()
        raise
    finally:
        owner.close()
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        if _current(home) is None:
            _remove_if_empty(home)


def _begun(home: Path, key: str) -> tuple[Path, IO[str]]:
    folder = home / f"{_DRAFT}{secrets.token_hex(6)}"
    folder.mkdir()
    owner = (folder / _OWNER).open("w")
    fcntl.flock(owner, fcntl.LOCK_EX)
    write_file(folder / _KEY, key)
    return folder, owner


def _taken_over(home: Path, key: str) -> tuple[Path, IO[str]] | None:
    """The draft that can be gone on with, now ours; all others without a living owner are removed."""
    found: tuple[Path, IO[str]] | None = None
    for folder in sorted(home.glob(f"{_DRAFT}*")):
        owner = _without_owner(folder)
        if owner is None and (folder / _OWNER).exists():
            continue
        if found is None and owner is not None and _text(folder / _KEY) == key and (folder / CHECKPOINT).is_file():
            found = folder, owner
            continue
        shutil.rmtree(folder, ignore_errors=True)
        if owner is not None:
            owner.close()
    return found


def _without_owner(folder: Path) -> IO[str] | None:
    """The draft's lock, taken; None where a living process holds it (it ends with the process, however that ends) or there is none."""
    try:
        file: IO[str] = (folder / _OWNER).open()
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def version_folder(workspace: Workspace, name: str) -> Path:
    """The folder of the version that counts. Raises `SourceMissing`."""
    home = workspace.source(name)
    version = _current(home)
    if version is None:
        raise SourceMissing(
            f"No source is called {name!r} here: import it first (`mixdown import`), or see `mixdown sources` for those there are."
        )
    return home / version


def names(workspace: Workspace) -> list[str]:
    """The names of all imported sources, sorted; drafts and foreign folders are not among them."""
    try:
        folders = list(workspace.sources.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(folder.name for folder in folders if not folder.name.startswith(".") and _current(folder) is not None)


def record(folder: Path) -> dict[str, Any]:
    """The `source.json` of a version. Raises `DamagedLibrary`."""
    try:
        value = json.loads((folder / RECORD).read_bytes())
    except (OSError, ValueError) as error:
        raise DamagedLibrary(f"'{folder / RECORD}' cannot be read ({error}): import the source again.") from error
    if not isinstance(value, dict):
        raise DamagedLibrary(f"'{folder / RECORD}' is not an object: import the source again.")
    return value


def accept(folder: Path) -> None:
    """Note that a version is taken as it is."""
    write_file(folder / _ACCEPTED, "")


def accepted(folder: Path) -> bool:
    """Whether somebody took the version as it is."""
    return (folder / _ACCEPTED).exists()


def remove(workspace: Workspace, name: str) -> None:
    """Remove an imported source. Raises `SourceMissing`."""
    home = version_folder(workspace, name).parent
    with _locked(home.parent):
        (home / _CURRENT).unlink(missing_ok=True)
        shutil.rmtree(home, ignore_errors=True)


def _current(home: Path) -> str | None:
    version = _text(home / _CURRENT).strip()
    return version if version.isalnum() and (home / version).is_dir() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""


def write_file(path: Path, text: str) -> None:
    """Write a small ASCII file whole or not at all."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with beside.open("w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


@contextmanager
def _locked(sources: Path) -> Iterator[None]:
    with (sources / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_if_empty(home: Path) -> None:
    try:
        home.rmdir()
    except OSError:
        return  # another import of the name is being written
