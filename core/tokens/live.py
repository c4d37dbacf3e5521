"""The figures of a run under way, for a watcher: how far it is, how fast, and per source what was kept, repaired and dropped.

It knows what units report. It does not know who looks.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from core.tokens.manifest import SourceCounts, added
from core.tokens.marks import heldout_record, train_record
from core.tokens.units import Unit
from core.watch import Progress

DROPPED = "dropped: "
"""How the count of a reason begins among a source's figures."""


@dataclass
class Live:
    """Sums over the units that are done. `total`: conversations in all; rates count what passed since this object was made."""

    total: int
    clock: Callable[[], float] = time.monotonic
    done: int = 0
    sources: dict[str, dict[str, int]] = field(default_factory=dict)
    _resumed: dict[str, int] = field(default_factory=dict)
    _since: float = field(init=False)

    def __post_init__(self) -> None:
        self._since = self.clock()

    def pass_by(self, count: int) -> None:
        """Count conversations that went through, of units done or not."""
        self.done += count

    def take(self, folder: Path, unit: Unit) -> None:
        """Add what a unit came to."""
        self._add(folder, unit, 1)

    def start(self) -> None:
        """What was taken so far is from an earlier run: rates count from here."""
        self._resumed, self._since = self._sums(), self.clock()

    def give_back(self, folder: Path, unit: Unit) -> None:
        """Take away what a unit came to that is to be done again."""
        self.done -= len(unit.row)
        self._add(folder, unit, -1)

    def progress(self) -> Progress:
        """The newest state: totals and whole rates (rows and tokens per second), and every source's own figures."""
        sums, seconds = self._sums(), self.clock() - self._since
        counts = {name: sums.get(name, 0) for name in ("rows", "tokens", "trainable_tokens", "dropped")}
        if sums.get("heldout"):
            counts["heldout"] = sums["heldout"]
        if seconds > 0:
            rates = {f"{name}_per_second": (sums.get(name, 0) - self._resumed.get(name, 0)) / seconds for name in ("rows", "tokens")}
            counts |= {name: round(rate) for name, rate in rates.items() if rate > 0}
        return Progress(
            "tokenize", self.done, self.total, "conversations", counts, {name: dict(part) for name, part in self.sources.items()}
        )

    def _sums(self) -> dict[str, int]:
        sums: dict[str, int] = {}
        for part in self.sources.values():
            for name, count in part.items():
                short = "dropped" if name.startswith(DROPPED) else name
                sums[short] = sums.get(short, 0) + count
        return sums

    def _add(self, folder: Path, unit: Unit, times: int) -> None:
        if unit.kind == "heldout":
            made = {name: {"heldout": count} for name, count in heldout_record(folder, unit).by_source.items()}
        else:
            record = train_record(folder, unit)
            made = {name: figures_of(counts, record.repaired.get(name, 0)) for name, counts in record.counts.items()}
        for name, figures in made.items():
            now = added(self.sources.get(name, {}), {key: times * count for key, count in figures.items()})
            self.sources[name] = {key: count for key, count in now.items() if count or not key.startswith(DROPPED)}


def figures_of(counts: SourceCounts, repaired: int) -> dict[str, int]:
    """One source's figures: conversations, how many were kept and repaired, rows, tokens, and drops by reason."""
    names = ("conversations", "kept", "rows", "tokens", "trainable_tokens")
    drops = {DROPPED + reason: count for reason, count in counts.dropped.items()}
    return {name: getattr(counts, name) for name in names} | {"repaired": repaired} | drops
