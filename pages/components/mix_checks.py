"""Work that a recipe's rules need first: what waits, the button that starts it in the background, and how far it is."""

import streamlit as st

from core.errors import MixdownError
from core.jobs import CheckJob, begin
from core.mix import Recipe, Waiting, recipe_text
from core.runs import Run
from pages.components import current
from pages.components.page import plain
from pages.components.run_card import run_card


def waiting_notice(recipe: Recipe, waiting: Waiting) -> None:
    """Say what the plan leaves out because nobody worked it out yet, and start it; draw the run while it works or when it failed."""
    run = _run_of(recipe)
    if run is not None and run.active:
        run_card(current.store(), run)
        return
    if not waiting:
        return
    with st.container(border=True, key="mix-waiting"), st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/hourglass_empty: Not worked out yet, and so left out of the figures: {plain('; '.join(waiting.words()))}.",
            width="stretch",
        )
        st.button("Work it out", icon=":material/play_arrow:", key="mix-check", on_click=lambda: _start(recipe))
    if run is not None and run.state in ("failed", "lost"):
        run_card(current.store(), run)
    if problem := st.session_state.pop("mix-check-problem", None):
        st.error(plain(problem))


def _start(recipe: Recipe) -> None:
    try:
        begin(CheckJob(home=current.workspace().home, recipe=recipe_text(recipe)))
    except MixdownError as error:
        st.session_state["mix-check-problem"] = str(error)


def _run_of(recipe: Recipe) -> Run | None:
    """The newest check, where it works or was about this very recipe."""
    run = current.latest("check")
    if run is None or run.active:
        return run
    return run if run.spec.get("recipe") == recipe_text(recipe) else None
