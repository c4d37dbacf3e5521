"""One entry of the catalogue opened: what is known of the source, and its import, from the hub or from the sample that ships."""

import html

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.errors import MixdownError
from core.jobs import ImportItem
from core.sources import CatalogueEntry, first_rows
from core.sources.hub import HubReference
from pages.components import current
from pages.components.hub_look import hub_look
from pages.components.import_runs import begin_import, import_progress
from pages.components.numbers import count
from pages.components.page import fail, go, header, plain
from pages.components.reading import LOOK, Reading, reading

_SAMPLE, _WHOLE = "the sample that ships", "all of it, from the hub"


def catalogue_entry(entry: CatalogueEntry) -> None:
    """Draw it as the page's content."""
    place = header(entry.title, "What is known of this source before it is loaded, and what its first rows become.")
    if place.button("All sources", icon=":material/arrow_back:"):
        go("pages/sources.py")
    busy = import_progress(entry.name)
    if entry.name in current.library().names():
        st.page_link(
            "pages/sources.py",
            label="It is imported: open it. Another import takes its place once it is whole.",
            icon=":material/database:",
            query_params={"open": entry.name},
        )
    if entry.evaluation:
        st.warning("An evaluation set: do not train on it.", icon=":material/block:")
    if entry.gated:
        st.info(
            plain(
                f"Gated: accept its terms at huggingface.co/datasets/{entry.hub_id}, then log in with `hf auth login` or set HF_TOKEN. "
                "Mixdown never stores the token."
            ),
            icon=":material/lock:",
        )
    facts_place, import_place = st.columns([1, 2], gap="large")
    with facts_place:
        _facts(entry)
    with import_place:
        _import(entry, place, busy=busy)


def _facts(entry: CatalogueEntry) -> None:
    facts = {
        "Hub id": entry.hub_id,
        "Config": entry.config,
        "Split": entry.split,
        "Files": ", ".join(entry.files),
        "Revision": entry.revision or "newest",
        "Licence": entry.licence,
        "Domain": entry.domain,
        "Rows": f"about {count(entry.rows)}" if entry.rows else None,
        "Columns": ", ".join(entry.columns),
        "Dialect": f"{entry.dialect} expected; each row is read by what it shows" if entry.dialect else "by each row's shape",
        "Notes": entry.notes,
    }
    lines = "".join(f"<tr><th>{html.escape(key)}</th><td>{html.escape(str(value))}</td></tr>" for key, value in facts.items() if value)
    st.html(f'<table class="md-tools md-facts">{lines}</table>')
    if entry.overlaps:
        st.markdown("**Overlaps with**")
        for other, reason in entry.overlaps.items():
            st.page_link("pages/sources.py", label=plain(f"{other}: {reason}"), query_params={"entry": other})


def _import(entry: CatalogueEntry, button_place: DeltaGenerator, *, busy: bool) -> None:
    places = [name for name, there in ((_SAMPLE, entry.bundled), (_WHOLE, entry.hub_id)) if there]
    if not places:
        st.caption("The catalogue names no place to get it from.")
        return
    place = st.segmented_control("Import", places, default=places[0], required=True, key=f"from-{entry.name}")
    origin = entry.bundled if place == _SAMPLE else entry.reference()
    if origin is None:
        return
    try:
        rows = hub_look(origin) if isinstance(origin, HubReference) else first_rows(origin, LOOK)
    except MixdownError as error:
        fail(error)
        return
    chosen: Reading | None = Reading()
    if rows is not None:
        chosen = reading(rows, key=f"{entry.name}-{place}")
    if (
        button_place.button(
            "Import" if rows is not None else "Import without looking",
            type="primary",
            icon=":material/download:",
            disabled=busy or chosen is None,
        )
        and chosen is not None
    ):
        columns = None if chosen.columns is None else dict(chosen.columns)
        begin_import(
            ImportItem(name=entry.name, origin=origin, dialect=chosen.dialect, columns=columns, domain=entry.domain, licence=entry.licence)
        )
