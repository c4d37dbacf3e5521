"""What a dataset holds and what proves it: per source, by length and trainable share, and check by check."""

from pathlib import Path

import streamlit as st

from core.tokens import VerifyReport, verify
from pages.components import charts, current
from pages.components.dataset_rows import dropped_rows, sample_rows
from pages.components.dataset_vocabulary import vocabulary
from pages.components.datasets import Dataset, lengths, shares
from pages.components.numbers import count, moment, percent, short, size
from pages.components.page import checks, figures
from pages.components.refusals import words


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
        _shares(dataset)
    vocabulary(dataset)
    dropped_rows(dataset)
    sample_rows(dataset)
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
            "Repaired": sum(facts["ledger"]["repaired"].values()),
            "Dropped": ", ".join(f"{words(reason)} {count(amount)}" for reason, amount in facts["dropped"].items()) or "none",
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


def _shares(dataset: Dataset) -> None:
    counts = shares(dataset.folder, dataset.made_at)
    st.markdown("**How much of each row is trained on**")
    edges = [100 * place / len(counts) for place in range(len(counts) + 1)]
    charts.show(
        charts.histogram(edges, counts, x="trainable share of a row (%)", y="rows"),
        key="dataset-shares",
        height=260,
        alt="Trainable shares of training rows",
    )
    manifest = dataset.manifest
    st.caption(
        f"Over all rows {percent(manifest.trainable_tokens / manifest.tokens if manifest.tokens else 0)} of the tokens are trained on."
    )


def _proof(dataset: Dataset) -> None:
    st.markdown("**Verification**")
    report = _verified(dataset.folder, dataset.made_at)
    checks([(check.ok, f"{check.name}: {check.detail}") for check in report.checks])
    st.caption("`mixdown verify` on this folder looks at the same.")


@st.cache_data(max_entries=20, show_spinner="Verifying")
def _verified(folder: Path, made_at: float) -> VerifyReport:  # noqa: ARG001  the time is part of the cache's key
    return verify(folder, workspace=current.workspace())
