"""What is imported, one line a source: how much of it can be used, what is in it, and what should not be mixed with it."""

import html
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.sources import Source
from pages.components import current
from pages.components.numbers import size
from pages.components.page import go
from pages.components.source_about import languages


def imported_table(sources: Sequence[Source]) -> None:
    """Draw it; a selected line opens its source."""
    overlaps: dict[str, list[str]] = {}
    pairs = current.library().overlaps()
    for first, second, _ in pairs:
        overlaps.setdefault(first, []).append(second)
        overlaps.setdefault(second, []).append(first)
    frame = pd.DataFrame([_line(source, overlaps.get(source.name, [])) for source in sources])
    event = st.dataframe(
        frame,
        hide_index=True,
        key="imported-table",
        on_select="rerun",
        selection_mode="single-row",
        height=min(700, 38 + 35 * len(frame)),
        column_config={
            "Share kept": st.column_config.ProgressColumn("Share kept", format="%.1f %%", min_value=0, max_value=100, width=120),
            "With tools": st.column_config.NumberColumn("With tools", format="%.1f %%"),
            "With reasoning": st.column_config.NumberColumn("With reasoning", format="%.1f %%"),
            "Mean turns": st.column_config.NumberColumn("Mean turns", format="%.1f"),
            **{name: st.column_config.NumberColumn(name, format="localized") for name in ("Rows", "Kept", "Prompt only", "Quarantined")},
        },
    )
    st.caption("Select a line to open that source.")
    if pairs:
        st.markdown("**Overlaps: mix these pairs only with duplicates removed**")
        lines = "".join(
            f"<tr><td>{html.escape(first)}</td><td>{html.escape(second)}</td><td>{html.escape(why)}</td></tr>"
            for first, second, why in pairs
        )
        st.html(f'<table class="md-tools">{lines}</table>')
    chosen = event["selection"]["rows"] if event else []
    if chosen and chosen[0] < len(sources):
        go("pages/sources.py", open=sources[chosen[0]].name)


def _line(source: Source, overlapping: Sequence[str]) -> dict[str, object]:
    ledger, statistics = source.ledger, source.statistics
    warnings = [f"overlaps {', '.join(overlapping)}"] if overlapping else []
    warnings += [source.problem] if source.problem else []
    return {
        "Source": source.name,
        "Rows": ledger.read,
        "Share kept": 100 * ledger.kept / ledger.read if ledger.read else 0.0,
        "Kept": ledger.kept,
        "Prompt only": ledger.prompt_only,
        "Quarantined": ledger.quarantined,
        "Mean turns": statistics.mean_turns,
        "With tools": 100 * statistics.tools_share,
        "With reasoning": 100 * statistics.reasoning_share,
        "Languages": languages(source),
        "Size": size(source.origin.bytes),
        "Revision": source.origin.revision[:10],
        "Warnings": "; ".join([*warnings, *source.warnings]),
    }
