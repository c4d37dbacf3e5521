"""The first rows of a hub data set, fetched when a person asks for them and kept for the session; no more is fetched than they take."""

import streamlit as st

from core.dialects import RawRow
from core.errors import MixdownError
from core.sources import HubReference, first_rows
from core.watch import Cancelled
from pages.components.page import fail
from pages.components.patience import Patience, TooSlow
from pages.components.reading import LOOK

_SECONDS = 25.0
_KEPT = "hub-looks"
_MOST_KEPT = 5


def hub_look(reference: HubReference) -> list[RawRow] | None:
    """A button, and after it the rows; None until somebody asked, and where the hub does not give them (it is then said why)."""
    kept: dict[HubReference, list[RawRow]] = st.session_state.setdefault(_KEPT, {})
    if reference in kept:
        return kept[reference]
    if not st.button("Look at the first rows", icon=":material/visibility:", help="Fetches only as much as they take."):
        return None
    try:
        with st.spinner("Asking the hub"):
            rows = _rows(reference)
    except MixdownError as error:
        fail(error)
        return None
    while len(kept) >= _MOST_KEPT:
        del kept[next(iter(kept))]
    kept[reference] = rows
    return rows


def _rows(reference: HubReference) -> list[RawRow]:
    try:
        return first_rows(reference, LOOK, Patience(_SECONDS))
    except Cancelled as error:
        raise TooSlow(
            f"The hub did not give the first rows of {reference.repo} within {_SECONDS:.0f} s: try again, or import it, which waits longer."
        ) from error
