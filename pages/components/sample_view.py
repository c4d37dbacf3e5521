"""A sample of a source in numbers and a picture: how long its rows become, how much of them is trained on, what is dropped."""

import numpy as np
import streamlit as st

from core.chat import Supervision
from core.mix import Recipe
from core.sources import Source
from pages.components import charts
from pages.components.numbers import count, percent
from pages.components.page import figures, plain
from pages.components.refusals import words
from pages.components.sampling import sample_of


def sample_view(recipe: Recipe, supervision: Supervision, source: Source) -> None:
    """Draw it for one source."""
    sample = sample_of(recipe, source.name, supervision)
    if not sample.rows:
        return
    st.subheader(f"{plain(source.title or source.name)} in a sample of {count(sample.rows)} rows", anchor=False)
    if sample.lengths:
        share = float(np.average(sample.shares, weights=sample.lengths))
        figures(
            [
                (count(float(np.median(sample.lengths))), "tokens in the median row"),
                (count(max(sample.lengths)), "in the longest"),
                (percent(share, 0), "of tokens trainable"),
                (
                    count(len(sample.lengths) / sample.rows)
                    if len(sample.lengths) % sample.rows == 0
                    else f"{len(sample.lengths) / sample.rows:.1f}",
                    "training rows per conversation",
                ),
                (count(sample.truncated), "cut"),
            ]
        )
        counts, edges = np.histogram(sample.lengths, bins=24)
        limit = supervision.seq_length if supervision.seq_length <= max(sample.lengths) * 1.5 else None
        charts.show(
            charts.histogram(
                edges.tolist(), counts.tolist(), x="tokens in a training row", y="training rows", limit=limit, limit_text="limit"
            ),
            key="sample-lengths",
            height=240,
            alt="Lengths of training rows in the sample",
        )
    for reason, rows in sorted(sample.dropped.items(), key=lambda item: -len(item[1])):
        st.page_link(
            "pages/preview.py",
            label=f"{count(len(rows))} dropped: {plain(words(reason))}",
            icon=":material/block:",
            query_params={"source": source.name, "row": str(rows[0])},
        )
