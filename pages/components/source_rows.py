"""The rows of a source: found by a query, fifty at a time; one of them in four forms; how long they are; all that was found as a file."""

import html
import re
import shlex
from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.errors import MixdownError
from core.sources import Bin, Page, Source
from core.sources.text import dumps
from pages.components import charts, current
from pages.components.codes import sentence
from pages.components.conversation_view import conversation_view
from pages.components.numbers import count, plural
from pages.components.page import fail
from pages.components.raw_row import show_raw
from pages.components.row_table import PAGE, page_number, pager, row_table

_COLUMNS = {"row": "Row", "excerpt": "Begins with", "turns": "Turns", "chars": "Characters", "tool_calls": "Calls", "repairs": "Repairs"}
_FLAGS: dict[str, tuple[str, Any]] = {
    "has tools": ("has_tools", True),
    "calls tools": ("tool_calls", (1, None)),
    "has reasoning": ("has_reasoning", True),
    "has a system message": ("has_system", True),
    "prompt only": ("status", "prompt_only"),
}
_SORTS = {"row": "order of the file", "turns": "most turns", "chars": "longest", "tool_calls": "most tool calls"}
_WHOLE_TICKS = 20
"""A histogram this wide gets a tick at each whole number: there is no half turn."""
_LARGEST_DOWNLOAD = 50_000
"""Rows; a browser keeps a download in memory, the command line does not."""


def source_rows(source: Source) -> None:
    """Draw the tab."""
    name = source.name
    search, where, sort = _asked(source)
    key = f"rows-page-{name}"
    try:
        page = _page(source, search, where, sort, key)
    except MixdownError as error:
        fail(error)
        return
    if not page.rows:
        st.info("No row fits. Take a filter away or search for less." if source.ledger.read else "This source has no rows.")
        return
    _download(source, search, where, sort, page.total)
    left, right = st.columns([1, 1], gap="medium")
    with left:
        chosen = row_table(
            page.rows, key=f"rows-table-{name}", columns=_COLUMNS, height=640, widths={"excerpt": 230, "row": 60, "turns": 60}
        )
        pager(key, page.total)
    with right:
        _row(source, _row_number(source, page.rows, chosen, filtered=bool(search or where)))
    _lengths(source, search, where)


def _page(source: Source, search: str, where: Mapping[str, Any], sort: str, key: str) -> Page:
    """The page a reader is on; the last one where there are fewer by now."""
    wanted = int(st.session_state.get(key, 1)) - 1
    page = source.page(search=search, where=where, sort=sort, descending=sort != "row", offset=wanted * PAGE, limit=PAGE)
    if page.rows or not page.total:
        return page
    offset = page_number(key, page.total) * PAGE
    return source.page(search=search, where=where, sort=sort, descending=sort != "row", offset=offset, limit=PAGE)


def _asked(source: Source) -> tuple[str, dict[str, Any], str]:
    name = source.name
    search_column, repair_column, sort_column = st.columns([2, 1.6, 1], vertical_alignment="bottom")
    search = search_column.text_input("Search the text", key=f"rows-search-{name}", placeholder="words in the conversation").strip()
    repaired = source.ledger.repaired
    repairs = repair_column.multiselect(
        "Repaired by",
        sorted(repaired, key=lambda code: (-repaired[code], code)),
        format_func=lambda code: f"{code} {count(repaired[code])}",
        key=f"rows-repair-{name}",
        placeholder="any repair" if repaired else "nothing was repaired",
        disabled=not repaired,
    )
    sort = sort_column.selectbox("Order by", list(_SORTS), format_func=_SORTS.__getitem__, key=f"rows-sort-{name}")
    with st.container(horizontal=True, vertical_alignment="center"):
        flags = st.pills("Only rows with", list(_FLAGS), selection_mode="multi", key=f"rows-flags-{name}", label_visibility="collapsed")
        where: dict[str, Any] = dict(_FLAGS[flag] for flag in flags)
        with st.popover("More filters", icon=":material/filter_list:"):
            mixture = sorted(filter(None, source.index().column("dialect").unique().to_pylist()))
            dialects = st.multiselect("Dialect", mixture, key=f"rows-dialects-{name}", placeholder="any") if len(mixture) > 1 else []
            for column, title in (("turns", "Turns"), ("chars", "Characters")):
                low_place, high_place = st.columns(2)
                low = low_place.number_input(f"{title} from", min_value=0, value=None, step=1, key=f"rows-{column}-low-{name}")
                high = high_place.number_input(f"{title} to", min_value=0, value=None, step=1, key=f"rows-{column}-high-{name}")
                if low is not None or high is not None:
                    where[column] = (low, high)
    if dialects:
        where["dialect"] = dialects
    if repairs:
        where["repairs"] = repairs
    return search, where, sort


def _row_number(source: Source, rows: list[dict[str, Any]], chosen: int | None, *, filtered: bool) -> int:
    """The row to show: the selected one, else the one in the address, else the first; the address then says which."""
    if chosen is not None:
        number = int(rows[chosen]["row"])
        if st.query_params.get("row") != str(number):
            st.query_params["row"] = str(number)
        return number
    asked = st.query_params.get("row", "")
    if re.fullmatch(r"[0-9]{1,12}", asked) and int(asked) < source.ledger.kept + source.ledger.prompt_only:
        number = int(asked)
        return number if not filtered or number in {row["row"] for row in rows} else int(rows[0]["row"])
    return int(rows[0]["row"])


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
        st.caption(f"Row {count(stored.position)} of the file, dialect {stored.dialect or 'unknown'}")
        show_raw(stored.raw)
    with repairs:
        if not stored.repairs:
            st.caption("Nothing had to be repaired.")
        for code in stored.repairs:
            st.html(f'<div class="md-code"><b>{html.escape(code)}</b><div>{html.escape(sentence(code))}</div></div>')


def _download(source: Source, search: str, where: Mapping[str, Any], sort: str, total: int) -> None:
    """Everything that was found, as canonical conversations."""
    if total > _LARGEST_DOWNLOAD:
        st.caption(f"{plural(total, 'row')} found: too many for a browser to hold. This writes them to a file:")
        st.code(command(source.name, search, where, sort), language="bash")
        return

    def made() -> bytes:
        found = source.selected(search=search, where=where, sort=sort, descending=sort != "row")
        return b"".join(dumps(row).encode() + b"\n" for row in found)

    st.download_button(
        f"Download {plural(total, 'row')} as JSONL",
        made,
        file_name=f"{source.name}.jsonl",
        mime="application/jsonl",
        icon=":material/download:",
        on_click="ignore",
        key=f"download-{source.name}",
        type="tertiary",
    )


def command(name: str, search: str, where: Mapping[str, Any], sort: str) -> str:
    """The command that writes the same selection to a file."""
    words = ["mixdown", "rows", name]
    if search:
        words += ["--search", search]
    for column, value in where.items():
        for one in value if isinstance(value, list) else [value]:
            words += ["--where", f"{column}={_text(one)}"]
    if sort != "row":
        words += ["--sort", sort, "--descending"]
    return shlex.join([*words, "--out", f"{name}.jsonl"])


def _text(value: object) -> str:
    if isinstance(value, tuple):
        low, high = value
        return f"{'' if low is None else low}..{'' if high is None else high}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _lengths(source: Source, search: str, where: Mapping[str, Any]) -> None:
    """How many turns and characters the found rows have; the longest one in a hundred is said, not drawn."""
    st.markdown("**How long these rows are**")
    for place, (column, title) in zip(st.columns(2, gap="medium"), (("turns", "turns"), ("chars", "characters")), strict=True):
        with place:
            bins, beyond = _drawn(source, column, search, dict(where))
            if not bins:
                continue
            edges = [*(bar.low for bar in bins), bins[-1].high]
            figure = charts.histogram(edges, [bar.count for bar in bins], x=f"{title} of a row", y="rows")
            if edges[-1] - edges[0] <= _WHOLE_TICKS:
                figure.update_xaxes(dtick=1)
            charts.show(
                figure,
                key=f"lengths-{column}-{source.name}",
                height=240,
                alt=f"Histogram of the {title} of the rows found",
            )
            if beyond:
                st.caption(f"{plural(beyond, 'row')} with {count(bins[-1].high)} {title} or more not drawn")


def _version(source: Source) -> str:
    """What a look at a source is remembered by: the place and time of its import, as a name alone may come to mean other rows."""
    return f"{current.workspace().home} {source.name} {source.origin.revision} {source.info.get('imported_at')}"


@st.cache_data(max_entries=64, show_spinner=False, hash_funcs={Source: _version})
def _drawn(source: Source, column: str, search: str, where: dict[str, Any]) -> tuple[list[Bin], int]:
    """As `drawn`, once for each question: a page is drawn anew at every click."""
    return drawn(source, column, search, where)


def drawn(source: Source, column: str, search: str, where: Mapping[str, Any], bins: int = 40) -> tuple[list[Bin], int]:
    """The bars to draw, and how many rows lie beyond them: a few huge rows would leave all others in one bar."""
    whole = source.histogram(column, bins=bins, search=search, where=where)
    total = sum(bar.count for bar in whole)
    within = 0
    for bar in whole:
        within += bar.count
        if within >= 0.99 * total and bar.high < whole[-1].high:
            low, high = where.get(column) or (None, None)
            cut = bar.high - 1 if high is None else min(high, bar.high - 1)
            return source.histogram(column, bins=bins, search=search, where={**where, column: (low, cut)}), total - within
    return whole, 0
