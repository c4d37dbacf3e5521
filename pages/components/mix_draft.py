"""A recipe while it is being changed on the Mix page: every change can be undone and redone, and nothing is written before it is saved.

It knows recipes and the names of widgets, not what is drawn.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from core.mix import Recipe, RecipeSource, moved

_DRAFTS = "mix-drafts"
_MOST = 200
"""Changes that can be undone."""


@dataclass
class Draft:
    """The recipe as it is on screen, what it was before each change, and what was undone.

    What a widget shows must follow the recipe when something else changes it: an undo, a preset, another slider. Then it is drawn as a
    new widget that begins with the value (the number in its key goes up): a value put into a widget that is there can get lost when a
    page is redrawn midway, and the widget would then report its old value as the reader's wish.
    """

    saved: Recipe
    recipe: Recipe
    past: list[tuple[str, Recipe]] = field(default_factory=list)
    future: list[tuple[str, Recipe]] = field(default_factory=list)
    locked: set[str] = field(default_factory=set)
    """Sources whose weight stays while others make room."""
    make_room: bool = False
    """Whether the other weights scale when one moves, so that their sum stays."""
    saved_elsewhere: bool = False
    """The file was changed by somebody else while this draft had changes of its own."""
    refused: str | None = None
    """Why the last change that was asked for could not be made; said once."""
    _shown: dict[str, tuple[int, Any]] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether it says something that the file does not."""
        return not same(self.recipe, self.saved)

    def change(self, recipe: Recipe, what: str) -> None:
        """Take a changed recipe; `what` says in a few words what an undo takes back."""
        if same(recipe, self.recipe):
            return
        self.past = [*self.past, (what, self.recipe)][-_MOST:]
        self.future = []
        self.recipe = recipe

    def undo(self) -> None:
        """Take the last change back."""
        if self.past:
            what, before = self.past.pop()
            self.future.append((what, self.recipe))
            self.recipe = before

    def redo(self) -> None:
        """Make the change again that was taken back last."""
        if self.future:
            what, after = self.future.pop()
            self.past.append((what, self.recipe))
            self.recipe = after

    def key(self, name: str, value: Any) -> str:
        """The key of the widget `name`, a new one whenever the recipe's `value` is not what the widget said last."""
        turn, shown = self._shown.get(name, (0, value))
        if shown != value:
            turn += 1
        self._shown[name] = (turn, value)
        return f"mix-{self.saved.name}-{name}-{turn}"

    def on_change(self, name: str, value: Any, take: Callable[[Any], None]) -> dict[str, Any]:
        """`key` and `on_change` of the widget `name`: what a reader says is given to `take`."""
        key = self.key(name, value)
        drawn, _ = self._shown[name]

        def told() -> None:
            turn, _ = self._shown[name]
            if turn != drawn:  # a newer one stands in its place: this one only repeats what it said, and would take the newer value back
                return
            said = st.session_state[key]
            self._shown[name] = (turn, said)
            take(said)

        return {"key": key, "on_change": told}

    def weigh(self, source: str, weight: float) -> None:
        """Set one weight; the others make room where that is wanted."""
        weights = {entry.name: entry.weight for entry in self.recipe.sources}
        weights = moved(weights, source, weight, self.locked) if self.make_room else {**weights, source: weight}
        self.change(_weighed(self.recipe, weights), f"weight of {source}")

    def edit_source(self, source: str, what: str, **changes: Any) -> None:
        """Change keys of one source's entry."""
        entries = tuple(entry.model_copy(update=changes) if entry.name == source else entry for entry in self.recipe.sources)
        self.edit(f"{what} of {source}", sources=entries)

    def edit(self, what: str, **changes: Any) -> None:
        """Change keys of the recipe."""
        self.change(self.recipe.model_copy(update=changes), what)

    def lock(self, source: str, *, locked: bool) -> None:
        """Keep a weight while others scale; the first lock says that they shall."""
        if locked:
            self.locked.add(source)
            self.make_room = True
        else:
            self.locked.discard(source)

    def take_in(self, source: str, rows: int) -> None:
        """Add a source with its size as weight."""
        self.edit(f"{source} taken in", sources=(*self.recipe.sources, RecipeSource(name=source, weight=float(rows))))

    def leave_out(self, source: str) -> None:
        """Remove a source's entry."""
        self.edit(f"{source} left out", sources=tuple(entry for entry in self.recipe.sources if entry.name != source))


def draft_of(saved: Recipe) -> Draft:
    """The session's draft of a recipe, brought up to what its file says now."""
    drafts: dict[str, Draft] = st.session_state.setdefault(_DRAFTS, {})
    draft = drafts.setdefault(saved.name, Draft(saved, saved))
    if same(draft.saved, saved):
        return draft
    if same(draft.recipe, saved) or not draft.changed:
        if not same(draft.recipe, saved):
            draft.past, draft.future = [], []  # changed by hand or by another page: there is nothing of ours to undo
        draft.recipe, draft.saved_elsewhere = saved, False
    elif same(draft.saved.model_copy(update={"target": saved.target}), saved):
        _with_target(draft, saved)  # the sidebar's switch
    else:
        draft.saved_elsewhere = True
    draft.saved = saved
    return draft


def same(one: Recipe, other: Recipe) -> bool:
    """Whether two recipes say the same."""
    return one is other or one.model_dump(mode="json") == other.model_dump(mode="json")


def _with_target(draft: Draft, saved: Recipe) -> None:
    def switched(recipe: Recipe) -> Recipe:
        return recipe.model_copy(update={"target": saved.target})

    draft.recipe = switched(draft.recipe)
    draft.past = [(what, switched(recipe)) for what, recipe in draft.past]
    draft.future = [(what, switched(recipe)) for what, recipe in draft.future]


def _weighed(recipe: Recipe, weights: dict[str, float]) -> Recipe:
    entries = tuple(entry.model_copy(update={"weight": weights[entry.name]}) for entry in recipe.sources)
    return recipe.model_copy(update={"sources": entries})


def in_use(recipe: Recipe) -> Collection[str]:
    """The sources that have a weight."""
    return [entry.name for entry in recipe.sources if entry.weight > 0]
