"""What the target's template would refuse of a mix, found on a sample before any work is done."""

import html
from collections.abc import Iterable

import streamlit as st

from core.chat import Forecast
from core.mix import Recipe
from pages.components.numbers import count, percent
from pages.components.page import plain
from pages.components.sampling import SAMPLE, sample_of
from pages.components.visible import visible


def refusal_banner(recipe: Recipe) -> None:
    """Say how many sampled rows of the mix would be dropped and why; only a line when none would be. Source by source on demand."""
    samples = [sample_of(recipe, entry.name) for entry in recipe.sources if entry.weight > 0]
    looked = sum(sample.rows for sample in samples)
    first: dict[str, tuple[str, int]] = {}
    amounts: dict[str, int] = {}
    for sample in samples:
        for loss in sample.losses:
            first.setdefault(loss.reason, (sample.source, loss.rows[0]))
            amounts[loss.reason] = amounts.get(loss.reason, 0) + len(loss.rows)
    total = sum(len({row for loss in sample.losses for row in loss.rows}) for sample in samples)
    if not looked:
        return
    if not total:
        st.caption(f":material/check: The template takes all of {count(looked)} sampled rows (up to {SAMPLE} per source of the mix).")
        return
    frequent = sorted(amounts, key=lambda reason: -amounts[reason])
    reasons = ", ".join(f"{words(reason)} ({amounts[reason]})" for reason in frequent)
    share = percent(total / looked)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/warning: **{share} of {count(looked)} sampled rows are not trained on in whole:** {plain(reasons)}")
        with st.popover("See rows", type="tertiary"):
            for reason in frequent:
                row_link(*first[reason], f"one of {count(amounts[reason])}: {words(reason)}", ":material/search:")
            st.html(losses_table(samples))


def losses_table(samples: Iterable[Forecast]) -> str:
    """HTML of what is lost of each source, reason by reason. Everything in it is text."""
    rows = [
        f"<tr><td>{html.escape(sample.source)}</td><td>{len(loss.rows):,} of {sample.rows:,}</td>"
        f"<td>{visible(loss.meaning)}</td><td>{html.escape(loss.remedy)}</td></tr>"
        for sample in samples
        for loss in sample.losses
    ]
    head = "<tr><th>source</th><th>rows</th><th>why</th><th>what would save them</th></tr>"
    return f'<table class="md-tools">{head}{"".join(rows)}</table>'


def row_link(source: str, row: int, label: str, icon: str) -> None:
    """A link to a row under the settings that the page has now."""
    query = {name: value for name, value in st.query_params.items() if name not in ("search", "training_row")}
    st.page_link("pages/preview.py", label=plain(label), icon=icon, query_params={**query, "source": source, "row": str(row)})


def words(reason: str) -> str:
    """A reason's code as words."""
    code, _, detail = reason.partition(":")
    known = {"refused": "the template refuses it", "too_long": "longer than the limit", "flagged_off": "flagged off by the data"}
    return ": ".join(filter(None, (known.get(code, code.replace("_", " ")), detail.replace("_", " "))))
