"""Sources: what do I have, and is it good?"""

import streamlit as st

from core.errors import MixdownError
from core.jobs import ImportJob, begin, bundled_items
from core.runs import Run
from core.sources import Catalogue, CatalogueEntry, Source, SourceMissing
from core.sources.catalogue import NotInCatalogue
from core.workspace import BadName
from pages.components import current
from pages.components.add_source import add_source
from pages.components.catalogue_entry import catalogue_entry
from pages.components.import_runs import import_progress, last_import
from pages.components.imported_table import imported_table
from pages.components.numbers import count
from pages.components.page import empty, fail, figures, go, header, plain
from pages.components.run_card import run_card
from pages.components.source_detail import source_detail
from pages.components.sources_gallery import gallery, known_sources

_GALLERY, _TABLE = "Gallery", "Table of what is imported"


def _overview(imported: list[Source]) -> None:
    place = header("Sources", "What data do you have, and how much of it can be used? Nothing is dropped without a reason you can read.")
    runs = [run for run in current.store().list() if run.kind in ("import", "demo")]
    importing = next((run for run in runs if run.active), None)
    _buttons(place, imported, importing)
    _last_import(importing, runs)
    for name, sentence in current.library().damaged().items():
        st.error(plain(f"{name}: {sentence}"), icon=":material/error:")
    view = _GALLERY
    if not imported and importing is None:
        empty("Nothing is imported yet", "Import the bundled samples with the button above, open a source below, or add one of your own.")
    if imported:
        _totals(imported)
        view = st.segmented_control("View", [_GALLERY, _TABLE], default=_GALLERY, required=True, key="view", label_visibility="collapsed")
    entries = Catalogue.load(current.workspace()).entries()
    if view == _TABLE:
        imported_table(imported)
    else:
        gallery(known_sources(imported, entries))
    waiting = _waiting(entries, {source.name for source in imported})
    if (
        waiting
        and imported
        and importing is None
        and st.button(f"Import the {len(waiting)} bundled samples that are not imported", icon=":material/download:", type="tertiary")
    ):
        _import_bundled({entry.name for entry in waiting})


def _totals(imported: list[Source]) -> None:
    ledgers = [source.ledger for source in imported]
    doubtful = sum(1 for source in imported if source.problem)
    figures(
        [
            (count(len(imported)), "imported"),
            (count(sum(ledger.kept for ledger in ledgers)), "rows kept"),
            (count(sum(ledger.prompt_only for ledger in ledgers)), "prompts only"),
            (count(sum(ledger.quarantined for ledger in ledgers)), "quarantined"),
            *([(count(doubtful), "need a look: under half could be used")] if doubtful else []),
        ]
    )


def _buttons(place: st.delta_generator.DeltaGenerator, imported: list[Source], importing: Run | None) -> None:
    if place.button("Add a source", icon=":material/add:"):
        go("pages/sources.py", add="new")
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


def _waiting(entries: list[CatalogueEntry], imported: set[str]) -> list[CatalogueEntry]:
    return [entry for entry in entries if entry.bundled is not None and entry.name not in imported]


def _opened(name: str) -> None:
    """A source, or the import that it comes from."""
    try:
        source = current.library().source(name)
    except SourceMissing:
        if last_import(name) is None:
            raise
        place = header(name, "This source is not in the library yet.")
        if place.button("All sources", icon=":material/arrow_back:"):
            go("pages/sources.py")
        import_progress(name)
        return
    source_detail(source)


def _page() -> None:
    asked = st.query_params
    if "add" in asked:
        add_source()
        return
    try:
        if "open" in asked:
            _opened(asked["open"])
            return
        if "entry" in asked:
            catalogue_entry(Catalogue.load(current.workspace()).entry(asked["entry"]))
            return
    except (BadName, NotInCatalogue, SourceMissing) as error:
        fail(error)
    _overview(current.library().sources())


_page()
