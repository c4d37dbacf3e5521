"""How a source is read: the dialect found or chosen, its columns, and a way to read it otherwise with the next import."""

import streamlit as st

from core.errors import MixdownError
from core.sources import Source, first_rows
from core.sources.hub import HubReference
from pages.components.import_runs import again, begin_import
from pages.components.page import fail
from pages.components.reading import LOOK, Reading, reading


def source_mapping(source: Source, *, busy: bool) -> None:
    """Draw the tab; `busy` while the source is being imported again."""
    info = source.info
    before = Reading(info.get("dialect_asked_for"), info.get("mapping"))
    place = source.origin.path
    try:
        rows = first_rows(place, LOOK)
    except MixdownError as error:
        fail(error)
        return
    if isinstance(source.origin.place, HubReference):
        st.caption("The first rows of the copy that was fetched.")
    chosen = reading(rows, key=f"again-{source.name}", before=before)
    if chosen is None:
        return
    changed = (chosen.dialect, dict(chosen.columns or {})) != (before.dialect, dict(before.columns or {}))
    if st.button(
        "Re-import it read like this", type="primary", icon=":material/replay:", disabled=busy or not changed, key=f"remap-{source.name}"
    ):
        begin_import(again(source, dialect=chosen.dialect, columns=dict(chosen.columns or {}), policy=dict(info.get("policy") or {})))
    if not changed:
        st.caption("This is how it was imported.")
