"""The curve of a training that goes on in a new run: what was said before the stop is kept beside its checkpoints and told again first.

It knows points that have a step; it trains nothing.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from core.runs.files import append_line, read_lines
from core.watch import Progress, Watcher

CURVE = "curve.jsonl"
"""In the folder where a training works: its points so far, of all its runs."""

Point = Mapping[str, float | int | str]


class WholeCurve:
    """A watcher that passes everything on to another; points go into `folder` too, where that is there.

    Where a training goes on after step N, the kept points up to N are passed on before its first one: those after the checkpoint, which
    a kill left behind, are said anew by the training itself.
    """

    def __init__(self, watcher: Watcher, folder: Path) -> None:
        self._watcher, self._file = watcher, folder / CURVE
        self._before = read_lines(self._file)
        self._begun = False

    def progress(self, progress: Progress) -> None:
        """Passed on."""
        self._watcher.progress(progress)

    def cancelled(self) -> bool:
        """As the other says."""
        return self._watcher.cancelled()

    def metric(self, values: Point) -> None:
        """Passed on and kept, after the points of the steps before it."""
        if not self._begun:
            self._tell_again([point for point in self._before if int(point.get("step", 0)) < int(values["step"])])
        self._watcher.metric(values)
        with suppress(OSError):  # a curve is no reason to lose a training
            append_line(self._file, values)

    def ended(self) -> None:
        """The training is over; where it had no step left to do, its curve is all that was kept."""
        if not self._begun:
            self._tell_again(self._before)

    def _tell_again(self, points: list[dict[str, float | int | str]]) -> None:
        self._begun = True
        for point in points:
            self._watcher.metric(point)
        if self._file.is_file():
            with suppress(OSError):
                beside = self._file.with_name(f"{CURVE}.writing")
                beside.write_text("".join(json.dumps(point) + "\n" for point in points), "utf-8")
                beside.replace(self._file)
