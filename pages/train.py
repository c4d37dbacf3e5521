"""Train: does the target accept what the drafter drafts?"""

from typing import Any

import streamlit as st

from core.errors import MixdownError
from core.jobs import TrainJob, begin
from core.runs import Run
from pages.components import current
from pages.components.acceptance import acceptance_report
from pages.components.curves import training_curves
from pages.components.datasets import Dataset, datasets
from pages.components.drafters import Drafter, drafters, next_name
from pages.components.numbers import count
from pages.components.page import empty, fail, go, header
from pages.components.run_card import run_card

_SENTENCE = "Does the target accept what the drafter drafts? Train one, then let both decode prompts that were never trained on."


def _settings(known: list[Dataset]) -> tuple[Dataset, dict[str, Any], int | None]:
    names = [dataset.name for dataset in known]
    name = st.selectbox("Dataset", names, key="dataset", bind="query-params")
    dataset = next(dataset for dataset in known if dataset.name == name)
    st.caption(f"{count(dataset.manifest.rows)} rows · target {current.target_label(str(dataset.manifest.recipe['target']['path']))}")
    seconds = st.number_input("Training time in seconds", 5, 86_400, 110, 5, key="train-seconds", persist_state="session")
    st.caption("After two minutes the demo target accepts more than three tokens a round; longer is better, ever more slowly.")
    prompts = st.number_input("Held-out prompts to measure", 5, 10_000, 120, 5, key="train-prompts", persist_state="session")
    st.caption("Each is decoded twice, with and without the drafter, so that both outputs can be compared.")
    with st.expander("Shape and learning rate", icon=":material/tune:"):
        layers = st.number_input("Draft layers", 1, 8, 2, key="train-layers", persist_state="session")
        st.caption("Copying a name takes at least two; drafters of large targets have five.")
        block = st.number_input("Block size in tokens", 2, 32, 8, key="train-block", persist_state="session")
        st.caption("So many tokens can come out of one round at most, the target's own included.")
        rate = st.number_input("Peak learning rate", 1e-5, 1e-1, 1.2e-2, 1e-3, format="%.4f", key="train-rate", persist_state="session")
        st.caption("Right for drafters under a million parameters; use about 0.001 for large ones.")
    return (
        dataset,
        {"max_seconds": float(seconds), "layers": int(layers), "block_size": int(block), "learning_rate": float(rate)},
        int(prompts),
    )


def _start(dataset: Dataset, settings: dict[str, Any], prompts: int | None) -> None:
    workspace = current.workspace()
    job = TrainJob(
        home=workspace.home,
        data=dataset.folder,
        target=str(dataset.manifest.recipe["target"]["path"]),
        out=workspace.drafter(next_name()),
        settings=settings,
        prompts=prompts,
    )
    try:
        begin(job)
    except MixdownError as error:
        fail(error)
    else:
        st.query_params.pop("drafter", None)
        st.rerun()


def _right(active: Run | None, last: Run | None, made: list[Drafter]) -> None:
    store = current.store()
    if active is not None:
        run_card(store, active, training_curves)
        return
    if last is not None and last.state in ("failed", "lost", "cancelled"):
        run_card(store, last, training_curves)
    if not made:
        if last is None:
            empty(
                "No drafter yet",
                "Start a training; its curves appear here, then how many tokens the target accepts per round, source by source.",
            )
        return
    asked = st.query_params.get("drafter")
    shown = next((drafter for drafter in made if drafter.name == asked), made[0])
    acceptance_report(shown)
    if len(made) > 1:
        with st.container(horizontal=True):
            for other in made:
                if other.name != shown.name:
                    st.page_link("pages/train.py", label=other.name, icon=":material/monitoring:", query_params={"drafter": other.name})


place = header("Train", _SENTENCE)
runs = current.store().list()
trainings = [run for run in runs if run.kind in ("train", "demo")]
active = next((run for run in trainings if run.active), None)
known = datasets()
if not known and not trainings:
    if place.button("Go to Tokenize", type="primary", icon=":material/arrow_back:"):
        go("pages/tokenize.py")
    empty("No dataset yet", "Tokenize a recipe first; a drafter is trained on its rows and measured on its held-out prompts.")
else:
    left, right = st.columns([1, 2.4], gap="large")
    with left:
        if known:
            dataset, settings, prompts = _settings(known)
            if active is not None:
                place.button("Training", type="primary", disabled=True, icon=":material/progress_activity:")
            elif place.button("Train", type="primary", icon=":material/play_arrow:"):
                _start(dataset, settings, prompts)
    with right:
        _right(active, next((run for run in trainings if not run.active), None), drafters(runs))
