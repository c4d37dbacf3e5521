"""Home: where am I in the path, and what is next?"""

import html

import streamlit as st

from core.jobs import ImportJob, begin, bundled_items
from core.runs import Run
from pages.components import current
from pages.components.page import go, header
from pages.components.progress_of_path import Step, steps
from pages.components.run_card import run_card


def _step_card(number: int, step: Step, is_next: bool) -> None:
    with st.container(border=True, height="stretch", key=f"step-{number}-{'next' if is_next else 'done' if step.done else 'later'}"):
        st.page_link(
            step.page, label=f"{number}  {step.name}", icon=":material/check_circle:" if step.done else ":material/radio_button_unchecked:"
        )
        st.html("".join(f'<div class="md-quiet">{html.escape(line)}</div>' for line in step.lines))


def _primary(place: st.delta_generator.DeltaGenerator, path: list[Step], runs: list[Run]) -> None:
    importing = any(run.active and run.kind in ("import", "demo") for run in runs)
    if path[0].done or importing:
        following = next((step for step in path if not step.done), path[-1])
        if place.button(following.call, type="primary", icon=":material/arrow_forward:", icon_position="right"):
            go(following.page)
    elif place.button("Try it on the bundled data", type="primary", icon=":material/play_arrow:"):
        begin(ImportJob(home=current.workspace().home, items=bundled_items(current.workspace())))
        go("pages/sources.py")


store = current.store()
runs = store.list()
path = steps(runs)
place = header(
    "Mixdown", "From chat data to a drafter whose acceptance you know: five steps, each with what it decided and what it caused."
)
_primary(place, path, runs)

first_open = next((index for index, step in enumerate(path) if not step.done), None)
for index, (column, step) in enumerate(zip(st.columns(len(path)), path, strict=True)):
    with column:
        _step_card(index + 1, step, index == first_open)

active = [run for run in runs if run.active]
if active:
    st.subheader("Running now", anchor=False)
    for run in active:
        run_card(store, run)

recent = [run for run in runs if not run.active][:5]
if recent:
    st.subheader("Recent", anchor=False)
    for run in recent:
        run_card(store, run)
elif not active:
    st.subheader("What happens when you try it", anchor=False)
    st.html(
        '<div class="md-quiet" style="max-width:70ch">The bundled data are small samples in the raw formats of the public sources, and a '
        "small target model. They are imported, you weigh them, look at single rows as the target will see them, tokenize, and train a "
        "drafter for a minute or two. Everything stays on this machine, in one folder.</div>"
    )
