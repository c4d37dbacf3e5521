"""Executes one run: calls the function that the run names, reports what it says, writes how it ended.

A detached process does it for every button (`core.runs.__main__`); the command line calls `execute` in its own process. It does not know
what the work is.
"""

import importlib
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, cast

from core.errors import MixdownError, Paused, system_refusal
from core.runs.files import append_line, read_json, write_json
from core.watch import Cancelled, Progress, Watcher

CANCEL_FLAG = "cancel"
WRITE_EVERY = 0.25
"""Seconds between two writes of progress.json: often enough for the eye, rare enough for a slow disk."""
RATE_WINDOW = 15.0
"""Seconds over which the rate is averaged."""


class Entry(Protocol):
    """What a run names as "module:function": takes kind, spec and watcher, returns a JSON object as the result."""

    def __call__(self, kind: str, spec: dict[str, Any], watcher: Watcher) -> dict[str, Any]:
        """Do the work; raises `MixdownError` with a sentence for people, `Cancelled` when asked to stop."""


class RunContext:
    """The watcher of a run on disk: progress with rate and time left, curve points, and the cancel flag."""

    def __init__(self, folder: Path, echo: Watcher | None = None) -> None:
        self.folder = folder
        self._echo = echo
        self._stopping = threading.Event()
        self._written = 0.0
        self._phase = ""
        self._window: deque[tuple[float, int]] = deque()

    def progress(self, progress: Progress) -> None:
        """Record the newest state; written to disk at most every `WRITE_EVERY` seconds and at each new phase."""
        now = time.monotonic()
        changed = progress.phase != self._phase
        if changed or (self._window and progress.done < self._window[-1][1]):
            self._phase = progress.phase
            self._window.clear()
        self._window.append((now, progress.done))
        while now - self._window[0][0] > RATE_WINDOW:
            self._window.popleft()
        if self._echo is not None:
            self._echo.progress(progress)
        finished = progress.total is not None and progress.done >= progress.total
        if changed or finished or now - self._written >= WRITE_EVERY:
            self._written = now
            self._write(progress)

    def _write(self, progress: Progress) -> None:
        (first, base), (last, done) = self._window[0], self._window[-1]
        rate = (done - base) / (last - first) if last > first else None
        left = None if progress.total is None or not rate else (progress.total - progress.done) / rate
        write_json(
            self.folder / "progress.json",
            {
                "phase": progress.phase,
                "done": progress.done,
                "total": progress.total,
                "unit": progress.unit,
                "counts": dict(progress.counts),
                "sources": {name: dict(figures) for name, figures in progress.sources.items()},
                "rate": rate,
                "seconds_left": left,
                "updated_at": time.time(),
            },
        )

    def metric(self, values: Mapping[str, float | int | str]) -> None:
        """Append one point to metrics.jsonl."""
        append_line(self.folder / "metrics.jsonl", {"at": time.time(), **values})
        if self._echo is not None:
            self._echo.metric(values)

    def cancelled(self) -> bool:
        """Whether somebody asked to stop: by the flag, by a signal, or whoever listens along."""
        asked = self._stopping.is_set() or (self.folder / CANCEL_FLAG).exists()
        return asked or (self._echo is not None and self._echo.cancelled())

    def stop(self) -> None:
        """Ask the work to end at its next safe point."""
        self._stopping.set()


def execute(folder: Path, echo: Watcher | None = None) -> dict[str, Any]:
    """Do the run in `folder` in this process and return its outcome, which is also written to `outcome.json`.

    The outcome is `{"state": "done" | "failed" | "paused" | "cancelled", "ended_at", "seconds", "result" | "error": {"message",
    "exit_code"}}`.
    """
    run = cast(dict[str, Any], read_json(folder / "run.json"))
    context = RunContext(folder, echo)
    started = time.time()
    outcome: dict[str, Any]
    with _signals_ask_to_stop(context):
        try:
            module, _, function = str(run["entry"]).partition(":")
            entry = cast(Entry, getattr(importlib.import_module(module), function))
            outcome = {"state": "done", "result": entry(run["kind"], run["spec"], context)}
        except Cancelled:
            outcome = {"state": "cancelled"}
        except Paused as error:
            _log(folder, f"{type(error).__name__}: {error}\n")
            outcome = _failure(str(error), error.exit_code) | {"state": "paused"}
        except MixdownError as error:
            _log(folder, f"{type(error).__name__}: {error}\n")
            outcome = _failure(str(error), error.exit_code)
        except OSError as error:
            _log(folder, traceback.format_exc())
            outcome = _failure(*system_refusal(error))
        except BaseException as error:  # noqa: BLE001  whatever ends the work must be on disk before the process goes
            _log(folder, traceback.format_exc())
            asked = isinstance(error, KeyboardInterrupt) or context.cancelled()
            outcome = {"state": "cancelled"} if asked else _failure(f"Unexpected {type(error).__name__}: {error}", 1)
    outcome |= {"ended_at": time.time(), "seconds": round(time.time() - started, 3)}
    write_json(folder / "outcome.json", outcome)
    return outcome


def _log(folder: Path, text: str) -> None:
    """Into the run's own log: a terminal, where the run is at work in the command, is told one sentence."""
    with suppress(OSError), (folder / "stdout.log").open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)


def _failure(message: str, exit_code: int) -> dict[str, Any]:
    return {"state": "failed", "error": {"message": message, "exit_code": exit_code}}


@contextmanager
def _signals_ask_to_stop(context: RunContext) -> Iterator[None]:
    """SIGINT and SIGTERM ask once; a second one ends the work where it stands."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(_signal: int, _frame: FrameType | None) -> None:
        if context.cancelled():
            raise KeyboardInterrupt
        context.stop()

    before = {which: signal.signal(which, ask) for which in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
