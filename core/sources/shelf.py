"""Where an imported source stands on disk, and how a new import takes the place of an older one.

    sources/<name>/current          the version that counts (one line), replaced atomically
    sources/<name>/<version>/       source.json, index/, conversations/, search/, raw/, quarantine/, quarantine_raw/
    sources/<name>/.draft-…/        an import that is being written; without a living owner it is removed by the next one

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
from core.workspace import Workspace

RECORD = "source.json"
_CURRENT = "current"
_DRAFT = ".draft-"
_OWNER = "owner"


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
        _write(self.folder / RECORD, json.dumps(record, ensure_ascii=True, indent=1))
        version = secrets.token_hex(6)
        (self.folder / _OWNER).unlink()
        with _locked(self.home.parent):
            before = _current(self.home)
            self.folder.rename(self.home / version)
            _write(self.home / _CURRENT, version + "\n")
        if before is not None:
            shutil.rmtree(self.home / before, ignore_errors=True)


@contextmanager
def new_draft(workspace: Workspace, name: str) -> Iterator[Draft]:
    """A draft of the source `name`; whatever ends the block without `publish` leaves nothing of it. Raises `CannotWrite`."""
    home = workspace.source(name)
    folder = home / f"{_DRAFT}{secrets.token_hex(6)}"
    try:
        workspace.sources.mkdir(parents=True, exist_ok=True)
        with _locked(workspace.sources):
            home.mkdir(exist_ok=True)
            _remove_stale(home)
            folder.mkdir()
            owner = (folder / _OWNER).open("w")
            fcntl.flock(owner, fcntl.LOCK_EX)
    except OSError as error:
        raise CannotWrite(f"'{home}' cannot be written to ({error.strerror or error}): choose another workspace folder.") from error
    try:
        yield Draft(home, folder)
    except OSError as error:
        raise CannotWrite(f"Writing to '{home}' failed ({error.strerror or error}): free some space or choose another folder.") from error
    finally:
        owner.close()
        shutil.rmtree(folder, ignore_errors=True)
        if _current(home) is None:
            _remove_if_empty(home)


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


def remove(workspace: Workspace, name: str) -> None:
    """Remove an imported source. Raises `SourceMissing`."""
    home = version_folder(workspace, name).parent
    with _locked(home.parent):
        (home / _CURRENT).unlink(missing_ok=True)
        shutil.rmtree(home, ignore_errors=True)


def _current(home: Path) -> str | None:
    try:
        version = (home / _CURRENT).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return version if version.isalnum() and (home / version).is_dir() else None


def _write(path: Path, text: str) -> None:
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


def _remove_stale(home: Path) -> None:
    for folder in home.glob(f"{_DRAFT}*"):
        if not _has_owner(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _has_owner(folder: Path) -> bool:
    """Whether a living process holds the draft: its lock ends with it, however it ends."""
    try:
        file: IO[str] = (folder / _OWNER).open()
    except OSError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _remove_if_empty(home: Path) -> None:
    try:
        home.rmdir()
    except OSError:
        return  # another import of the name is being written
