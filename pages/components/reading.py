"""How the rows of a source will be read, before they are: the dialect found and why, what else is mixed in, a sample converted,
and the choice of another dialect or of columns by hand.

It looks at the first rows only. It does not import.
"""

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.dialects import DIALECTS, ENOUGH_ROWS, PARTS, BadMapping, ColumnMap, Detection, Outcome, Policy, RawRow, convert, detect
from core.sources import Source
from pages.components.codes import sentence
from pages.components.conversation_view import conversation_view
from pages.components.numbers import count, percent, plural
from pages.components.page import figures, plain
from pages.components.raw_row import show_raw
from pages.components.visible import escaped

LOOK = ENOUGH_ROWS
"""Rows that are looked at before an import."""
_FOUND, _DIALECT, _COLUMNS = "as found", "another dialect", "columns by hand"
_DEFAULT = Policy()
_PARTS = {
    "messages": "all turns (a list)",
    "prompt": "the question",
    "context": "what belongs to the question",
    "response": "the answer",
    "reasoning": "the thoughts before the answer",
    "system": "the system text",
    "tools": "the tools",
}


@dataclass(frozen=True)
class Reading:
    """What an import is told: a dialect for every row, or columns by hand; neither where each row's shape decides ({} maps nothing)."""

    dialect: str | None = None
    columns: Mapping[str, str] | None = None


def read_before(source: Source) -> Reading:
    """How a source was read when it was imported."""
    return Reading(source.info.get("dialect_asked_for"), source.info.get("mapping"))


def reading(
    rows: Sequence[RawRow], *, key: str, before: Reading = Reading(), policy: Policy = _DEFAULT, groups: str | None = None
) -> Reading | None:
    """Ask how to read `rows` and show what comes of it under `policy`; None while the choice cannot be read by.

    `before` is what was chosen last, `groups` what is known of row groups further on.
    """
    if not rows:
        st.warning("There is no row in it.", icon=":material/warning:")
        return None
    found = detect(rows)
    _found(found, len(rows))
    if groups:
        st.info(plain(groups), icon=":material/stacks:")
    ways = [_FOUND, _DIALECT, _COLUMNS]
    chosen_before = _COLUMNS if before.columns else _DIALECT if before.dialect else _FOUND
    # A source that no dialect fits is the case that mapping is for.
    start = chosen_before if chosen_before != _FOUND or found.dialect else _COLUMNS
    way = st.segmented_control("Read the rows", ways, default=start, required=True, key=f"way-{key}")
    chosen: Reading | None = Reading(None, {})
    if way == _DIALECT:
        chosen = Reading(_one_dialect(found, before, key), {})
    elif way == _COLUMNS:
        chosen = _mapped(rows, before, key)
    if chosen is None:
        st.caption("The first row as it stands")
        show_raw(rows[0].value)
    else:
        _sample(rows, chosen, policy, key)
    return chosen


def _found(found: Detection, looked_at: int) -> None:
    if found.dialect is None:
        st.warning(plain(f"No known dialect fits. {found.reason} Map its columns by hand below."), icon=":material/help:")
    else:
        title = DIALECTS[found.dialect].title
        st.html(
            f'<div class="md-found"><b>{html.escape(title)}</b> <span class="md-quiet">dialect {html.escape(found.dialect)} · '
            f"score {found.score:.2f}</span><div>{html.escape(found.reason)}</div></div>"
        )
    if len(found.mixture) > 1:
        total = sum(found.mixture.values())
        parts = " · ".join(f"{html.escape(name)} {percent(amount / total)}" for name, amount in found.mixture.items())
        st.html(f'<div class="md-quiet">Mixed, each row is read by its own shape: {parts} of the first {plural(looked_at, "row")}.</div>')


def _one_dialect(found: Detection, before: Reading, key: str) -> str:
    names = sorted(DIALECTS)
    start = before.dialect or found.dialect
    chosen: str = st.selectbox(
        "Read every row as",
        names,
        index=names.index(start) if start in names else 0,
        format_func=lambda name: f"{name}: {DIALECTS[name].title}",
        key=f"dialect-{key}",
    )
    st.caption(plain(f"Rows of this dialect have {DIALECTS[chosen].signature}."))
    return chosen


def _mapped(rows: Sequence[RawRow], before: Reading, key: str) -> Reading | None:
    known = columns_of(rows)
    remembered = dict(before.columns or {})
    st.caption("Say which column holds what: either all turns, or the question and its answer. A dot goes into a column that is an object.")
    columns: dict[str, str] = {}
    places = st.columns(3)
    for number, part in enumerate(PARTS):
        options = list(dict.fromkeys([*known, *filter(None, [remembered.get(part)])]))
        chosen = places[number % 3].selectbox(
            f"{part}: {_PARTS[part]}",
            options,
            index=options.index(remembered[part]) if part in remembered else None,
            placeholder="no column",
            key=f"map-{part}-{key}",
        )
        if chosen:
            columns[part] = chosen
    try:
        ColumnMap(columns).dialect()
    except BadMapping as error:
        st.info(plain(str(error)), icon=":material/info:")
        return None
    return Reading(None, columns)


def columns_of(rows: Sequence[RawRow]) -> list[str]:
    """The columns of the rows in order of appearance, and those inside columns that are objects."""
    names: dict[str, None] = {}
    for row in rows:
        if isinstance(row.value, dict):
            for name, value in row.value.items():
                names.setdefault(name)
                for inner in value if isinstance(value, dict) else ():
                    names.setdefault(f"{name}.{inner}")
    return list(names)[:200]


def _sample(rows: Sequence[RawRow], chosen: Reading, policy: Policy, key: str) -> None:
    """What the first rows become, in numbers and one by one."""
    read_by = ColumnMap(chosen.columns).dialect() if chosen.columns else chosen.dialect
    outcomes = list(convert(rows, read_by, policy))
    states = Counter(outcome.status for outcome in outcomes)
    reasons = Counter(outcome.reason for outcome in outcomes if outcome.status == "quarantined" and outcome.reason)
    repairs = Counter(code for outcome in outcomes for code in outcome.repairs)
    figures(
        [
            (count(len(rows)), "first rows looked at"),
            (count(states["kept"]), "kept"),
            (count(states["prompt_only"]), "prompt only"),
            (count(states["quarantined"]), "quarantined"),
            *([(count(states["used"] + states["not_chosen"]), "parts of trees")] if states["used"] + states["not_chosen"] else []),
        ]
    )
    for title, codes in (("Repaired", repairs), ("Refused", reasons)):
        if codes:
            lines = "".join(
                f"<tr><td>{html.escape(code)}</td><td>{count(amount)}</td><td>{html.escape(sentence(code))}</td></tr>"
                for code, amount in codes.most_common()
            )
            with st.expander(f"{title} in these rows: {', '.join(code.replace('_', ' ') for code, _ in codes.most_common(3))}"):
                st.html(f'<table class="md-tools">{lines}</table>')
    shown = [outcome for outcome in outcomes if outcome.status in ("kept", "prompt_only", "quarantined")]
    if not shown:
        return
    names = {"all": shown, "refused": [outcome for outcome in shown if outcome.status == "quarantined"]}
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        which = "all"
        if names["refused"] and len(names["refused"]) < len(shown):
            which = st.segmented_control(
                "Sample", list(names), default="all", required=True, key=f"which-{key}", label_visibility="collapsed"
            )
        among = names[which][:50]
        place = st.pagination(len(among), key=f"sample-{key}-{which}", max_visible_pages=7) if len(among) > 1 else 1
    _one(among[min(place, len(among)) - 1])


def _one(outcome: Outcome) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption(f"Row {count(outcome.row)} as it stands")
        with st.container(height=420):
            show_raw(outcome.raw)
    with right:
        if outcome.conversation is None:
            st.caption("Refused")
            st.html(
                f'<div class="md-refused"><b>{escaped(outcome.reason or "")}</b><div>{html.escape(sentence(outcome.reason or ""))}</div>'
                f'<div class="md-quiet">{escaped(" · ".join(filter(None, (outcome.field, outcome.detail))))}</div></div>'
            )
            return
        repaired = f", repaired: {', '.join(outcome.repairs)}" if outcome.repairs else ""
        st.caption(plain(f"What it becomes ({outcome.status.replace('_', ' ')}{repaired})"))
        with st.container(height=420):
            st.html(conversation_view(outcome.conversation))
