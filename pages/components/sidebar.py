"""What stands beside every screen: the recipe and the target that all steps work on, and whether something is running."""

import streamlit as st

from core.mix import Recipe
from core.workspace import BUNDLED_TARGET
from pages.components import current
from pages.components.page import plain

SWITCH = "switch-recipe-to"
"""Where a page leaves the name of a recipe that it made; a widget's own value cannot be set once it is drawn."""
_OTHER = "another folder or hub id"


def sidebar() -> None:
    """Draw it and let both be switched."""
    with st.sidebar:
        names = current.recipe_names()
        if not names:
            st.caption("No recipe yet: import sources first, then mix them.")
        else:
            if SWITCH in st.session_state:
                st.session_state[current.RECIPE_KEY] = st.session_state.pop(SWITCH)
            st.selectbox("Recipe", sorted(names), index=sorted(names).index(names[0]), key=current.RECIPE_KEY, bind="query-params")
            chosen = current.recipe()
            if chosen is not None:
                _target(chosen)
        active = [run for run in current.store().list() if run.active]
        if active:
            st.page_link("pages/runs.py", label=plain(f"{len(active)} running: {active[0].title}"), icon=":material/progress_activity:")


def _target(chosen: Recipe) -> None:
    path = chosen.target.path
    options = list(dict.fromkeys([str(BUNDLED_TARGET), path, _OTHER]))
    picked = st.selectbox(
        "Target",
        options,
        index=options.index(path),
        format_func=current.target_label,
        key=f"target-of-{chosen.name}-{path}",
        help="The model that the drafter will draft for. It stands in the recipe.",
    )
    if picked == _OTHER:
        typed = st.text_input("Folder or hub id", key=f"other-target-{chosen.name}", placeholder="/models/my-model")
        picked = typed.strip() or path
    if picked != path:
        current.save(chosen.model_copy(update={"target": chosen.target.model_copy(update={"path": picked})}))
        st.rerun()
