"""Sources: what do I have, and is it good?"""

import streamlit as st

from core.errors import MixdownError
from core.jobs import ImportJob, begin, bundled_items
from core.runs import Run
from core.sources import Catalogue, Source
from pages.components import current
from pages.components.add_source import add_source
from pages.components.page import empty, fail, header, plain
from pages.components.run_card import run_card
from pages.components.source_card import imported_card, waiting_card
from pages.components.source_detail import source_detail

COLUMNS = 3


def _import_bundled() -> None:
    begin(ImportJob(home=current.workspace().home, items=bundled_items(current.workspace())))


def _gallery(imported: list[Source], importing: Run | None) -> None:
    place = header("Sources", "What data do you have, and how much of it can be used? Nothing is dropped without a reason you can read.")
    bundled = [entry for entry in Catalogue.load(current.workspace()).entries() if entry.bundled is not None]
    waiting = [entry for entry in bundled if entry.name not in {source.name for source in imported}]
    if place.button("Add a source", icon=":material/add:"):
        add_source()
    if imported and not importing:
        if place.button("Continue to the mix", type="primary", icon=":material/arrow_forward:", icon_position="right"):
            if current.recipe_name() is None:
                current.first_recipe()
            st.switch_page("pages/mix.py")
    elif place.button("Import the bundled data", type="primary", icon=":material/download:", disabled=importing is not None):
        _import_bundled()
        st.rerun()

    if importing:
        run_card(current.store(), importing)
    else:
        last = current.latest("import")
        if last is not None and last.state in ("failed", "lost", "cancelled"):
            run_card(current.store(), last)
    if not imported and not importing:
        empty("Nothing is imported yet", "Import the bundled samples with the button above, or add a file or folder of your own.")

    for name, sentence in current.library().damaged().items():
        st.error(plain(f"{name}: {sentence}"), icon=":material/error:")
    shown = _filtered(imported) if len(imported) > COLUMNS else imported
    for start in range(0, len(shown), COLUMNS):
        for column, source in zip(st.columns(COLUMNS), shown[start : start + COLUMNS], strict=False):
            with column:
                imported_card(source)
    if imported and not shown:
        st.caption("No source fits this search.")
    if waiting and not importing:
        with st.expander(f"{len(waiting)} bundled samples are not imported", expanded=not imported):
            for start in range(0, len(waiting), COLUMNS):
                for column, entry in zip(st.columns(COLUMNS), waiting[start : start + COLUMNS], strict=False):
                    with column:
                        waiting_card(entry)


def _filtered(imported: list[Source]) -> list[Source]:
    search, domains = st.columns([1, 2], vertical_alignment="bottom")
    words = search.text_input("Search", key="search", placeholder="name or licence", bind="query-params").strip().lower()
    known = sorted({source.domain or "other" for source in imported})
    chosen = domains.pills("Domain", known, selection_mode="multi", key="domain", bind="query-params")
    return [
        source
        for source in imported
        if words in f"{source.name} {source.title} {source.licence or ''}".lower() and (not chosen or (source.domain or "other") in chosen)
    ]


def _page() -> None:
    opened = st.query_params.get("open")
    if opened:
        try:
            source_detail(current.library().source(opened))
            return
        except MixdownError as error:
            fail(error)
    imported = current.library().sources()
    importing = next((run for run in current.store().list() if run.active and run.kind in ("import", "demo")), None)
    _gallery(imported, importing)


_page()
