"""Runs the trainer of speculators as a process of ours, line by line, and ends it with the signal it saves its work at.

The process stays in the group of whoever runs this, so that nothing is left behind when that group is killed. It knows no settings.
"""

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import MixdownError

LOOK_EVERY = 0.25
"""Seconds between two looks at whether to stop, while nothing is printed."""

KEPT_LINES = 40
"""Of its output, for the sentence when it fails."""


class TrainerFailed(MixdownError):
    """The trainer ended with an error of its own."""


@dataclass(frozen=True)
class Ended:
    """How the process ended."""

    code: int
    interrupted: bool
    """whether it was asked to stop"""
    last_lines: tuple[str, ...]


def follow(
    command: Sequence[str],
    environment: Mapping[str, str],
    line: Callable[[str], None],
    stop: Callable[[], bool],
    log: Path,
    patience: float,
) -> Ended:
    """Run `command` to its end, give `line` every line it prints (blanks at its end cut off), and keep them all in `log`.

    When `stop` says so it gets SIGINT once, upon which speculators writes a checkpoint; `patience` seconds later it is killed.
    Whatever is raised meanwhile kills it too.
    """
    try:
        process = subprocess.Popen(
            list(command),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=os.environ | dict(environment),
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise TrainerFailed(
            f"{command[0]} cannot be run ({error.strerror}): name the interpreter of an environment with speculators."
        ) from error
    said: queue.Queue[str | None] = queue.Queue()
    reader = threading.Thread(target=_read, args=(process, said), daemon=True)
    reader.start()
    last: deque[str] = deque(maxlen=KEPT_LINES)
    interrupted = False
    killer: threading.Timer | None = None
    try:
        with log.open("a", encoding="utf-8") as kept:
            while True:
                if not interrupted and stop():
                    interrupted = True
                    process.send_signal(signal.SIGINT)
                    killer = threading.Timer(patience, process.kill)
                    killer.daemon = True
                    killer.start()
                try:
                    found = said.get(timeout=LOOK_EVERY)
                except queue.Empty:
                    continue
                if found is None:
                    break
                text = found.rstrip()
                if text:
                    kept.write(text + "\n")
                    kept.flush()
                    last.append(text)
                    line(text)
        return Ended(process.wait(), interrupted, tuple(last))
    finally:
        if killer is not None:
            killer.cancel()
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()


def _read(process: "subprocess.Popen[str]", into: "queue.Queue[str | None]") -> None:
    """Hand over all lines, then None."""
    assert process.stdout is not None
    for line in process.stdout:
        into.put(line)
    into.put(None)


def failure(ended: Ended, log: Path) -> TrainerFailed:
    """What the trainer itself said went wrong: its last line that names an error."""
    named = [text.strip() for text in ended.last_lines if "Error" in text or "error:" in text]
    said = (named or [text.strip() for text in ended.last_lines] or ["nothing was printed"])[-1]
    return TrainerFailed(f"speculators ended with exit code {ended.code}: {said[:400]} Its whole log is {log}.")
