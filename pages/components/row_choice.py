"""Which row is looked at; the address bar holds source, row and search, so that a link shows the same one."""

import random

import streamlit as st

from core.chat import FastPath, Supervision, Target
from core.sources import Source
from pages.components.numbers import count
from pages.components.patience import Patience

SOURCE, ROW_IN_ADDRESS, SEARCH = "source", "row", "search"
ROW, _SOURCE_BOX, _WRITTEN = "preview-row", "preview-source", "written-to-address-"
_NOTE = "row-note"
_BATCH, _SECONDS = 64, 8.0


def choose_row(imported: list[Source], target: Target, supervision: Supervision) -> tuple[Source, int]:
    """Draw the pickers; returns the chosen source and row."""
    names = [source.name for source in imported]
    first, second, third = st.columns([1.3, 0.8, 1.3], vertical_alignment="bottom")
    _follow_address(names)
    name = first.selectbox("Source", names, key=_SOURCE_BOX, on_change=_go_to, args=(0,))
    source = imported[names.index(name)]
    rows = source.ledger.kept + source.ledger.prompt_only
    if st.session_state.get(ROW, 0) >= rows:
        st.session_state[ROW] = 0
    row = int(second.number_input(f"Row (0 to {count(rows - 1)})", min_value=0, max_value=rows - 1, step=1, key=ROW))
    # Not left to the widgets, which would leave out a default: tomorrow another source may be the first one. Written at every run,
    # because the browser keeps its old address when a link leads to this same page.
    for key, value in ((SOURCE, name), (ROW_IN_ADDRESS, str(row))):
        st.query_params[key] = value
        st.session_state[_WRITTEN + key] = value
    searched = third.text_input(
        "Search this source",
        key=SEARCH,
        bind="query-params",
        placeholder="text of a row",
        icon=":material/search:",
        on_change=_to_first_match,
        args=(source,),
    ).strip()
    with st.container(horizontal=True, vertical_alignment="center"):
        before, after, total = _around(source, row, rows, searched)
        st.button("Previous", icon=":material/chevron_left:", on_click=_go_to, args=(before,), disabled=before is None)
        st.button("Next", icon=":material/chevron_right:", icon_position="right", on_click=_go_to, args=(after,), disabled=after is None)
        st.button("Random", icon=":material/shuffle:", on_click=_to_any, args=(source, rows, searched, total), disabled=not total)
        st.button(
            "Next with a problem",
            icon=":material/report:",
            on_click=_to_problem,
            args=(source, row, target, supervision),
            help="The next row that is cut, refused, or not trained on in whole.",
        )
        if searched:
            st.caption(f"{count(total)} of {count(rows)} rows hold this text" if total else "No row holds this text")
    if note := st.session_state.pop(_NOTE, ""):
        st.info(note, icon=":material/info:")
    return source, row


def _follow_address(names: list[str]) -> None:
    """Take over a source and a row that somebody wrote into the address or followed a link to; nonsense is passed over."""
    asked = {key: st.query_params.get(key, "") for key in (SOURCE, ROW_IN_ADDRESS)}
    if all(st.session_state.get(_WRITTEN + key) == value for key, value in asked.items()):
        return
    if asked[SOURCE] in names:
        st.session_state[_SOURCE_BOX] = asked[SOURCE]
    if asked[ROW_IN_ADDRESS].isascii() and asked[ROW_IN_ADDRESS].isdigit():
        st.session_state[ROW] = int(asked[ROW_IN_ADDRESS][:12])


def next_problem(source: Source, row: int, target: Target, supervision: Supervision, patience: Patience) -> tuple[int | None, int]:
    """The next row after `row`, around the end, that is cut or loses a turn under these choices; None where none was found.

    Also how many rows were looked at: fewer than there are when the patience ran out.
    """
    kept = [entry["row"] for entry in source.index().select(["row", "status"]).to_pylist() if entry["status"] == "kept"]
    order = [place for place in kept if place > row] + [place for place in kept if place <= row]
    fast = FastPath(target, supervision)
    for start in range(0, len(order), _BATCH):
        chosen = order[start : start + _BATCH]
        made = fast.supervise_batch(list(source.conversations(chosen)))
        for place, supervised in zip(chosen, made, strict=True):
            if supervised.dropped or any(training.truncated for training in supervised.rows):
                return place, start + chosen.index(place) + 1
        if patience.cancelled():
            return None, start + len(chosen)
    return None, len(order)


def _around(source: Source, row: int, rows: int, searched: str) -> tuple[int | None, int | None, int]:
    """The rows before and after among those that match, and how many match."""
    if not searched:
        return row - 1 if row else None, row + 1 if row + 1 < rows else None, rows
    before = source.page(search=searched, where={"row": (None, row - 1)}, descending=True, limit=1).rows if row else []
    after = source.page(search=searched, where={"row": (row + 1, None)}, limit=1).rows
    total = source.page(search=searched, limit=0).total
    return before[0]["row"] if before else None, after[0]["row"] if after else None, total


def _go_to(row: int | None) -> None:
    if row is not None:
        st.session_state[ROW] = row


def _to_first_match(source: Source) -> None:
    searched = st.session_state.get(SEARCH, "").strip()
    found = source.page(search=searched, limit=1).rows if searched else []
    if found:
        st.session_state[ROW] = found[0]["row"]


def _to_any(source: Source, rows: int, searched: str, total: int) -> None:
    place = random.randrange(total)  # noqa: S311
    st.session_state[ROW] = source.page(search=searched, offset=place, limit=1).rows[0]["row"] if searched else min(place, rows - 1)


def _to_problem(source: Source, row: int, target: Target, supervision: Supervision) -> None:
    found, looked = next_problem(source, row, target, supervision, Patience(_SECONDS))
    if found is None:
        st.session_state[_NOTE] = f"No problem in {count(looked)} rows under these settings."
    elif found == row:
        st.session_state[_NOTE] = "This is the only row with a problem."
        st.session_state[ROW] = row
    else:
        st.session_state[ROW] = found
