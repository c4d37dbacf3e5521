"""How a source is read: the dialect found or chosen, its columns, and a way to read it otherwise with the next import."""

from itertools import islice

import streamlit as st

from core.dialects import Policy, RawRow
from core.errors import MixdownError
from core.sources import Source, first_rows, read_rows
from core.sources.hub import HubReference
from pages.components.import_runs import again, begin_import
from pages.components.page import fail
from pages.components.reading import LOOK, read_before, reading


def source_mapping(source: Source, *, busy: bool) -> None:
    """Draw the tab; `busy` while the source is being imported again."""
    info = source.info
    before = read_before(source)
    policy = Policy(info.get("policy") or {})
    try:
        rows = _first_rows(source)
    except MixdownError as error:
        fail(error)
        return
    if isinstance(source.origin.place, HubReference):
        st.caption("The first rows of the copy that was fetched.")
    chosen = reading(rows, key=f"again-{source.name}", before=before, policy=policy)
    if chosen is None:
        return
    changed = (chosen.dialect, dict(chosen.columns or {})) != (before.dialect, dict(before.columns or {}))
    if st.button(
        "Re-import it read like this", type="primary", icon=":material/replay:", disabled=busy or not changed, key=f"remap-{source.name}"
    ):
        begin_import(again(source, dialect=chosen.dialect, columns=dict(chosen.columns or {}), policy=dict(policy.switches)))
    if not changed:
        st.caption("This is how it was imported.")


def _first_rows(source: Source) -> list[RawRow]:
    """Those of the files that were imported: what was fetched of a hub data set may lie beside files of another part."""
    origin = source.origin
    if isinstance(origin.place, HubReference):
        return list(islice(read_rows(origin.path, tuple(file.path for file in origin.files)), LOOK))
    return first_rows(origin.path, LOOK)
