"""A recipe while it is being changed on the Mix page: the saved one with the weights that the sliders say. Nothing is written here."""

from dataclasses import dataclass

import streamlit as st

from core.mix import Recipe, RecipeSource
from pages.components import current

_WEIGHTS = "mix-weights"
_TURN = "mix-turn"


@dataclass(frozen=True)
class Draft:
    """`recipe` has the changed weights; widgets of the page use `key`, which is new after each save or undo."""

    recipe: Recipe
    turn: int

    def key(self, name: str) -> str:
        """A widget's key that lives as long as this draft."""
        return f"mix-{self.recipe.name}-{self.turn}-{name}"

    def set_weight(self, source: str, weight: float) -> None:
        """Keep a weight until it is saved or undone; survives a visit to another page."""
        _weights(self.recipe.name)[source] = weight

    def forget(self) -> None:
        """Drop all changes; the widgets begin anew from the saved recipe."""
        st.session_state[_WEIGHTS] = {}
        st.session_state[_TURN] = self.turn + 1


def draft_of(saved: Recipe) -> Draft:
    """The draft of a saved recipe. Sources imported since it was saved stand in it with weight 0; sources that are gone do not."""
    changed = _weights(saved.name)
    imported = [source.name for source in current.library().sources() if source.rows > 0]
    known = {entry.name: entry for entry in saved.sources}
    added = [RecipeSource(name=name, weight=0.0) for name in imported if name not in known and changed.get(name)]
    entries = tuple(entry.model_copy(update={"weight": changed.get(entry.name, entry.weight)}) for entry in (*saved.sources, *added))
    return Draft(saved.model_copy(update={"sources": entries}), st.session_state.get(_TURN, 0))


def _weights(recipe: str) -> dict[str, float]:
    every: dict[str, dict[str, float]] = st.session_state.setdefault(_WEIGHTS, {})
    return every.setdefault(recipe, {})
