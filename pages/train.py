"""Train: does the target accept what the drafter drafts?"""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.errors import MixdownError
from core.jobs import TrainJob, begin
from core.runs import Run
from pages.components import current
from pages.components.acceptance import acceptance_report
from pages.components.comparison import compare, training_name
from pages.components.curves import training_curves
from pages.components.datasets import datasets
from pages.components.drafters import Drafter, drafters
from pages.components.page import empty, fail, go, header
from pages.components.run_card import run_card
from pages.components.train_forecast import train_forecast
from pages.components.train_settings import train_settings

_SENTENCE = "Does the target accept what the drafter drafts? Train one, then let both decode prompts that were never trained on."


def _start(job: TrainJob) -> None:
    try:
        begin(job)
    except MixdownError as error:
        fail(error)
    else:
        st.query_params.pop("drafter", None)
        st.rerun()


def _primary(place: DeltaGenerator, job: TrainJob | None, active: Run | None, *, possible: bool) -> None:
    if active is not None:
        word = "Measuring" if active.kind == "evaluate" else "Training"
        place.button(word, type="primary", disabled=True, icon=":material/progress_activity:")
    elif place.button("Train", type="primary", icon=":material/play_arrow:", disabled=job is None or not possible) and job is not None:
        _start(job)


def _right(active: Run | None, trainings: Sequence[Run], measured: Run | None, made: list[Drafter]) -> None:
    store = current.store()
    last = next((run for run in trainings if not run.active), None)
    if active is not None:
        run_card(store, active, training_curves if active.kind != "evaluate" else None)
    elif last is not None and last.state in ("failed", "lost", "cancelled", "paused"):
        run_card(store, last, training_curves)
    elif measured is not None and measured.state in ("failed", "lost") and measured is _newest(measured, last):
        run_card(store, measured)
    if active is not None and active.kind != "evaluate":
        _comparison(trainings)
        return
    if made:
        asked = st.query_params.get("drafter")
        acceptance_report(next((drafter for drafter in made if drafter.name == asked), made[0]), busy=active is not None)
        _others(made, asked)
    elif last is None:
        empty(
            "No drafter yet",
            "Start a training; its curves appear here, then how many tokens the target accepts per round, source by source.",
        )
    _comparison(trainings)


def _newest(one: Run, other: Run | None) -> Run:
    return one if other is None or one.created_at > other.created_at else other


def _others(made: list[Drafter], asked: str | None) -> None:
    shown = next((drafter.name for drafter in made if drafter.name == asked), made[0].name)
    if len(made) < 2:
        return
    with st.container(horizontal=True):
        for other in made:
            if other.name != shown:
                st.page_link("pages/train.py", label=other.name, icon=":material/monitoring:", query_params={"drafter": other.name})


def _comparison(trainings: Sequence[Run]) -> None:
    """Earlier trainings on one chart."""
    if len(trainings) < 2:
        return
    with st.expander("Compare trainings", icon=":material/compare:", key="compare-trainings"):
        by_name = {f"{training_name(run)} ({run.id[-4:]})": run for run in trainings}
        begun = [name for name, run in by_name.items() if (run.folder / "metrics.jsonl").exists()]
        chosen = st.multiselect("Trainings", list(by_name), default=begun[:3], key=f"compared-{len(begun)}")
        if chosen:
            compare([by_name[name] for name in chosen], "train")


def _page() -> None:
    place = header("Train", _SENTENCE)
    runs = current.store().list()
    trainings = [run for run in runs if run.kind in ("train", "demo")]
    measured = next((run for run in runs if run.kind == "evaluate"), None)
    active = next((run for run in runs if run.active and run.kind in ("train", "demo", "evaluate")), None)
    known, made = datasets(), drafters(runs)
    if not known and not trainings:
        if place.button("Go to Tokenize", type="primary", icon=":material/arrow_back:"):
            go("pages/tokenize.py")
        empty("No dataset yet", "Tokenize a recipe first; a drafter is trained on its rows and measured on its held-out prompts.")
        return
    left, right = st.columns([1, 2.4], gap="large")
    with left:
        if known:
            job = train_settings(known, made)
            possible = job is not None and train_forecast(job)
            _primary(place, job, active, possible=possible)
    with right:
        _right(active, trainings, measured, made)


_page()
