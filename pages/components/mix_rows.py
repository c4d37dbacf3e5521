"""One line per source on the Mix page: weight by slider and by number, unit and caps, and what the plan makes of it."""

import html
import math

import streamlit as st

from core.mix import UNITS, PlannedSource, RecipeSource
from pages.components import current
from pages.components.charts import domain_colour
from pages.components.mix_draft import Draft
from pages.components.numbers import count, percent, plural, short
from pages.components.planning import Planned

_WIDTHS = [2.0, 1.9, 1.25, 0.4, 1.5]
UNIT_WORDS = {"rows": "conversations", "tokens": "tokens", "trainable_tokens": "trainable tokens"}
_UNIT_SHORT = {"rows": "rows", "tokens": "tokens", "trainable_tokens": "trainable"}
_HEADS = ("Rows", "Tokens", "Trainable", "Share asked → got", "Epochs")


def weight_rows(draft: Draft, found: Planned | None, warnings: dict[str, list[str]]) -> None:
    """Draw the lines; sources of the library that the recipe does not name can be taken in."""
    with st.container(key="mix-head"):
        cells = st.columns(_WIDTHS)
        for cell, head in zip(cells, ("Source", "Weight", "", "Keep", "Unit, cap"), strict=True):
            cell.html(f'<div class="md-quiet">{head}</div>')
        st.html(f'<div class="md-mix md-quiet">{"".join(f"<span>{head}</span>" for head in _HEADS)}</div>')
    parts = {part.name: part for part in found.plan.sources} if found else {}
    top = _top(draft)
    with st.container(key="mix-rows"):
        for entry in draft.recipe.sources:
            _line(draft, entry, parts.get(entry.name), top, warnings.get(entry.name, []))
    _take_in(draft)


def _top(draft: Draft) -> float:
    """The end of all sliders, fixed while it is far enough: a slider whose range changes under the pointer is a new slider."""
    key = f"mix-top-{draft.saved.name}"
    highest = max(entry.weight for entry in draft.recipe.sources)
    if highest > st.session_state.get(key, 0.0):
        st.session_state[key] = _round_up(max(highest * 1.6, 10.0))
    return float(st.session_state.get(key, 10.0))


def _line(draft: Draft, entry: RecipeSource, part: PlannedSource | None, top: float, warnings: list[str]) -> None:
    name, weight, step = entry.name, float(entry.weight), top / 100
    st.html('<div class="md-line"></div>')
    cells = st.columns(_WIDTHS, vertical_alignment="center")
    dot = f'<i class="md-dot" style="background:{domain_colour(part.domain if part else "other")}"></i>'
    cells[0].html(f'<div class="md-name">{dot}{html.escape(name)}</div>')
    cells[1].slider(
        f"Weight of {name}",
        0.0,
        top,
        value=min(weight, top),
        step=step,
        label_visibility="collapsed",
        format="%g",
        **draft.on_change(f"slider-{name}-{top:g}", min(weight, top), lambda said: draft.weigh(name, float(said))),
    )
    cells[2].number_input(
        f"Weight of {name}, exactly",
        min_value=0.0,
        value=weight,
        step=step,
        label_visibility="collapsed",
        format="%g",
        **draft.on_change(f"number-{name}", weight, lambda said: draft.weigh(name, float(said or 0.0))),
    )
    locked = name in draft.locked
    cells[3].checkbox(
        f"Keep the weight of {name}",
        value=locked,
        label_visibility="collapsed",
        **draft.on_change(f"lock-{name}", locked, lambda said: draft.lock(name, locked=said)),
    )
    with cells[4]:
        _settings(draft, entry)
    st.html(_figures(part) + "".join(f'<div class="md-warn">{html.escape(warning)}</div>' for warning in warnings))


def _figures(part: PlannedSource | None) -> str:
    if part is None:
        return '<div class="md-mix"></div>'
    about = "" if part.exact else "≈\u2009"
    tokens, trainable = (f"{about}{short(value)}" if value is not None else "–" for value in (part.tokens, part.trainable_tokens))
    cells = (
        ("rows", count(part.rows)),
        ("tokens", tokens),
        ("trainable", trainable),
        ("", f"{percent(part.share_requested)} → {percent(part.share_realised)}"),
        ("epochs", f"{part.epochs:.2f}"),
    )
    return f'<div class="md-mix">{"".join(f"<span data-unit={unit!r}>{value}</span>" for unit, value in cells)}</div>'


def _settings(draft: Draft, entry: RecipeSource) -> None:
    name = entry.name
    cap = f"≤ {entry.max_epochs:g}×" + (f", {short(entry.max_rows)}" if entry.max_rows else "")
    place = st.popover(
        f"{_UNIT_SHORT[entry.unit]} {cap}", key=f"mix-settings-{draft.saved.name}-{name}", on_change="rerun", type="tertiary"
    )
    if not place.open:
        return
    with place:
        st.selectbox(
            f"Unit of the weight of {name}",
            UNITS,
            index=UNITS.index(entry.unit),
            format_func=UNIT_WORDS.__getitem__,
            help="What the weight weighs: 2 in tokens gives as many tokens as another source's 2 in conversations gives conversations.",
            **draft.on_change(f"unit-{name}", entry.unit, lambda said: draft.edit_source(name, "unit", unit=said)),
        )
        st.number_input(
            f"Epoch cap of {name}",
            min_value=0.01,
            value=float(entry.max_epochs),
            step=0.5,
            format="%g",
            help="How often each of its rows may be used.",
            **draft.on_change(
                f"epochs-{name}", float(entry.max_epochs), lambda said: draft.edit_source(name, "epoch cap", max_epochs=float(said or 1))
            ),
        )
        st.number_input(
            f"Row cap of {name}",
            min_value=1,
            value=entry.max_rows,
            step=1000,
            placeholder="none",
            **draft.on_change(f"cap-{name}", entry.max_rows, lambda said: draft.edit_source(name, "row cap", max_rows=said)),
        )
        with st.container(horizontal=True):
            st.page_link("pages/sources.py", label="Look at its rows", icon=":material/database:", query_params={"open": name})
            alone = len(draft.recipe.sources) == 1
            st.button(
                "Leave out",
                key=f"mix-out-{draft.saved.name}-{name}",
                icon=":material/remove:",
                disabled=alone,
                on_click=lambda: draft.leave_out(name),
            )


def _take_in(draft: Draft) -> None:
    named = {entry.name for entry in draft.recipe.sources}
    others = {source.name: source.rows for source in current.library().sources() if source.name not in named and source.rows > 0}
    if not others:
        return
    key = f"mix-in-{draft.saved.name}-{len(named)}"

    def take() -> None:
        if chosen := st.session_state[key]:
            draft.take_in(chosen, others[chosen])

    st.selectbox(
        "Take in another source",
        [None, *others],
        format_func=lambda name: f"{name}, {plural(others[name], 'row')}" if name else "choose",
        key=key,
        on_change=take,
    )


def _round_up(value: float) -> float:
    """The next of 1, 2 or 5 times a power of ten, so that a slider's hundredth part is a plain number."""
    power = 10 ** math.floor(math.log10(value))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= value))
