"""What widgets of the Mix page say to the draft."""

from typing import Any

import pytest

from core.mix import Recipe
from pages.components import mix_draft
from pages.components.mix_draft import Draft

RECIPE = Recipe.model_validate({"name": "mine", "target": {"path": "t"}, "sources": [{"name": "talk", "weight": 40}]})


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The session's state, as widgets leave it."""
    values: dict[str, Any] = {}
    monkeypatch.setattr(mix_draft.st, "session_state", values)
    return values


def drawn(draft: Draft, name: str) -> dict[str, Any]:
    """A widget that shows the weight and sets it."""
    return draft.on_change(name, draft.recipe.sources[0].weight, lambda said: draft.weigh("talk", said))


def test_a_widget_that_a_newer_one_replaced_cannot_take_a_change_back(state: dict[str, Any]) -> None:
    draft = Draft(RECIPE, RECIPE)
    slider, number = drawn(draft, "slider"), drawn(draft, "number")
    state[slider["key"]] = 45.0
    slider["on_change"]()
    newer = drawn(draft, "number")  # the page is drawn again and shows 45; before it is through the slider moves on
    assert newer["key"] != number["key"]
    state[slider["key"]] = 50.0
    slider["on_change"]()
    state[number["key"]] = 40.0  # the browser still has the older one and repeats what it held
    number["on_change"]()
    assert draft.recipe.sources[0].weight == 50.0
    newest = drawn(draft, "number")
    state[newest["key"]] = 60.0
    newest["on_change"]()
    assert draft.recipe.sources[0].weight == 60.0
