"""What a sample of a source's rows becomes through the template and the mask; kept while source, target and supervision stay the same."""

from dataclasses import dataclass, field

import streamlit as st

from core.chat import Supervision, supervise
from core.mix import Recipe
from pages.components import current
from pages.components.planning import choices_of, imported_stamp, supervision_of, target_of

SAMPLE = 60
"""Rows looked at per source: enough to see what is frequent, few enough to be done while a page opens."""


@dataclass(frozen=True)
class Sample:
    """`lengths` in tokens per training row, `shares` trainable per training row, `dropped` reason → rows of the source."""

    rows: int
    lengths: list[int] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    truncated: int = 0
    dropped: dict[str, list[int]] = field(default_factory=dict)


def sample_of(recipe: Recipe, source: str, supervision: Supervision | None = None) -> Sample:
    """The sample of one source; its rows are spread evenly over the source."""
    chosen = supervision or supervision_of(recipe)
    return _sample(recipe, chosen, source, f"{choices_of(recipe)} {chosen}", imported_stamp(source))


@st.cache_data(max_entries=200, show_spinner="Looking at a sample of rows")
def _sample(_recipe: Recipe, _supervision: Supervision, source: str, choices: str, imported: float) -> Sample:  # noqa: ARG001  the last two are the cache's key
    opened, target = current.library().source(source), target_of(_recipe)
    kept = [row["row"] for row in opened.index().select(["row", "status"]).to_pylist() if row["status"] == "kept"]
    chosen = kept[:: max(1, len(kept) // SAMPLE)][:SAMPLE]
    lengths, shares, truncated, dropped = [], [], 0, {}
    for row, conversation in zip(chosen, opened.conversations(chosen), strict=True):
        made = supervise(conversation, target, _supervision)
        for training in made.rows:
            lengths.append(len(training.input_ids))
            shares.append(float(training.loss_mask.mean()))
            truncated += training.truncated
        for lost in made.dropped:
            dropped.setdefault(lost.reason, []).append(row)
    return Sample(len(chosen), lengths, shares, truncated, dropped)
