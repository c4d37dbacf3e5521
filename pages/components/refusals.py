"""What the target's template would refuse of a mix, found on a sample before any work is done."""

import streamlit as st

from core.mix import Recipe
from pages.components.numbers import count, percent
from pages.components.page import plain
from pages.components.sampling import SAMPLE, sample_of


def refusal_banner(recipe: Recipe) -> None:
    """Say how many sampled rows of the mix would be dropped and why; nothing when none would be."""
    used = [entry.name for entry in recipe.sources if entry.weight > 0]
    looked = 0
    dropped: dict[str, list[tuple[str, int]]] = {}
    for name in used:
        sample = sample_of(recipe, name)
        looked += sample.rows
        for reason, rows in sample.dropped.items():
            dropped.setdefault(reason, []).extend((name, row) for row in dict.fromkeys(rows))
    total = len({row for rows in dropped.values() for row in rows})
    if not looked:
        return
    if not total:
        st.caption(f":material/check: The template takes all of {count(looked)} sampled rows (up to {SAMPLE} per source of the mix).")
        return
    reasons = ", ".join(f"{words(reason)} ({len(rows)})" for reason, rows in sorted(dropped.items(), key=lambda item: -len(item[1])))
    share = percent(total / looked)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/warning: **{share} of {count(looked)} sampled rows are not trained on in whole:** {plain(reasons)}")
        with st.popover("See rows", type="tertiary"):
            for reason, rows in sorted(dropped.items(), key=lambda item: -len(item[1])):
                row_link(*rows[0], f"one of {count(len(rows))}: {words(reason)}", ":material/search:")


def row_link(source: str, row: int, label: str, icon: str) -> None:
    """A link to a row under the settings that the page has now."""
    query = {name: value for name, value in st.query_params.items() if name not in ("search", "training_row")}
    st.page_link("pages/preview.py", label=plain(label), icon=icon, query_params={**query, "source": source, "row": str(row)})


def words(reason: str) -> str:
    """A reason's code as words."""
    code, _, detail = reason.partition(":")
    known = {"refused": "the template refuses it", "too_long": "longer than the limit", "flagged_off": "flagged off by the data"}
    return ": ".join(filter(None, (known.get(code, code.replace("_", " ")), detail.replace("_", " "))))
