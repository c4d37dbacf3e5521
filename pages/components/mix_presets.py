"""Weights by a rule: proportional, equal, by temperature, like another recipe, or a domain at so many per cent."""

from collections.abc import Callable

import streamlit as st

from core.errors import MixdownError
from core.mix import Recipe, equal, like, load_recipe, proportional, shares, sizes_of, tempered, with_domain_share, with_weights
from core.sources import DOMAINS
from pages.components import current
from pages.components.mix_draft import Draft


def presets(draft: Draft) -> None:
    """Draw the popover; each rule is one change that can be undone."""
    place = st.popover("Set all weights", icon=":material/auto_awesome:", key="mix-presets", on_change="rerun")
    if not place.open:
        return
    with place:
        with st.container(horizontal=True):
            _button(draft, "Proportional", "Every source by its size.", lambda recipe, sizes: with_weights(recipe, proportional(sizes)))
            _button(draft, "Equal", "Every source the same.", lambda recipe, sizes: with_weights(recipe, equal(sizes)))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            temperature = st.number_input(
                "Temperature", min_value=0.1, value=2.0, step=0.5, help="size^(1/T): 1 is proportional, higher evens out.", width=150
            )
            _button(draft, "By temperature", "", lambda recipe, sizes: with_weights(recipe, tempered(sizes, temperature)))
        others = [name for name in current.recipe_names() if name != draft.saved.name]
        if others:
            with st.container(horizontal=True, vertical_alignment="bottom"):
                other = st.selectbox("Another recipe", others, width=150)
                _button(draft, "Weights like it", "", lambda recipe, _: _like(recipe, other))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            there = {current.library().source(entry.name).domain or "other": None for entry in draft.recipe.sources}
            domain = st.selectbox("Domain", [name for name in DOMAINS if name in there], width=150)
            share = st.number_input(
                "Its share in %", min_value=0.0, max_value=100.0, value=_share_of(draft.recipe, domain), format="%.1f", width=120
            )
            _button(draft, "Give it this share", "", lambda recipe, _: with_domain_share(recipe, current.library(), domain, share / 100))


def _button(draft: Draft, label: str, help_text: str, rule: Callable[[Recipe, dict[str, int]], Recipe]) -> None:
    def apply() -> None:
        try:
            draft.change(rule(draft.recipe, sizes_of(draft.recipe, current.library())), f"weights: {label.lower()}")
        except MixdownError as error:
            draft.refused = str(error)

    st.button(label, key=f"mix-preset-{label}", help=help_text or None, on_click=apply)


def _like(recipe: Recipe, other: str) -> Recipe:
    weights = {entry.name: entry.weight for entry in load_recipe(current.workspace().recipe(other)).sources}
    return with_weights(recipe, like([entry.name for entry in recipe.sources], weights))


def _share_of(recipe: Recipe, domain: str) -> float:
    library = current.library()
    part = shares({entry.name: entry.weight for entry in recipe.sources})
    return round(100 * sum(part[entry.name] for entry in recipe.sources if (library.source(entry.name).domain or "other") == domain), 1)
