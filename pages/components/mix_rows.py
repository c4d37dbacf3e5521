"""One line per source on the Mix page: its weight by slider and by number, and what the plan makes of it."""

import html
import math

import streamlit as st

from core.mix import Plan
from pages.components import current
from pages.components.charts import domain_colour
from pages.components.mix_draft import Draft
from pages.components.numbers import count, percent

_WIDTHS = [1.55, 1.5, 0.95, 2.9]


def weight_rows(draft: Draft, plan: Plan | None) -> None:
    """Draw the lines; sources of the library that the recipe does not name can be taken in."""
    with st.container(key="mix-head"):
        cells = st.columns(_WIDTHS)
        cells[0].html('<div class="md-quiet">Source</div>')
        cells[1].html('<div class="md-quiet">Weight</div>')
        cells[3].html('<div class="md-share md-quiet"><span>Rows</span><span>Asked → got</span><span>Epochs</span></div>')
    # Fixed while the draft lives: a slider whose range changes under the pointer is a new slider.
    highest = st.session_state.setdefault(draft.key("top"), max(entry.weight for entry in draft.recipe.sources) * 1.6)
    top = _round_up(max(highest, 10.0))
    for entry in draft.recipe.sources:
        _line(draft, entry.name, entry.weight, top, plan)
    _take_in(draft)


def _line(draft: Draft, name: str, weight: float, top: float, plan: Plan | None) -> None:
    part = next((part for part in plan.sources if part.name == name), None) if plan else None
    domain = part.domain if part else "other"
    step = top / 100
    change = draft.change(name)
    slider, number = draft.key(f"slider-{name}-{change.slider}"), draft.key(f"number-{name}-{change.number}")
    cells = st.columns(_WIDTHS, vertical_alignment="center")
    cells[0].html(
        f'<div style="overflow-wrap:anywhere"><i class="md-dot" style="background:{domain_colour(domain)}"></i>{html.escape(name)}</div>'
    )
    cells[1].slider(
        f"Weight of {name}",
        0.0,
        top,
        value=min(weight, top),
        step=step,
        key=slider,
        on_change=lambda: draft.by_slider(name, st.session_state[slider]),
        label_visibility="collapsed",
        format="%g",
    )
    cells[2].number_input(
        f"Weight of {name}, exactly",
        min_value=0.0,
        value=weight,
        step=step,
        key=number,
        on_change=lambda: draft.by_number(name, st.session_state[number]),
        label_visibility="collapsed",
        format="%g",
    )
    if part is not None:
        cells[3].html(
            f'<div class="md-share"><span data-unit="rows">{count(part.rows)}</span>'
            f"<span>{percent(part.share_requested)} → {percent(part.share_realised)}</span>"
            f'<span data-unit="epochs">{part.epochs:.2f}</span></div>'
            + (f'<div class="md-num md-trouble">{count(part.shortfall)} rows short</div>' if part.shortfall else "")
        )


def _take_in(draft: Draft) -> None:
    named = {entry.name for entry in draft.recipe.sources}
    others = [source for source in current.library().sources() if source.name not in named and source.rows > 0]
    if not others:
        return
    chosen = st.selectbox(
        "Take in another source",
        [None, *(source.name for source in others)],
        format_func=lambda name: name or "choose",
        key=draft.key("in"),
    )
    if chosen:
        draft.by_number(chosen, float(next(source.rows for source in others if source.name == chosen)))
        st.rerun()


def _round_up(value: float) -> float:
    """The next of 1, 2 or 5 times a power of ten, so that a slider's hundredth part is a plain number."""
    power = 10 ** math.floor(math.log10(value))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= value))
