"""How commands talk: JSON alone on stdout for programs, tables and progress on stderr for people.

It knows nothing of what a command does.
"""

import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from core.watch import Progress

AsJSON = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]
Home = Annotated[str | None, typer.Option("--home", envvar="MIXDOWN_HOME", help="The workspace folder.", show_default="~/.mixdown")]

_LINE_SEPARATORS = tuple((char.encode(), f"\\u{ord(char):04x}".encode()) for char in "\x85\u2028\u2029")
"""Characters that JSON may hold as they are, and at which readers such as Python's `splitlines` would break a line."""

people = Console(stderr=True, highlight=False)
"""Where text for people goes."""


def emit(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print one JSON value on its own line on stdout."""
    sys.stdout.buffer.write(_line(value))
    sys.stdout.buffer.flush()


def emit_lines(values: Iterable[Mapping[str, Any]]) -> None:
    """Print JSON Lines on stdout, each as soon as it is known."""
    for value in values:
        sys.stdout.buffer.write(_line(value))
    sys.stdout.buffer.flush()


def write_lines(path: Path, values: Iterable[Mapping[str, Any]]) -> int:
    """Write JSON Lines to a file, whole or not at all, and say how many."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    written = 0
    try:
        with beside.open("wb") as file:
            for written, value in enumerate(values, 1):  # noqa: B007 - the last number is the count
                file.write(_line(value))
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return written


def _line(value: Mapping[str, Any] | Sequence[Any]) -> bytes:
    try:
        line = orjson.dumps(value, default=_plain)
    except TypeError:
        # Raw rows may hold lone surrogates and integers beyond 64 bits: JSON has a form for both, orjson has not.
        text = json.dumps(value, default=_plain)
        if "NaN" in text or "Infinity" in text:
            text = json.dumps(json.loads(text, parse_constant=lambda _: None))
        line = text.encode()
    for separator, escaped in _LINE_SEPARATORS:
        line = line.replace(separator, escaped)
    return line + b"\n"


def _plain(value: Any) -> Any:
    """What JSON has no form for: numpy scalars and arrays, paths, tuples of them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def say(text: str) -> None:
    """One line for people."""
    people.print(escape(text))


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table for people; columns that hold numbers stand right-aligned with digits grouped."""
    listed = [list(row) for row in rows]
    drawn = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for number, column in enumerate(columns):
        numeric = bool(listed) and all(isinstance(row[number], int | float) or row[number] is None for row in listed)
        drawn.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in listed:
        drawn.add_row(*(_cell(value) for value in row))
    people.print(drawn)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return escape(str(value))


class TerminalWatcher:
    """Progress on stderr: a line that renews itself in a terminal, a line per phase elsewhere."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._phase = ""
        self._since = time.monotonic()
        self._drawn = 0.0
        self._live = people.is_terminal

    def progress(self, progress: Progress) -> None:
        """Show the newest state, at most ten times a second."""
        if self._quiet:
            return
        now = time.monotonic()
        if progress.phase != self._phase:
            if self._phase and self._live:
                sys.stderr.write("\n")
            self._phase, self._since = progress.phase, now
            if not self._live:
                say(f"{progress.phase} …")
        elif now - self._drawn < 0.1:
            return
        self._drawn = now
        if self._live:
            sys.stderr.write("\r\x1b[K" + self._line(progress, now - self._since))
            sys.stderr.flush()

    @staticmethod
    def _line(progress: Progress, seconds: float) -> str:
        rate = progress.done / seconds if seconds > 0.5 else 0.0
        of = f" of {progress.total:,}" if progress.total is not None else ""
        left = f", {(progress.total - progress.done) / rate:,.0f} s left" if progress.total is not None and rate else ""
        return f"{progress.phase}: {progress.done:,}{of} {progress.unit}, {rate:,.0f}/s{left}"

    def metric(self, values: Mapping[str, float | int | str]) -> None:
        """Curves are for the run's files; a terminal shows the progress only."""

    def cancelled(self) -> bool:
        """A terminal asks by Ctrl-C, which the run hears itself."""
        return False
