"""Runs: what ran, and what came of it. All of it is read from the runs' own folders."""

import streamlit as st

from core.errors import MixdownError
from core.runs import Run, RunStore
from core.workspace import Workspace
from pages.components.numbers import duration, moment
from pages.components.outcomes import outcome
from pages.components.page import empty, fail, header
from pages.components.row_table import rows_table
from pages.components.run_card import run_card, state_word
from pages.components.runs_beside import lineage, runs_beside


def _detail(store: RunStore, run: Run) -> None:
    run_card(store, run, _log)
    with st.container(horizontal=True):
        if run.result:
            with st.popover("Result", icon=":material/data_object:"):
                st.json(run.result, expanded=1)
        with st.popover("What was asked", icon=":material/assignment:"):
            st.json(run.spec, expanded=2)
        if not run.active and st.button("Delete this record", icon=":material/delete:", key=f"delete-{run.id}"):
            try:
                store.delete(run.id)
            except MixdownError as error:
                fail(error)
            else:
                st.rerun()
    if not run.active:
        st.caption("Deleting removes the record and its log; what the run made stays.")
    lineage(run)


def _log(run: Run) -> None:
    text = run.log(8_000).strip()
    with st.expander("Log", expanded=run.state in ("failed", "lost"), key=f"log-{run.id}"):
        st.code(text or "Nothing was printed.", language=None, height=260 if text else "content")


store = RunStore(Workspace.at().runs)
header("Runs", "What ran here, and what came of it. A run goes on when this page, the browser or the server is closed.")
runs = store.list()
if not runs:
    empty("Nothing has run yet", "Imports, tokenizations and trainings appear here with their state, result and log.").page_link(
        "pages/home.py", label="Begin on Home", icon=":material/home:"
    )
    st.stop()

rows = [
    {
        "state": state_word(run),
        "title": run.title,
        "kind": run.kind,
        "outcome": outcome(run),
        "started": moment(run.created_at),
        "took": duration(run.seconds),
    }
    for run in runs
]
chosen = rows_table(
    rows,
    key="runs-table",
    columns={"state": "State", "title": "Run", "kind": "Kind", "outcome": "What came of it", "started": "Started (UTC)", "took": "Took"},
)
st.caption("Select one run to look at it, two or more to compare them.")
wanted = st.query_params.get("run", "")
if len(chosen) > 1:
    runs_beside([runs[place] for place in chosen])
else:
    _detail(store, runs[chosen[0]] if chosen else next((run for run in runs if run.id == wanted), runs[0]))
