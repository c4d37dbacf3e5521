"""A table of at most fifty rows with paging and one selected row; the rows come from a query, never from a whole set."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd
import streamlit as st

from pages.components.numbers import count

PAGE = 50


def page_number(key: str, total: int) -> int:
    """The page a reader is on, 0-based, as far as the pager below the table says so and there are so many."""
    last = max(0, math.ceil(total / PAGE) - 1)
    return min(int(st.session_state.get(key, 1)) - 1, last)


def pager(key: str, total: int) -> None:
    """Buttons for the pages of `total` rows, and how many there are."""
    pages = math.ceil(total / PAGE)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(f"{count(total)} row{'s' if total != 1 else ''}")
        if pages > 1:
            st.pagination(pages, key=key)


def row_table(
    rows: Sequence[Mapping[str, Any]],
    *,
    key: str,
    columns: Mapping[str, str],
    height: int = 420,
    widths: Mapping[str, int] = MappingProxyType({}),
) -> int | None:
    """Draw the rows with the given columns (key → title) and return the index in `rows` of the one that is selected.

    `widths` are pixels by key, for columns whose texts would push the others out of sight.
    """
    frame = pd.DataFrame([{title: _cell(row.get(name)) for name, title in columns.items()} for row in rows], columns=list(columns.values()))
    event = st.dataframe(
        frame,
        hide_index=True,
        column_config={columns[name]: st.column_config.Column(width=width) for name, width in widths.items()},
        key=key,
        on_select="rerun",
        selection_mode="single-row",
        height=min(height, 38 + 35 * max(len(frame), 1)),
    )
    chosen = event["selection"]["rows"] if event else []
    return int(chosen[0]) if chosen and chosen[0] < len(rows) else None


def rows_table(rows: Sequence[Mapping[str, Any]], *, key: str, columns: Mapping[str, str], height: int = 420) -> list[int]:
    """The same for several rows: the indices of those that are selected, from top to bottom."""
    frame = pd.DataFrame([{title: _cell(row.get(name)) for name, title in columns.items()} for row in rows], columns=list(columns.values()))
    event = st.dataframe(
        frame, hide_index=True, key=key, on_select="rerun", selection_mode="multi-row", height=min(height, 38 + 35 * max(len(frame), 1))
    )
    return sorted(place for place in (event["selection"]["rows"] if event else []) if place < len(rows))


def _cell(value: object) -> object:
    """Lists read as text; everything else is left to the column."""
    if isinstance(value, (list, tuple, set)):
        return ", ".join(str(part) for part in value)
    if isinstance(value, dict):
        return str(value)
    return value
