"""What a sample of a source's rows becomes through the template and the mask; kept while source, target and supervision stay the same."""

from dataclasses import dataclass, field

import streamlit as st

from core.chat import FastPath, Supervision
from core.mix import Recipe
from pages.components import current
from pages.components.planning import choices_of, imported_stamp, supervision_of, target_of, target_stamp

SAMPLE = 60
"""Rows looked at per source of a mix: enough to see what is frequent, few enough to be done while a page opens."""
LARGE_SAMPLE = 500
"""Rows looked at of the one source that a page shows: about half a second on one core."""
CUT = "cut"
_BATCH = 64


@dataclass(frozen=True)
class Sample:
    """`lengths` in tokens per training row, `shares` trainable per training row, `dropped` reason → rows of the source, `cut` rows
    of the source with a training row that was cut.
    """

    rows: int
    lengths: list[int] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    dropped: dict[str, list[int]] = field(default_factory=dict)


def sample_of(recipe: Recipe, source: str, supervision: Supervision | None = None, size: int = SAMPLE) -> Sample:
    """The sample of one source; its rows are spread evenly over the source."""
    chosen = supervision or supervision_of(recipe)
    stamps = (imported_stamp(source), *target_stamp(recipe.target))
    return _sample(recipe, chosen, source, size, f"{choices_of(recipe)} {chosen}", stamps)


@st.cache_data(max_entries=200, show_spinner="Looking at a sample of rows")
def _sample(
    _recipe: Recipe,
    _supervision: Supervision,
    source: str,
    size: int,
    choices: str,  # noqa: ARG001  part of the cache's key, as the next one
    stamps: tuple[float, ...],  # noqa: ARG001
) -> Sample:
    opened = current.library().source(source)
    kept = [row["row"] for row in opened.index().select(["row", "status"]).to_pylist() if row["status"] == "kept"]
    chosen = [kept[place * len(kept) // min(size, len(kept))] for place in range(min(size, len(kept)))]
    fast = FastPath(target_of(_recipe), _supervision)
    sample = Sample(len(chosen))
    for start in range(0, len(chosen), _BATCH):
        rows = chosen[start : start + _BATCH]
        for row, made in zip(rows, fast.supervise_batch(list(opened.conversations(rows))), strict=True):
            for training in made.rows:
                sample.lengths.append(len(training.input_ids))
                sample.shares.append(float(training.loss_mask.mean()))
            if any(training.truncated for training in made.rows):
                sample.cut.append(row)
            for lost in made.dropped:
                sample.dropped.setdefault(lost.reason, []).append(row)
    return sample
