"""One source opened: its rows, its quarantine, and what is known about it."""

import html
from typing import Any

import streamlit as st

from core.dialects import CODES
from core.sources import Source
from pages.components import charts
from pages.components.conversation_view import conversation_view
from pages.components.numbers import count, percent
from pages.components.page import figures, go, header, plain
from pages.components.row_table import PAGE, page_number, pager, row_table
from pages.components.source_card import kept_bar

_COLUMNS = {"row": "Row", "excerpt": "Begins with", "turns": "Turns", "chars": "Characters", "tool_calls": "Calls", "repairs": "Repairs"}
_FLAGS = {
    "tools": ("has_tools", True),
    "tool calls": ("tool_calls", (1, None)),
    "reasoning": ("has_reasoning", True),
    "no answer (prompt only)": ("status", "prompt_only"),
}
_SORTS = {"row": "order of the file", "turns": "turns", "chars": "characters", "tool_calls": "tool calls"}


def source_detail(source: Source) -> None:
    """Draw it as the page's content."""
    place = header(
        source.title or source.name,
        f"{source.domain or 'other'} · {source.licence or 'licence unknown'} · dialect {source.dialect or 'mixed'}",
    )
    if place.button("All sources", icon=":material/arrow_back:"):
        go("pages/sources.py")
    ledger = source.ledger
    figures(
        [
            (count(ledger.read), "rows read"),
            (count(ledger.kept), f"kept ({percent(ledger.kept / ledger.read if ledger.read else 0)})"),
            (count(ledger.prompt_only), "prompt only"),
            (count(ledger.quarantined), "quarantined"),
            (count(sum(ledger.repaired.values())), "repairs"),
        ]
    )
    st.html(kept_bar(ledger, source.domain or "other"))
    if source.problem:
        st.error(plain(source.problem), icon=":material/error:")
    for warning in source.warnings:
        st.caption(f":material/warning: {plain(warning)}")
    rows, quarantine, about = st.tabs(["Rows", f"Quarantine {count(ledger.quarantined)}", "About"])
    with rows:
        _rows(source)
    with quarantine:
        _quarantine(source)
    with about:
        _about(source)


def _rows(source: Source) -> None:
    search_column, sort_column, repair_column = st.columns([2, 1.2, 1.2], vertical_alignment="bottom")
    search = search_column.text_input("Search the text", key=f"rows-search-{source.name}", placeholder="words in the conversation")
    sort = sort_column.selectbox("Order by", list(_SORTS), format_func=_SORTS.__getitem__, key=f"rows-sort-{source.name}")
    codes = [None, *sorted(source.ledger.repaired)]
    repair = repair_column.selectbox(
        "Repaired by", codes, format_func=lambda code: code or "anything or nothing", key=f"rows-repair-{source.name}"
    )
    flags = st.pills("Only rows with", list(_FLAGS), selection_mode="multi", key=f"rows-flags-{source.name}", label_visibility="collapsed")
    where: dict[str, Any] = dict(_FLAGS[flag] for flag in flags)
    if repair is not None:
        where["repairs"] = repair
    key = f"rows-page-{source.name}"
    total = source.page(search=search, where=where, limit=1).total
    page = source.page(search=search, where=where, sort=sort, descending=sort != "row", offset=page_number(key, total) * PAGE, limit=PAGE)
    if not page.rows:
        st.caption("No row fits.")
        return
    left, right = st.columns([1, 1], gap="medium")
    with left:
        chosen = row_table(page.rows, key=f"rows-table-{source.name}", columns=_COLUMNS, height=640)
        pager(key, page.total)
    with right:
        _row(source, int(page.rows[chosen or 0]["row"]))


def _row(source: Source, row: int) -> None:
    stored = source.stored(row)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"**Row {count(row)}**" + (" · prompt only" if stored.status == "prompt_only" else ""))
        st.page_link(
            "pages/preview.py",
            label="See it as the target does",
            icon=":material/visibility:",
            query_params={"source": source.name, "row": str(row)},
        )
    talk, canonical, raw, repairs = st.tabs(["Conversation", "Canonical", "Raw", f"Repairs {len(stored.repairs)}"])
    with talk:
        st.html(conversation_view(stored.conversation))
    with canonical:
        st.json(stored.conversation.to_json())
    with raw:
        show_raw(stored.raw)
    with repairs:
        if not stored.repairs:
            st.caption("Nothing had to be repaired.")
        for code in stored.repairs:
            st.html(f'<div class="md-quiet"><b>{html.escape(code)}</b> {html.escape(sentence(code))}</div>')


def _quarantine(source: Source) -> None:
    reasons = source.quarantine_reasons()
    if not reasons:
        st.caption("No row of this source was refused.")
        return
    ranked = dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
    charts.show(
        charts.bars(
            {reason.replace("_", " "): amount for reason, amount in ranked.items()}, unit="rows", colours=[charts.TROUBLE] * len(ranked)
        ),
        key=f"reasons-{source.name}",
        height=70 + 34 * len(ranked),
        alt="Quarantined rows by reason",
    )
    reason = st.selectbox(
        "Reason", [None, *ranked], format_func=lambda code: "all reasons" if code is None else code, key=f"reason-{source.name}"
    )
    if reason is not None:
        st.html(f'<div class="md-quiet">{html.escape(sentence(reason))}</div>')
    key = f"quarantine-page-{source.name}"
    total = source.quarantine_page(reason, limit=1).total
    page = source.quarantine_page(reason, offset=page_number(key, total) * PAGE, limit=PAGE)
    left, right = st.columns([1.2, 1], gap="medium")
    with left:
        columns = {"position": "Row of the file", "reason": "Reason", "field": "Field", "detail": "What was found"}
        chosen = row_table(page.rows, key=f"quarantine-table-{source.name}", columns=columns)
        pager(key, page.total)
    with right:
        row = page.rows[chosen or 0]
        st.markdown(f"**Row {count(row['position'])} of the file**")
        if row.get("detail"):
            st.html(f'<div class="md-quiet">{html.escape(str(row["detail"]))}</div>')
        show_raw(row.get("raw"))


def _about(source: Source) -> None:
    facts = {
        "Name": source.name,
        "Origin": str(source.origin),
        "Licence": source.licence,
        "Domain": source.domain,
        "Dialect": source.dialect,
    }
    rows = "".join(f"<tr><th>{html.escape(key)}</th><td>{html.escape(str(value or 'unknown'))}</td></tr>" for key, value in facts.items())
    st.html(f'<table class="md-tools">{rows}</table>')
    if source.ledger.repaired:
        st.markdown("**Repairs**")
        lines = "".join(
            f"<tr><th>{html.escape(code)}</th><td>{count(amount)}</td><td>{html.escape(sentence(code))}</td></tr>"
            for code, amount in sorted(source.ledger.repaired.items(), key=lambda item: (-item[1], item[0]))
        )
        st.html(f'<table class="md-tools">{lines}</table>')
    with st.expander("Everything that was recorded at the import"):
        st.json(source.info, expanded=1)


def show_raw(value: object) -> None:
    """The row as it stood in the file; text that was no JSON stays text."""
    if isinstance(value, (dict, list)):
        st.json(value, expanded=4)
    else:
        st.code(plain("") if value is None else str(value), language=None, wrap_lines=True)


def sentence(code: str) -> str:
    """What a repair or a reason means; empty for a code that carries its own detail."""
    known = CODES.get(code)
    return known.sentence if known else ""
