"""How long a recipe will take on this machine and what it will come to, from a few of its conversations made for real.

It measures the same work that a run does, into a folder that goes away. It does not plan.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from core.chat import FastPath, Target
from core.mix import Plan, Recipe, select
from core.sources import Library
from core.tokens.manifest import SourceCounts
from core.tokens.marks import units_of
from core.tokens.target import supervision_of
from core.tokens.units import Workbench, run_unit

TRIED = 192
"""Conversations that are made: about a tenth of a second of work once the kinds in them are known."""

REST = 1.2
"""Units, verification and manifest in parts of the units: 1.16 for 20,000 conversations, 1.09 for 100,000 (`benchmarks/README.md`)."""

START = 3.0
"""Seconds until the first unit begins, for a tokenizer of 150,000 tokens (one of 4,000: 1.2): loading and proving the fast ways."""


@dataclass(frozen=True)
class Trial:
    """What the tried conversations came to: rows, tokens, bytes of their shard, and seconds of one process."""

    conversations: int
    rows: int
    tokens: int
    trainable_tokens: int
    bytes: int
    seconds: float

    def expected(self, conversations: int, workers: int = 1) -> "Trial":
        """The same figures for so many conversations of the same mix, start and verification included in the seconds."""
        times = conversations / max(1, self.conversations)
        rows, tokens, trainable, size = (round(times * value) for value in (self.rows, self.tokens, self.trainable_tokens, self.bytes))
        units = times * self.seconds
        seconds = START + units / max(1, workers) + (REST - 1) * units
        return Trial(conversations, rows, tokens, trainable, size, seconds)


def trial(library: Library, recipe: Recipe, made: Plan, target: Target) -> Trial:
    """Make up to `TRIED` conversations of the plan twice, the second time against the clock, when their kinds are known."""
    names = tuple(part.name for part in made.sources)
    first = units_of(select(recipe, made, library))[0]
    unit = replace(first, source=first.source[:TRIED], row=first.row[:TRIED])
    supervision = supervision_of(recipe)
    with TemporaryDirectory() as folder:
        bench = Workbench(Path(folder), names, library, target, supervision, recipe.seed, FastPath(target, supervision))
        run_unit(unit, bench, lambda _: None)
        started = time.perf_counter()
        record = run_unit(unit, bench, lambda _: None)
        seconds = time.perf_counter() - started
    counts = sum(record.counts.values(), SourceCounts())
    return Trial(counts.conversations, counts.rows, counts.tokens, counts.trainable_tokens, record.record.bytes, seconds)
