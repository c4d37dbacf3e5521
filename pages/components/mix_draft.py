"""A recipe while it is being changed on the Mix page: the saved one with the weights that the sliders say. Nothing is written here."""

from dataclasses import dataclass, replace

import streamlit as st

from core.mix import Recipe, RecipeSource
from pages.components import current

_CHANGES = "mix-changes"
_TURN = "mix-turn"


@dataclass(frozen=True)
class Change:
    """A weight that is not saved yet.

    A weight stands in two fields, and what is typed into one must show in the other. The other one is drawn as a new widget that begins
    with the weight (its number here goes up): a value put into a widget that is there can get lost when a page is redrawn midway, and
    the widget would then report its old value as the reader's wish.
    """

    weight: float
    slider: int = 0
    number: int = 0


@dataclass(frozen=True)
class Draft:
    """`recipe` has the changed weights; widgets of the page use `key`, which is new after each save or undo."""

    recipe: Recipe
    turn: int

    def key(self, name: str) -> str:
        """A widget's key that lives as long as this draft."""
        return f"mix-{self.recipe.name}-{self.turn}-{name}"

    def change(self, source: str) -> Change:
        """The weight of a source in this draft, changed or not."""
        entry = self.recipe.source(source)
        return _changes(self.recipe.name).get(source) or Change(entry.weight if entry else 0.0)

    def by_slider(self, source: str, weight: float) -> None:
        """Keep a weight that the slider says until it is saved or undone; survives a visit to another page."""
        before = self.change(source)
        _changes(self.recipe.name)[source] = replace(before, weight=weight, number=before.number + 1)

    def by_number(self, source: str, weight: float) -> None:
        """The same for a weight that was typed."""
        before = self.change(source)
        _changes(self.recipe.name)[source] = replace(before, weight=weight, slider=before.slider + 1)

    def forget(self) -> None:
        """Drop all changes; the widgets begin anew from the saved recipe."""
        st.session_state[_CHANGES] = {}
        st.session_state[_TURN] = self.turn + 1


def draft_of(saved: Recipe) -> Draft:
    """The draft of a saved recipe; sources that were taken in since stand at its end."""
    changed = _changes(saved.name)
    imported = [source.name for source in current.library().sources() if source.rows > 0]
    added = [RecipeSource(name=name, weight=0.0) for name in imported if name in changed and saved.source(name) is None]
    entries = tuple(
        entry.model_copy(update={"weight": changed[entry.name].weight if entry.name in changed else entry.weight})
        for entry in (*saved.sources, *added)
    )
    return Draft(saved.model_copy(update={"sources": entries}), st.session_state.get(_TURN, 0))


def _changes(recipe: str) -> dict[str, Change]:
    every: dict[str, dict[str, Change]] = st.session_state.setdefault(_CHANGES, {})
    return every.setdefault(recipe, {})
