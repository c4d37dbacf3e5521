"""Imports that work in the background, as the Sources page sees them: which run is about which source, and how one is begun."""

import streamlit as st

from core.dialects import CODES
from core.errors import MixdownError
from core.jobs import ImportItem, ImportJob, again_item, begin
from core.runs import Run
from core.sources import Source
from pages.components import current
from pages.components.numbers import count
from pages.components.page import fail, go, plain
from pages.components.run_card import run_card


def begin_import(item: ImportItem) -> None:
    """Start importing one source and open it; the same click twice is one run, and what cannot begin is one sentence."""
    before = next((source for source in current.library().sources() if source.name == item.name), None)
    try:
        begin(ImportJob(home=current.workspace().home, items=(item,)))
    except MixdownError as error:
        fail(error)
        return
    if before is not None:
        st.session_state[_before(item.name)] = (before.info.get("imported_at"), before.ledger.kept, before.ledger.quarantined)
    go("pages/sources.py", open=item.name)


def last_import(name: str) -> Run | None:
    """The newest run that imports, or imported, this source."""
    folder = str(current.workspace().source(name).resolve())
    return next((run for run in current.store().list() if run.kind in ("import", "demo") and folder in run.owns), None)


def import_progress(name: str) -> bool:
    """Show the newest import of a source unless it went well; returns whether it still works."""
    run = last_import(name)
    if run is None or run.state == "done":
        return False
    run_card(current.store(), run)
    return run.active


def what_changed(source: Source) -> None:
    """After a re-import: how the counts differ from those before it."""
    before = st.session_state.get(_before(source.name))
    if before is None or (before[0] == source.info.get("imported_at") and before[1:] == (source.ledger.kept, source.ledger.quarantined)):
        return
    _, kept, quarantined = before
    st.success(
        plain(
            f"Imported again: kept {count(kept)} → {count(source.ledger.kept)}, "
            f"quarantined {count(quarantined)} → {count(source.ledger.quarantined)}."
        ),
        icon=":material/check_circle:",
    )


def again(source: Source, *, dialect: str | None, columns: dict[str, str] | None, policy: dict[str, str]) -> ImportItem:
    """The same source from the same place, read in another way; `policy` is all that is switched from now on."""
    back = {code: CODES[code].default for code in source.info.get("policy") or {} if code in CODES}
    return again_item(current.workspace(), source.name, {**back, **policy}, dialect=dialect, columns=columns)


def _before(name: str) -> str:
    return f"before-{name}"
