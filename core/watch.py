"""How long work reports to whoever watches it, and how it learns that it should stop.

Domain code takes a `Watcher` and calls it; it does not know whether a run on disk, a terminal or a test listens.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from core.errors import MixdownError


class Cancelled(MixdownError):
    """The watcher asked the work to stop; nothing half-written is left."""


@dataclass(frozen=True)
class Progress:
    """Where the work stands: `done` of `total` (None while unknown), counted in `unit` ("rows", "tokens", "steps").

    `phase` is a short word for people ("import openorca", "capture hidden states"). `counts` are further live figures
    (rows kept, dropped by reason, ...), each shown as it is; `sources` the same kind of figures for each source by its name.
    """

    phase: str
    done: int
    total: int | None
    unit: str
    counts: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


class Watcher(Protocol):
    """What long work talks to."""

    def progress(self, progress: Progress) -> None:
        """Take the newest state; cheap enough to be called for every batch."""

    def metric(self, values: Mapping[str, float | int | str]) -> None:
        """Take one line of a curve (a training step, a validation)."""

    def cancelled(self) -> bool:
        """Whether the work should stop at its next safe point and raise `Cancelled`."""


class Unwatched:
    """A watcher for callers that do not care: drops everything, never cancels."""

    def progress(self, progress: Progress) -> None:
        """Drop it."""

    def metric(self, values: Mapping[str, float | int | str]) -> None:
        """Drop it."""

    def cancelled(self) -> bool:
        """Never."""
        return False


def stop_if_cancelled(watcher: Watcher) -> None:
    """Raise `Cancelled` when the watcher asks to stop."""
    if watcher.cancelled():
        raise Cancelled("The run was cancelled.")
