"""What a dataset holds and what proves it: per source, by length, by vocabulary, and check by check."""

from pathlib import Path

import streamlit as st

from core.tokens import VerifyReport, coverage, read_frequencies, verify
from pages.components import charts, current
from pages.components.datasets import Dataset, lengths
from pages.components.numbers import count, moment, percent, short, size
from pages.components.page import checks, figures

_POINTS = 24
"""Points of the coverage curve, each a quarter octave below the next, the last at every token that is supervised at all."""


def dataset_report(dataset: Dataset) -> None:
    """Draw the report."""
    manifest = dataset.manifest
    st.subheader(dataset.name, anchor=False)
    figures(
        [
            (count(manifest.conversations), "conversations"),
            (count(manifest.rows), "training rows"),
            (short(manifest.tokens), "tokens"),
            (
                short(manifest.trainable_tokens),
                f"trainable ({percent(manifest.trainable_tokens / manifest.tokens if manifest.tokens else 0, 0)})",
            ),
            (count(manifest.heldout["prompts"]), "held-out prompts"),
            (size(sum(file["bytes"] for file in manifest.files.values())), "on disk"),
        ]
    )
    st.caption(f"Finished {moment(dataset.made_at)} UTC at {dataset.folder}")
    _sources(dataset)
    left, right = st.columns(2, gap="large")
    with left:
        _lengths(dataset)
    with right:
        _coverage(dataset)
    _proof(dataset)


def _sources(dataset: Dataset) -> None:
    rows = [
        {
            "Source": name,
            "Conversations": facts["conversations"],
            "Kept": facts["kept"],
            "Training rows": facts["rows"],
            "Tokens": facts["tokens"],
            "Trainable": facts["trainable_tokens"] / facts["tokens"] if facts["tokens"] else 0.0,
            "Cut": facts["truncated"],
            "Dropped": ", ".join(f"{reason} {amount}" for reason, amount in facts["dropped"].items()) or "none",
        }
        for name, facts in dataset.manifest.sources.items()
    ]
    st.dataframe(
        rows,
        hide_index=True,
        height=38 + 35 * len(rows),
        column_config={
            "Trainable": st.column_config.NumberColumn(format="percent"),
            **{
                name: st.column_config.NumberColumn(format="localized")
                for name in ("Conversations", "Kept", "Training rows", "Tokens", "Cut")
            },
        },
    )


def _lengths(dataset: Dataset) -> None:
    found = lengths(dataset.folder, dataset.made_at)
    st.markdown("**How long the rows are**")
    limit = dataset.manifest.seq_length if dataset.manifest.seq_length <= 1.5 * found.longest else None
    charts.show(
        charts.histogram(found.edges, found.counts, x="tokens in a row", y="rows", limit=limit, limit_text="limit"),
        key="dataset-lengths",
        height=260,
        alt="Lengths of training rows",
    )
    st.caption(
        f"Median {count(found.median)} tokens, longest {count(found.longest)}; rows are cut at {count(dataset.manifest.seq_length)}."
    )


def _coverage(dataset: Dataset) -> None:
    frequencies = read_frequencies(dataset.folder / "token_freq.pt")
    sizes = sorted({max(1, round(len(frequencies) * 2 ** (-step / 4))) for step in range(_POINTS)})
    covered = coverage(frequencies, sizes)
    st.markdown("**What a smaller draft vocabulary would cover**")
    figure = charts.curve(sizes, {"covered": covered}, x_title="tokens in the draft vocabulary", y_title="of supervised tokens")
    figure.update_yaxes(tickformat=".0%", range=[0, 1.05])
    figure.update_xaxes(rangemode="tozero")
    charts.show(figure, key="dataset-coverage", height=260, alt="Share of supervised tokens that a draft vocabulary of each size covers")
    st.caption(f"{count(len(frequencies))} different tokens are supervised at least once.")


def _proof(dataset: Dataset) -> None:
    st.markdown("**Verification**")
    report = _verified(dataset.folder, dataset.made_at)
    checks([(check.ok, f"{check.name}: {check.detail}") for check in report.checks])
    st.caption("`mixdown verify` on this folder looks at the same.")


@st.cache_data(max_entries=20, show_spinner="Verifying")
def _verified(folder: Path, made_at: float) -> VerifyReport:  # noqa: ARG001  the time is part of the cache's key
    return verify(folder, workspace=current.workspace())
