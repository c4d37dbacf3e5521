"""A sample of a source in numbers and pictures: how long its rows become, how much of them is trained on, what is dropped."""

import numpy as np
import streamlit as st

from core.chat import Forecast, Supervision
from core.mix import Recipe
from core.sources import Source
from pages.components import charts
from pages.components.numbers import count, percent, plural
from pages.components.page import figures, plain
from pages.components.refusals import row_link, words
from pages.components.sampling import LARGE_SAMPLE, sample_of


def sample_view(recipe: Recipe, supervision: Supervision, source: Source) -> None:
    """Draw it for one source."""
    sample = sample_of(recipe, source.name, supervision, LARGE_SAMPLE)
    if not sample.rows:
        return
    amount = f"all {count(sample.rows)} rows" if sample.exact else f"a sample of {count(sample.rows)} rows"
    st.subheader(f"{plain(source.title or source.name)}: {amount}", anchor=False)
    if sample.lengths:
        _numbers(sample)
        left, right = st.columns(2, gap="medium")
        with left:
            _lengths(sample, supervision.seq_length)
        with right:
            _shares(sample)
    for loss in sample.losses:
        turns = f" ({count(loss.turns)} turns)" if loss.turns > len(loss.rows) else ""
        label = f"{plural(len(loss.rows), 'row')} not trained on{turns}: {words(loss.reason)}"
        row_link(source.name, loss.rows[0], label, ":material/block:")
        if loss.remedy:
            st.caption(f"What would save them: {plain(loss.remedy)}.")
    if sample.cut:
        row_link(source.name, sample.cut[0], f"{plural(len(sample.cut), 'row')} cut at the limit", ":material/content_cut:")
    if not sample.losses and not sample.cut:
        st.caption(":material/check: Nothing is refused, dropped or cut.")


def _numbers(sample: Forecast) -> None:
    share = float(np.average(sample.shares, weights=sample.lengths))
    per = len(sample.lengths) / sample.rows
    figures(
        [
            (percent(share, 0), "of tokens trainable"),
            (count(float(np.median(sample.lengths))), "tokens in the median row"),
            (count(max(sample.lengths)), "in the longest"),
            (count(per) if per == round(per) else f"{per:.1f}", "training rows per conversation"),
        ]
    )


def _lengths(sample: Forecast, limit: int) -> None:
    # Drawn in wherever it does not squeeze the bars into a corner; else said in words.
    near = limit <= max(sample.lengths) * 3
    counts, edges = np.histogram(sample.lengths, bins=24, range=(0, max(sample.lengths)))
    charts.show(
        charts.histogram(
            edges.tolist(),
            counts.tolist(),
            x="tokens in a training row",
            y="training rows",
            limit=limit if near else None,
            limit_text=f"limit {limit:,}",
        ),
        key="sample-lengths",
        height=240,
        alt="Lengths of training rows in the sample",
    )
    if not near:
        st.caption(f"The limit, {count(limit)} tokens, lies far to the right.")


def _shares(sample: Forecast) -> None:
    counts, edges = np.histogram(np.array(sample.shares) * 100, bins=20, range=(0, 100))
    charts.show(
        charts.histogram(edges.tolist(), counts.tolist(), x="trainable share of a training row (%)", y="training rows"),
        key="sample-shares",
        height=240,
        alt="Trainable shares of training rows in the sample",
    )
