"""What the target's template would refuse of a mix, found on a sample before any work is done."""

import streamlit as st

from core.mix import Recipe
from pages.components.numbers import count, percent
from pages.components.page import plain
from pages.components.sampling import SAMPLE, sample_of


def refusal_banner(recipe: Recipe) -> None:
    """Say how many sampled rows of the mix would be dropped and why; nothing when none would be."""
    used = [entry.name for entry in recipe.sources if entry.weight > 0]
    looked, dropped = 0, {}
    for name in used:
        sample = sample_of(recipe, name)
        looked += sample.rows
        for reason, rows in sample.dropped.items():
            dropped.setdefault(reason, []).extend((name, row) for row in rows)
    total = sum(map(len, dropped.values()))
    if not looked:
        return
    if not total:
        st.caption(f":material/check: The template takes all of {count(looked)} sampled rows (up to {SAMPLE} per source of the mix).")
        return
    reasons = ", ".join(f"{words(reason)} ({len(rows)})" for reason, rows in sorted(dropped.items(), key=lambda item: -len(item[1])))
    with st.container(border=True):
        st.markdown(
            f":material/warning: **{percent(total / looked)} of {count(looked)} sampled rows give nothing to train on:** {plain(reasons)}"
        )
        with st.container(horizontal=True):
            for reason, rows in sorted(dropped.items(), key=lambda item: -len(item[1]))[:4]:
                source, row = rows[0]
                st.page_link(
                    "pages/preview.py",
                    label=plain(f"see one: {words(reason)}"),
                    icon=":material/search:",
                    query_params={"source": source, "row": str(row)},
                )


def words(reason: str) -> str:
    """A reason's code as words."""
    return reason.replace("_", " ").replace(":", ": ")
