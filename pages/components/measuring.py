"""Measure a drafter again: how many prompts, which ways of drafting, with thinking or without. The measuring is a run of its own."""

import streamlit as st

from core.errors import MixdownError
from core.jobs import EvaluateJob, begin
from core.jobs.planning import shown_evaluate_command
from pages.components import current
from pages.components.drafters import Drafter
from pages.components.page import fail

_BUDGETS = [8, 16, 32, 64]
_THINKING = {"as the data has it": "as-is", "on": "on", "off": "off", "both": "both"}


def measuring(drafter: Drafter) -> None:
    """Draw the choices and the button."""
    target = str(drafter.training.get("target", ""))
    with st.expander("Measure it again", icon=":material/speed:", expanded=drafter.after is None):
        left, right = st.columns(2)
        with left:
            prompts = st.number_input("Prompts", 5, 10_000, 60, 5, key="measure-prompts", persist_state="session")
            longest = st.number_input("Longest answer in tokens", 8, 4096, 96, 8, key="measure-longest", persist_state="session")
            thinking = st.selectbox("Thinking", list(_THINKING), key="measure-thinking", persist_state="session")
        with right:
            trees = st.pills("Draft trees of", _BUDGETS, selection_mode="multi", default=_BUDGETS, key="measure-trees")
            lookup = st.toggle("Prompt lookup, the drafter that costs nothing", True, key="measure-lookup", persist_state="session")
            heat = st.number_input("Temperature of drawn answers", 0.0, 2.0, 0.0, 0.1, key="measure-temperature", persist_state="session")
            st.caption("0: greedy only. Every way answers every prompt, and every greedy answer is compared with plain decoding.")
        job = EvaluateJob(
            home=current.workspace().home,
            drafter=drafter.folder,
            target=target,
            prompts=int(prompts),
            max_new_tokens=int(longest),
            trees=tuple(sorted(trees)),
            prompt_lookup=lookup,
            temperature=float(heat),
            thinking=_THINKING[thinking],
        )
        st.code(shown_evaluate_command(job), language="sh", wrap_lines=True)
        if st.button("Measure", icon=":material/speed:", key="measure"):
            try:
                begin(job)
            except MixdownError as error:
                fail(error)
            else:
                st.rerun()
