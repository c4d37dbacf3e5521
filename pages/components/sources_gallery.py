"""Every source there is to know, as cards: those imported first, then the rest of the catalogue; found by name and by what they are."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from core.sources import DOMAINS, CatalogueEntry, Source
from pages.components.numbers import plural
from pages.components.source_card import entry_card, imported_card

_COLUMNS = 3
_FIRST = 24
"""Cards drawn before somebody asks for all."""


@dataclass(frozen=True)
class Known:
    """A source that was imported, one the catalogue knows, or both."""

    source: Source | None
    entry: CatalogueEntry | None

    @property
    def domain(self) -> str:
        """Its domain, as it was imported."""
        return (self.source.domain if self.source else self.entry.domain if self.entry else None) or "other"

    @property
    def licence(self) -> str:
        """Its licence."""
        return (self.source.licence if self.source else self.entry.licence if self.entry else None) or "unknown"

    @property
    def gated(self) -> bool:
        """Whether the hub gives it only to those who accepted its terms."""
        return self.entry is not None and self.entry.gated

    @property
    def words(self) -> str:
        """What a search looks at, in small letters."""
        found = [part for part in (self.source, self.entry) if part is not None]
        names = [text for part in found for text in (part.name, part.title, part.licence or "", part.domain)]
        return " ".join([*names, *([self.entry.hub_id or "", self.entry.notes] if self.entry else [])]).lower()


def known_sources(imported: Sequence[Source], entries: Sequence[CatalogueEntry]) -> list[Known]:
    """The imported ones by name, then the entries that are not, those with a sample first."""
    by_name = {entry.name: entry for entry in entries}
    there = {source.name for source in imported}
    rest = [entry for entry in entries if entry.name not in there]
    rest.sort(key=lambda entry: entry.bundled is None)
    return [Known(source, by_name.get(source.name)) for source in imported] + [Known(None, entry) for entry in rest]


def gallery(known: Sequence[Known]) -> None:
    """Draw the filters and the cards that pass them."""
    found = _filtered(known)
    everything = st.session_state.get("gallery-all", False)
    shown = found if everything else found[:_FIRST]
    for start in range(0, len(shown), _COLUMNS):
        for column, item in zip(st.columns(_COLUMNS), shown[start : start + _COLUMNS], strict=False):
            with column:
                if item.source is not None:
                    imported_card(item.source)
                elif item.entry is not None:
                    entry_card(item.entry)
    if not found:
        st.info("No source fits these filters. Take one away, or add a source of your own.", icon=":material/info:")
    elif len(shown) < len(found) and st.button(f"Show {plural(len(found) - len(shown), 'more source')}", icon=":material/expand_more:"):
        st.session_state["gallery-all"] = True
        st.rerun()


def _filtered(known: Sequence[Known]) -> list[Known]:
    search_place, licence_place, access_place, imported_place = st.columns([2, 1.6, 1, 1.2], vertical_alignment="bottom")
    words = search_place.text_input("Search", key="search", placeholder="name, hub id or note").strip().lower()
    licences = licence_place.multiselect("Licence", sorted({item.licence for item in known}), key="licences", placeholder="any")
    access = access_place.selectbox("Access", ["any", "open", "gated"], key="access")
    imported = imported_place.selectbox("Imported", ["any", "imported", "not imported"], key="imported")
    there = {item.domain for item in known}
    domains = st.pills(
        "Domain", [domain for domain in DOMAINS if domain in there], selection_mode="multi", key="domains", label_visibility="collapsed"
    )
    return [
        item
        for item in known
        if words in item.words
        and (not licences or item.licence in licences)
        and (access == "any" or item.gated == (access == "gated"))
        and (imported == "any" or (item.source is not None) == (imported == "imported"))
        and (not domains or item.domain in domains)
    ]
