"""Sources: what do I have, and is it good?"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st

from core.errors import MixdownError
from core.jobs import ImportJob, begin, bundled_items
from core.runs import Run
from core.sources import Catalogue, CatalogueEntry, Source
from pages.components import current
from pages.components.add_source import add_source
from pages.components.page import empty, fail, go, header, plain
from pages.components.run_card import run_card
from pages.components.source_card import imported_card, waiting_card
from pages.components.source_detail import source_detail

COLUMNS = 3

Item = TypeVar("Item")


def _gallery(imported: list[Source]) -> None:
    place = header("Sources", "What data do you have, and how much of it can be used? Nothing is dropped without a reason you can read.")
    runs = [run for run in current.store().list() if run.kind in ("import", "demo")]
    importing = next((run for run in runs if run.active), None)
    _buttons(place, imported, importing)
    _last_import(importing, runs)
    for name, sentence in current.library().damaged().items():
        st.error(plain(f"{name}: {sentence}"), icon=":material/error:")
    if imported:
        shown = _filtered(imported) if len(imported) > COLUMNS else imported
        _cards(shown, imported_card)
        if not shown:
            st.caption("No source fits this search.")
    elif importing is None:
        empty("Nothing is imported yet", "Import the bundled samples with the button above, or add a file or folder of your own.")
    waiting = _waiting({source.name for source in imported})
    if waiting and importing is None:
        with st.expander(f"{len(waiting)} bundled samples are not imported", expanded=not imported):
            if imported and st.button("Import them", icon=":material/download:"):
                _import_bundled({entry.name for entry in waiting})
            _cards(waiting, waiting_card)


def _buttons(place: st.delta_generator.DeltaGenerator, imported: list[Source], importing: Run | None) -> None:
    if place.button("Add a source", icon=":material/add:"):
        add_source()
    if imported and importing is None:
        if place.button("Continue to the mix", type="primary", icon=":material/arrow_forward:", icon_position="right"):
            if current.recipe_name() is None:
                current.first_recipe()
            go("pages/mix.py")
    elif place.button("Import the bundled data", type="primary", icon=":material/download:", disabled=importing is not None):
        _import_bundled(None)


def _import_bundled(only: set[str] | None) -> None:
    home = current.workspace()
    items = tuple(item for item in bundled_items(home) if only is None or item.name in only)
    try:
        begin(ImportJob(home=home.home, items=items))
    except MixdownError as error:
        fail(error)
    else:
        st.rerun()


def _last_import(importing: Run | None, runs: list[Run]) -> None:
    last = importing or next(iter(runs), None)
    if last is not None and last.state != "done":
        run_card(current.store(), last)


def _waiting(imported: set[str]) -> list[CatalogueEntry]:
    return [entry for entry in Catalogue.load(current.workspace()).entries() if entry.bundled is not None and entry.name not in imported]


def _cards(items: Sequence[Item], draw: Callable[[Item], None]) -> None:
    for start in range(0, len(items), COLUMNS):
        for column, item in zip(st.columns(COLUMNS), items[start : start + COLUMNS], strict=False):
            with column:
                draw(item)


def _filtered(imported: list[Source]) -> list[Source]:
    search, domains = st.columns([1, 2], vertical_alignment="bottom")
    words = search.text_input("Search", key="search", placeholder="name or licence").strip().lower()
    known = sorted({source.domain for source in imported})
    chosen = domains.pills("Domain", known, selection_mode="multi", key="domains")
    return [
        source
        for source in imported
        if words in f"{source.name} {source.title} {source.licence or ''}".lower() and (not chosen or source.domain in chosen)
    ]


def _page() -> None:
    opened = st.query_params.get("open")
    if opened:
        try:
            source_detail(current.library().source(opened))
        except MixdownError as error:
            fail(error)
        else:
            return
    _gallery(current.library().sources())


_page()
