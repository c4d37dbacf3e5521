"""The runs of a workspace: start, watch, cancel, try again, delete. All state is read from files at every call.

It does not know what a run does, only which function does it, which folders it owns while it works, and how it ended.
"""

import fcntl
import os
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from core.errors import InputError, MixdownError
from core.runs.files import read_json, read_lines, write_json
from core.runs.process import RUN_MARK, ProcessId
from core.runs.stopper import stop_run
from core.runs.worker import CANCEL_FLAG, execute
from core.watch import Watcher

State: TypeAlias = Literal["queued", "running", "cancelling", "cancelled", "done", "failed", "paused", "lost"]
ACTIVE: tuple[State, ...] = ("queued", "running", "cancelling")

_START_PATIENCE = 30.0
"""Seconds after which a run whose process never showed up counts as lost."""


class RunMissing(InputError):
    """No run with this id."""


class RunError(MixdownError):
    """A run ended without its result; the message is what the run said."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Busy(InputError):
    """Another run works on the same folder at the moment."""


@dataclass(frozen=True)
class Run:
    """One run as its files stand right now."""

    folder: Path
    kind: str
    title: str
    spec: dict[str, Any]
    owns: tuple[str, ...]
    created_at: float
    state: State
    process: ProcessId | None
    progress: dict[str, Any] | None
    outcome: dict[str, Any]

    @property
    def id(self) -> str:
        """The folder's name: kind, date and a random part."""
        return self.folder.name

    @property
    def active(self) -> bool:
        """Whether it may still change."""
        return self.state in ACTIVE

    @property
    def result(self) -> dict[str, Any] | None:
        """What the work returned, once it is done."""
        return self.outcome.get("result")

    @property
    def error(self) -> str | None:
        """One sentence for people, when it failed or was lost."""
        if self.state == "lost":
            return "The process ended without a word: killed, out of memory, or the machine restarted. Try it again."
        return (self.outcome.get("error") or {}).get("message")

    @property
    def seconds(self) -> float:
        """How long it took, or has taken so far."""
        if "seconds" in self.outcome:
            return float(self.outcome["seconds"])
        return max(0.0, (time.time() if self.active else self.last_change) - self.created_at)

    @property
    def last_change(self) -> float:
        """When any of its files last changed, seconds since the epoch."""
        return max((file.stat().st_mtime for file in self.folder.iterdir()), default=self.created_at)

    def metrics(self) -> list[dict[str, Any]]:
        """The points of its curves so far, oldest first."""
        return read_lines(self.folder / "metrics.jsonl")

    def log(self, most: int = 20_000) -> str:
        """The last `most` bytes that its process printed."""
        try:
            with (self.folder / "stdout.log").open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - most))
                return file.read().decode("utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    def to_json(self) -> dict[str, Any]:
        """What `mixdown runs --json` prints."""
        return {
            "id": self.id,
            "kind": self.kind,
            "title": self.title,
            "state": self.state,
            "spec": self.spec,
            "created_at": self.created_at,
            "seconds": round(self.seconds, 3),
            "progress": self.progress,
            "result": self.result,
            "error": self.error,
        }


class RunStore:
    """The runs under one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def list(self) -> list[Run]:
        """All runs, newest first."""
        if not self.folder.is_dir():
            return []
        found = (self._read(path) for path in self.folder.iterdir() if not path.name.startswith("."))
        return sorted((run for run in found if run is not None), key=lambda run: (run.created_at, run.id), reverse=True)

    def get(self, run_id: str) -> Run:
        """One run; raises `RunMissing`."""
        path = self.folder / run_id
        run = self._read(path) if run_id and path.parent == self.folder and not run_id.startswith(".") else None
        if run is None:
            raise RunMissing(f"There is no run {run_id!r}; `mixdown runs` lists those there are.")
        return run

    def start(
        self, kind: str, spec: dict[str, Any], *, entry: str, title: str, owns: Sequence[str | Path] = (), grace: float | None = None
    ) -> Run:
        """Start the work as a detached process group of its own and return at once.

        The same work started twice (a double click) gives the run that is already there. Raises `Busy` when another run
        owns one of the folders `owns`. `grace`: seconds it needs to reach a safe point when it is asked to stop, where that is long.
        """
        with self._locked():
            twin = self._conflict(kind, spec, owns)
            if twin is not None:
                return twin
            folder = self._create(kind, spec, entry, title, owns, grace)
        with (folder / "stdout.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "core.runs", "execute", str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | {"PYTHONPATH": _import_path(), RUN_MARK: folder.name, "PYTHONUNBUFFERED": "1"},
            )
        identity = ProcessId.of(process.pid, group=process.pid)
        if identity is not None:
            write_json(folder / "process.json", identity.to_json())
        # Reaped in the background: a zombie of ours would keep the pid of a finished run visible.
        threading.Thread(target=process.wait, daemon=True).start()
        return self.get(folder.name)

    def execute(
        self, kind: str, spec: dict[str, Any], *, entry: str, title: str, owns: Sequence[str | Path] = (), echo: Watcher | None = None
    ) -> Run:
        """Do the work in this process (the command line), recorded like any other run; raises `RunError` if it fails."""
        with self._locked():
            twin = self._conflict(kind, spec, owns)
            if twin is not None:
                raise Busy(f"Run {twin.id} is doing just this already; wait for it, or `mixdown runs cancel {twin.id}`.")
            folder = self._create(kind, spec, entry, title, owns)
            identity = ProcessId.of(os.getpid(), group=None)
            if identity is not None:
                write_json(folder / "process.json", identity.to_json())
        outcome = execute(folder, echo)
        if outcome["state"] in ("failed", "paused"):
            raise RunError(outcome["error"]["message"], outcome["error"]["exit_code"])
        if outcome["state"] == "cancelled":
            raise RunError(f"Run {folder.name} was cancelled; nothing unfinished stands under a final name.")
        return self.get(folder.name)

    def cancel(self, run_id: str, *, wait: bool = False, grace: float | None = None) -> None:
        """Ask a run to stop, then make it: SIGTERM after `grace` seconds (None: what it was started with), SIGKILL after as many more.

        Returns at once (a detached helper insists), or with `wait` when no process of the run is left.
        """
        run = self.get(run_id)
        if not run.active:
            return
        (run.folder / CANCEL_FLAG).touch()
        if wait:
            stop_run(run.folder, grace)
            return
        stopper = subprocess.Popen(
            [sys.executable, "-m", "core.runs", "stop", str(run.folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": _import_path()},
        )
        threading.Thread(target=stopper.wait, daemon=True).start()

    def retry(self, run_id: str) -> Run:
        """Start the same work again, as a new run."""
        run = self.get(run_id)
        recorded = read_json(run.folder / "run.json") or {}
        return self.start(run.kind, run.spec, entry=recorded["entry"], title=run.title, owns=run.owns, grace=recorded.get("grace"))

    def delete(self, run_id: str) -> None:
        """Remove the record of a run that has ended; what it made stays. Raises `Busy` while it works."""
        run = self.get(run_id)
        if run.active:
            raise Busy(f"Run {run_id} is still working; cancel it first.")
        shutil.rmtree(run.folder)

    def _create(
        self, kind: str, spec: dict[str, Any], entry: str, title: str, owns: Sequence[str | Path], grace: float | None = None
    ) -> Path:
        run_id = f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
        folder = self.folder / run_id
        folder.mkdir(parents=True)
        facts: dict[str, Any] = {
            "kind": kind,
            "title": title,
            "spec": spec,
            "entry": entry,
            "owns": _folders(owns),
            "created_at": time.time(),
        }
        if grace is not None:
            facts["grace"] = grace
        try:
            write_json(folder / "run.json", facts)
        except OSError:
            folder.rmdir()  # nobody would ever see a run without its record
            raise
        return folder

    def _conflict(self, kind: str, spec: dict[str, Any], owns: Sequence[str | Path]) -> Run | None:
        wanted = set(_folders(owns))
        for run in self.list():
            if not run.active:
                continue
            if run.kind == kind and run.spec == spec:
                return run
            shared = wanted & set(run.owns)
            if shared:
                raise Busy(f"Run {run.id} is working on {', '.join(sorted(shared))} at the moment; wait for it or cancel it first.")
        return None

    def _read(self, folder: Path) -> Run | None:
        facts = read_json(folder / "run.json")
        if facts is None:
            return None
        recorded = read_json(folder / "process.json")
        process = None if recorded is None else ProcessId.from_json(recorded)
        working = process.alive() if process else time.time() - facts["created_at"] < _START_PATIENCE
        # Read after the process was looked at: one that has just ended has its outcome on disk by then.
        outcome = read_json(folder / "outcome.json") or {}
        asked = (folder / CANCEL_FLAG).exists()
        state: State
        if outcome:
            state = outcome["state"]
        elif working:
            state = "cancelling" if asked else "running" if process else "queued"
        else:
            state = "cancelled" if asked else "lost"
        return Run(
            folder=folder,
            kind=facts["kind"],
            title=facts["title"],
            spec=facts["spec"],
            owns=tuple(facts["owns"]),
            created_at=facts["created_at"],
            state=state,
            process=process,
            progress=read_json(folder / "progress.json"),
            outcome=outcome,
        )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Only one starter at a time, so that two clicks cannot both find the folder free."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = (self.folder / ".lock").open("w")
        except OSError as error:
            raise InputError(f"The workspace cannot be written: {error.strerror} ({self.folder}). Choose another with --home.") from error
        with handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def _folders(owns: Sequence[str | Path]) -> list[str]:
    return [str(Path(folder).resolve()) for folder in owns]


def _import_path() -> str:
    """Where the worker finds `core`: what this process finds it by, installed or not."""
    root = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
