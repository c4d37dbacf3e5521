"""Fetches the files of a hub data set into the workspace: goes on where it stopped, checks every byte, names a file when it is whole.

    downloads/<owner>--<name>/<commit>/<path>           whole and checked
    downloads/<owner>--<name>/<commit>/.<path>.part     as much as there is of it

It knows bytes. Which files are wanted is `choice`'s business, what is in them the readers'.
"""

import errno
import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from core.errors import MixdownError
from core.sources.hub.choice import chosen_files
from core.sources.hub.client import MOST_TRIES, Hub, HubFile, at
from core.sources.hub.reference import HubReference
from core.sources.hub.troubles import HubTrouble, is_broken_connection
from core.watch import Progress, Watcher, stop_if_cancelled

_CHUNK = 1 << 20
_PROGRESS = 64 * 1024
"""Bytes that a connection must bring to count as one that did not fail."""
_SPARE = 64 * 1024 * 1024
"""Bytes that stay free on the disk beside what is fetched."""


class HubCut(MixdownError):
    """The connection broke again and again; what arrived is kept."""


class HubDamaged(MixdownError):
    """What arrived is not what the hub says it sent."""


class NoRoom(MixdownError):
    """The disk is too full for the download."""


@dataclass(frozen=True)
class Fetched:
    """Files on this machine: `files` are paths below `folder`; `reference` has the whole commit as its revision."""

    folder: Path
    files: tuple[str, ...]
    reference: HubReference


def fetch(wanted: HubReference, downloads: Path, watcher: Watcher) -> Fetched:
    """The files of the part, all of one commit, from the hub or from an earlier fetch.

    Raises `HubTrouble` (gated, missing, no such part or revision), `HubBusy`, `HubUnreachable`, `HubCut`, `HubDamaged`, `NoRoom`
    and `Cancelled`; whole files and the parts of others stay for the next try, never under the name of a whole one.
    """
    hub = Hub(wanted, watcher)
    repository = hub.repository()
    names = chosen_files([file.path for file in repository.files], repository.configs, wanted)
    listed = {file.path: file for file in repository.files}
    folder = downloads / wanted.repo.replace("/", "--") / repository.commit
    try:
        _fetch_all(hub, [listed[name] for name in names], repository.commit, folder, watcher)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoRoom(f"The disk with '{downloads}' is full: free some space and import again, it goes on where it stopped.") from error
        raise
    return Fetched(folder, names, at(wanted, repository.commit))


def _fetch_all(hub: Hub, files: Sequence[HubFile], commit: str, folder: Path, watcher: Watcher) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    sizes = [file.size for file in files]
    total = sum(size for size in sizes if size is not None) if None not in sizes else None
    _check_room(files, folder)
    done = 0
    for number, file in enumerate(files, 1):
        transfer = _Transfer(hub, file, commit, _inside(folder, file.path), watcher)
        for arrived in transfer.run():
            watcher.progress(Progress(f"fetch {hub.wanted.repo}", done + arrived, total, "bytes", {"file": number, "files": len(files)}))
        done += transfer.target.stat().st_size


def _inside(folder: Path, name: str) -> Path:
    """Where a file of the repository stands; a listing cannot reach outside the folder."""
    pieces = PurePosixPath(name).parts
    if not pieces or name.startswith("/") or ".." in pieces or "\0" in name:
        raise HubTrouble(f"The data set lists a file {name!r}, which cannot be a path in a folder: name other files with --file.")
    return folder.joinpath(*pieces)


def _check_room(files: Sequence[HubFile], folder: Path) -> None:
    missing = 0
    for file in files:
        target = _inside(folder, file.path)
        if not target.exists():
            missing += max(0, (file.size or 0) - _length(_part(target)))
    free = shutil.disk_usage(folder).free
    if missing and missing + _SPARE > free:
        raise NoRoom(
            f"The download needs {missing / 1e6:,.0f} MB and '{folder}' has {free / 1e6:,.0f} MB free: free some space and import again."
        )


def _part(target: Path) -> Path:
    return target.with_name(f".{target.name}.part")


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


class _Transfer:
    """One file on its way."""

    def __init__(self, hub: Hub, file: HubFile, commit: str, target: Path, watcher: Watcher) -> None:
        self._hub = hub
        self._file = file
        self._commit = commit
        self._watcher = watcher
        self.target = target

    def run(self) -> Iterator[int]:
        """Fetch what is missing and give the file its name; yields the bytes that are there so far."""
        self.target.parent.mkdir(parents=True, exist_ok=True)
        with _held(_part(self.target)) as part:
            if self.target.exists():
                yield self.target.stat().st_size
                return
            if self._file.size is None:
                part.truncate(0)  # nobody can say how much of it is missing
            for _ in range(2):
                yield from self._complete(part)
                if self._is_right(part):
                    os.fsync(part.fileno())
                    _part(self.target).replace(self.target)
                    return
                part.truncate(0)
        raise HubDamaged(f"{self._file.path} of {self._hub.wanted.repo} arrived damaged twice (its hash is wrong): try again later.")

    def _complete(self, part: IO[bytes]) -> Iterator[int]:
        """Append to the part until it is as long as the hub says, over as many connections as it takes."""
        failures = 0
        while True:
            before = part.seek(0, os.SEEK_END)
            if self._file.size is not None and before >= self._file.size:
                part.truncate(self._file.size)
                return
            broken: Exception | None = None
            try:
                yield from self._append(part, before)
            except Exception as error:  # noqa: BLE001 - what is no broken connection is raised again by `wait_after`
                broken = error
            else:
                if self._file.size is None or part.tell() >= self._file.size:
                    return
            arrived = part.seek(0, os.SEEK_END)
            failures = 1 if arrived > before + _PROGRESS else failures + 1
            if failures >= MOST_TRIES and (broken is None or is_broken_connection(broken)):
                raise HubCut(self._cut(arrived)) from broken
            if broken is None:
                self._hub.pause(failures)
            else:
                self._hub.wait_after(broken, failures)

    def _append(self, part: IO[bytes], start: int) -> Iterator[int]:
        with self._hub.opened(self._file.path, self._commit, start) as response:
            if start and response.status_code != 206:
                part.truncate(0)  # a server without ranges sends the whole file again
            part.seek(0, os.SEEK_END)
            for chunk in response.iter_raw():
                stop_if_cancelled(self._watcher)
                part.write(chunk)
                yield part.tell()

    def _cut(self, arrived: int) -> str:
        of = f" of {self._file.size / 1e6:,.1f}" if self._file.size is not None else ""
        return (
            f"The connection broke {MOST_TRIES} times while {self._file.path} of {self._hub.wanted.repo} was fetched "
            f"({arrived / 1e6:,.1f}{of} MB are here): import again, it goes on from there."
        )

    def _is_right(self, part: IO[bytes]) -> bool:
        part.flush()
        wanted = self._file.sha256 or self._file.git_sha1
        if wanted is None:
            return True
        digest = hashlib.sha256() if self._file.sha256 else hashlib.sha1(usedforsecurity=False)
        if not self._file.sha256:
            digest.update(f"blob {part.seek(0, os.SEEK_END)}\0".encode())
        part.seek(0)
        while chunk := part.read(_CHUNK):
            stop_if_cancelled(self._watcher)
            digest.update(chunk)
        return digest.hexdigest() == wanted


@contextmanager
def _held(path: Path) -> Iterator[IO[bytes]]:
    """The part file, ours alone: a second import of the same file waits here and then finds it whole."""
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield file
        finally:
            if path.exists() and path.stat().st_size == 0:
                path.unlink()
