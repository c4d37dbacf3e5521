"""The files that were fetched or uploaded into the workspace: which sources need them, and the removal of those that none does.

A fetched commit or an upload stays as long as an imported source was made from it, so that it can be imported again without the
network; what no source refers to (an older revision, a replaced upload) goes when a person says so. It knows folders, not rows.
"""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.errors import MixdownError
from core.sources.library import Library
from core.sources.shelf import CannotWrite
from core.workspace import Workspace

_LOCK = ".reading"


class DownloadsInUse(MixdownError):
    """Files cannot be removed while an import may read them."""


@dataclass(frozen=True)
class KeptFiles:
    """One fetched commit or one upload: its folder, its size in bytes, and the imported sources that were made from it."""

    folder: Path
    bytes: int
    sources: tuple[str, ...]


def kept_files(workspace: Workspace) -> list[KeptFiles]:
    """All that was fetched or uploaded, in order of path."""
    origins = {source.name: source.origin.path for source in Library(workspace).sources()}
    found = []
    for folder in sorted([*workspace.downloads.glob("*/*"), *(workspace.home / "uploads").glob("*")]):
        real = folder.resolve()
        names = tuple(name for name, path in origins.items() if path == real or real in path.parents)
        found.append(KeptFiles(folder, sum(file.stat().st_size for file in (folder, *folder.rglob("*")) if file.is_file()), names))
    return found


def remove_unneeded(workspace: Workspace) -> list[KeptFiles]:
    """Remove, and return, what no imported source was made from. Raises `DownloadsInUse` while an import works."""
    with _held(workspace, fcntl.LOCK_EX | fcntl.LOCK_NB):
        unneeded = [kept for kept in kept_files(workspace) if not kept.sources]
        for kept in unneeded:
            if kept.folder.is_dir() and not kept.folder.is_symlink():
                shutil.rmtree(kept.folder)
            else:
                kept.folder.unlink()
        for folder in workspace.downloads.glob("*"):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
    return unneeded


@contextmanager
def reading(workspace: Workspace) -> Iterator[None]:
    """While the block runs nothing that was fetched or uploaded is removed; any number of imports can be in such a block.

    Raises `CannotWrite`.
    """
    with _held(workspace, fcntl.LOCK_SH):
        yield


@contextmanager
def _held(workspace: Workspace, how: int) -> Iterator[None]:
    try:
        workspace.home.mkdir(parents=True, exist_ok=True)
        opened = (workspace.home / _LOCK).open("a")
    except OSError as error:
        what = error.strerror or error
        raise CannotWrite(f"'{workspace.home}' cannot be written to ({what}): choose another workspace folder.") from error
    with opened as file:
        try:
            fcntl.flock(file, how)
        except BlockingIOError as error:
            raise DownloadsInUse("An import is reading its files: remove files when it has finished.") from error
        yield
