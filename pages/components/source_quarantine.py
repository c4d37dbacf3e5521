"""What of a source was refused and why, row by row, and the switches that bring rows back with the next import."""

import html

import streamlit as st

from core.dialects import CODES, ColumnMap, Policy, RawRow, convert
from core.sources import Source
from pages.components import charts
from pages.components.codes import repairable, sentence, switch_key, switches
from pages.components.import_runs import again, begin_import
from pages.components.numbers import count, percent, plural
from pages.components.raw_row import show_raw
from pages.components.row_table import PAGE, page_number, pager, row_table
from pages.components.visible import escaped

_TRIED = 200
"""Refused rows that are converted again to say what the switches would bring."""


def source_quarantine(source: Source, *, busy: bool) -> None:
    """Draw the tab; `busy` while the source is being imported again."""
    reasons = source.quarantine_reasons() if source.ledger.quarantined else {}
    if reasons:
        _rows(source, reasons)
    else:
        st.caption("No row of this source was refused.")
    if source.ledger.not_chosen:
        _not_chosen(source)
    st.divider()
    _again(source, reasons, busy=busy)


def _rows(source: Source, reasons: dict[str, int]) -> None:
    charts.show(
        charts.bars(
            {reason.replace("_", " "): amount for reason, amount in reasons.items()}, unit="rows", colours=[charts.TROUBLE] * len(reasons)
        ),
        key=f"reasons-{source.name}",
        height=70 + 34 * len(reasons),
        alt="Quarantined rows by reason",
    )
    reason = st.pills(
        "Reason",
        list(reasons),
        format_func=lambda code: f"{code} {count(reasons[code])}",
        key=f"reason-{source.name}",
        label_visibility="collapsed",
    )
    if reason is not None:
        st.html(f'<div class="md-quiet">{html.escape(sentence(reason))}</div>')
    key = f"quarantine-page-{source.name}"
    total = source.quarantine_page(reason, limit=1).total
    page = source.quarantine_page(reason, offset=page_number(key, total) * PAGE, limit=PAGE)
    left, right = st.columns([1.2, 1], gap="medium")
    with left:
        columns = {"position": "Row of the file", "reason": "Reason", "field": "Field", "detail": "What was found"}
        chosen = row_table(
            [{**row, "field": row["field"] or "", "detail": row["detail"] or ""} for row in page.rows],
            key=f"quarantine-table-{source.name}",
            columns=columns,
        )
        pager(key, page.total)
    with right:
        row = page.rows[chosen or 0]
        st.markdown(f"**Row {count(row['position'])} of the file**")
        place = " · ".join(filter(None, (row["reason"], row.get("field"))))
        st.html(
            f'<div class="md-refused"><b>{escaped(place)}</b><div>{html.escape(sentence(row["reason"]))}</div>'
            f'<div class="md-quiet">{escaped(row.get("detail") or "")}</div></div>'
        )
        with st.container(height=360):
            show_raw(row.get("raw"))


def _not_chosen(source: Source) -> None:
    ledger = source.ledger
    st.html(
        f'<div class="md-quiet">{plural(ledger.used, "raw row")} became part of a conversation, '
        f"{count(ledger.not_chosen)} were not chosen:</div>"
        '<table class="md-tools">'
        + "".join(
            f"<tr><td>{html.escape(reason)}</td><td>{count(amount)}</td><td>{html.escape(sentence(reason))}</td></tr>"
            for reason, amount in sorted(ledger.not_chosen_reasons.items(), key=lambda item: (-item[1], item[0]))
        )
        + "</table>"
    )


def _again(source: Source, reasons: dict[str, int], *, busy: bool) -> None:
    """The switches of every code that this source met."""
    switched: dict[str, str] = source.info.get("policy") or {}
    key = f"{source.name}-{source.info.get('imported_at')}"
    st.markdown("**What to do about each**")
    can = repairable(reasons)
    with st.container(horizontal=True, vertical_alignment="center"):
        if can and st.button("Switch on all repairs", icon=":material/build:", type="tertiary"):
            st.session_state.update({switch_key(key, code): "repair" for code in can})
    wanted = switches(dict(reasons), switched, key=key)
    met = {code: amount for code, amount in source.ledger.repaired.items() if code not in reasons}
    if met:
        with st.expander(f"What was repaired: {plural(len(met), 'kind')}"):
            wanted |= switches(dict(sorted(met.items(), key=lambda item: (-item[1], item[0]))), switched, key=key)
    # A switch whose code did not occur this time stays as it is.
    shown = {*reasons, *met}
    wanted |= {code: action for code, action in switched.items() if code not in shown and action != CODES[code].default}
    changed = wanted != switched
    if changed and reasons:
        _promise(source, wanted)
    if st.button(
        "Repair these and re-import" if changed else "Re-import",
        type="primary" if changed else "secondary",
        icon=":material/replay:",
        disabled=busy,
        key=f"again-{source.name}",
    ):
        begin_import(again(source, dialect=source.info.get("dialect_asked_for"), columns=source.info.get("mapping") or {}, policy=wanted))


def _promise(source: Source, policy: dict[str, str]) -> None:
    """Convert some refused rows with the switches as they are now, and say what would come of them."""
    rows = [
        RawRow(row["position"], row["raw"]) for row in source.quarantine_page(limit=_TRIED).rows if isinstance(row["raw"], (dict, list))
    ]
    if not rows:
        return
    mapping = source.info.get("mapping")
    read_by = ColumnMap(mapping).dialect() if mapping else source.info.get("dialect_asked_for")
    outcomes = list(convert(rows, read_by, Policy.parse(f"{code}={action}" for code, action in policy.items())))
    usable = sum(outcome.conversation is not None for outcome in outcomes)
    st.html(
        f'<div class="md-quiet">Of the first {plural(len(rows), "refused row")} <b>{count(usable)}</b> '
        f"({percent(usable / len(rows), 0)}) could then be used.</div>"
    )
