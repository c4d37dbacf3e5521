"""One source opened: how much of it can be used, and behind tabs its rows, what was refused, how it is read, what is known of it."""

import streamlit as st

from core.errors import MixdownError
from core.sources import Ledger, Source
from pages.components import current
from pages.components.import_runs import import_progress, what_changed
from pages.components.numbers import count, percent
from pages.components.page import fail, figures, go, header, plain
from pages.components.source_about import source_about
from pages.components.source_card import kept_bar
from pages.components.source_mapping import source_mapping
from pages.components.source_quarantine import source_quarantine
from pages.components.source_rows import source_rows

TABS = ("Rows", "Quarantine", "Mapping", "About")


def source_detail(source: Source) -> None:
    """Draw it as the page's content."""
    place = header(
        source.title or source.name,
        f"{source.domain or 'other'} · {source.licence or 'licence unknown'} · dialect {source.dialect or 'mixed'}",
    )
    if place.button("All sources", icon=":material/arrow_back:"):
        go("pages/sources.py")
    busy = import_progress(source.name)
    what_changed(source)
    _account(source)
    if source.problem:
        _doubtful(source)
    for warning in _warnings(source):
        st.caption(f":material/warning: {plain(warning)}")
    tabs = dict(zip(TABS, st.tabs(TABS, key="tab", on_change="rerun", bind="query-params"), strict=True))
    draw = {"Rows": source_rows, "About": lambda source: source_about(source, busy=busy)}
    draw |= {
        "Quarantine": lambda source: source_quarantine(source, busy=busy),
        "Mapping": lambda source: source_mapping(source, busy=busy),
    }
    for name, tab in tabs.items():
        if tab.open:
            with tab:
                draw[name](source)


def _account(source: Source) -> None:
    ledger = source.ledger
    share = ledger.kept / ledger.read if ledger.read else 0.0
    raw = [(count(ledger.raw_rows), "raw rows")] if ledger.raw_rows != ledger.read else []
    figures(
        [
            *raw,
            (count(ledger.read), "conversations read" if raw else "rows read"),
            (count(ledger.kept), f"kept ({percent(share)})"),
            (count(ledger.prompt_only), "prompt only"),
            (count(ledger.quarantined), "quarantined"),
            (count(sum(ledger.repaired.values())), "repairs"),
        ]
    )
    st.html(kept_bar(ledger, source.domain or "other") + f'<div class="md-quiet">{_sum(ledger)}</div>')


def _sum(ledger: Ledger) -> str:
    """Where every row went, as sums that a reader can check."""
    kept, prompts, refused = count(ledger.kept), count(ledger.prompt_only), count(ledger.quarantined)
    rows = f"{count(ledger.read)} read = {kept} kept + {prompts} prompt only + {refused} quarantined"
    if ledger.raw_rows == ledger.read:
        return f"{rows}; no row is missing."
    used, left = count(ledger.used), count(ledger.not_chosen)
    raw = f"{count(ledger.raw_rows)} raw rows = {count(ledger.read)} read + {used} part of another + {left} not chosen"
    return f"{raw}; {rows}; no row is missing."


def _doubtful(source: Source) -> None:
    st.error(plain(source.problem or ""), icon=":material/error:")
    if st.button("Accept it as it is", icon=":material/check:", help="It is then no longer shown as an error, until it is imported again."):
        try:
            source.accept()
        except MixdownError as error:
            fail(error)
        else:
            st.rerun()


def _warnings(source: Source) -> list[str]:
    overlaps = [
        f"Overlaps {other if mine == source.name else mine}: {reason}. Mix both only with duplicates removed."
        for mine, other, reason in current.library().overlaps()
        if source.name in (mine, other)
    ]
    accepted = [f"Accepted as it is. {source.doubt}"] if source.accepted and source.doubt else []
    return [*source.warnings, *overlaps, *accepted]
