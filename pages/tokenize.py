"""Tokenize: make the dataset, and prove it."""

import streamlit as st

from core.errors import MixdownError
from core.jobs import TokenizeJob, begin
from core.mix import Recipe, recipe_text
from core.runs import Run
from pages.components import current
from pages.components.dataset_report import dataset_report
from pages.components.datasets import Dataset, dataset_name, datasets
from pages.components.numbers import count
from pages.components.page import empty, fail, go, header
from pages.components.run_card import run_card
from pages.components.tokenize_before import before, chosen_workers
from pages.components.tokenize_live import discarded, figures_of_run, has_left, resuming_buttons, stopping_buttons

_SENTENCE = "Turn the mix into training rows once, check every one of them, and keep the proof beside the data."


def _start(recipe: Recipe, *, overwrite: bool) -> None:
    workspace = current.workspace()
    out = workspace.dataset(dataset_name(recipe))
    job = TokenizeJob(home=workspace.home, recipe=recipe_text(recipe), out=out, workers=chosen_workers(), overwrite=overwrite)
    try:
        begin(job)
    except MixdownError as error:
        fail(error)
    else:
        st.rerun()


def _page(recipe: Recipe) -> None:
    place = header("Tokenize", _SENTENCE)
    store = current.store()
    mine = [run for run in store.list() if run.kind == "tokenize"]
    active = next((run for run in mine if run.active), None)
    known = datasets()
    current_one = next((dataset for dataset in known if dataset.name == dataset_name(recipe)), None)
    asked = st.query_params.get("dataset")
    shown = next((dataset for dataset in known if dataset.name == asked), None) if asked else current_one
    _primary(place, recipe, active, shown)
    if active:
        run_card(store, active, figures_of_run, stopping_buttons)
    elif mine and mine[0].state in ("failed", "lost", "cancelled") and not discarded(mine[0]):
        run_card(store, mine[0], figures_of_run if has_left(mine[0]) else None, resuming_buttons)
    if shown is not None and active is None:
        dataset_report(shown)
        _others(known, shown)
    elif active is None:
        before(recipe)
        _others(known, None)


def _primary(place: st.delta_generator.DeltaGenerator, recipe: Recipe, active: Run | None, shown: Dataset | None) -> None:
    if active is not None:
        place.button("Tokenizing", type="primary", disabled=True, icon=":material/progress_activity:")
    elif shown is not None:
        if shown.name == dataset_name(recipe) and place.button("Make it again", icon=":material/replay:"):
            _start(recipe, overwrite=True)
        if place.button("Train on this", type="primary", icon=":material/arrow_forward:", icon_position="right"):
            go("pages/train.py", dataset=shown.name)
    elif place.button("Tokenize", type="primary", icon=":material/play_arrow:"):
        _start(recipe, overwrite=False)


def _others(known: list[Dataset], shown: Dataset | None) -> None:
    rest = [dataset for dataset in known if shown is None or dataset.name != shown.name]
    if rest:
        with st.expander(f"Other datasets ({len(rest)})"):
            for dataset in rest:
                st.page_link(
                    "pages/tokenize.py",
                    label=f"{dataset.name}: {count(dataset.manifest.rows)} rows",
                    icon=":material/data_array:",
                    query_params={"dataset": dataset.name},
                )


recipe = current.recipe()
if recipe is None:
    place = header("Tokenize", _SENTENCE)
    if place.button("Go to Mix", type="primary", icon=":material/arrow_back:"):
        go("pages/mix.py")
    empty("No recipe yet", "A recipe says what to tokenize; make one on the Mix page.")
else:
    _page(recipe)
