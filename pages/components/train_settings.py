"""What a training is told: dataset, engine, length, shape, states. Every setting begins at what suits the target, with the reason."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import streamlit as st

from core.drafter.defaults import Default, defaults_for
from core.drafter.settings import TrainSettings
from core.drafter.speculators.settings import ALGORITHMS, ENDLESS
from core.drafter.target_facts import NoFacts, TargetFacts
from core.jobs import TrainJob
from pages.components import current
from pages.components.datasets import Dataset
from pages.components.drafters import Drafter, next_name
from pages.components.numbers import count, short
from pages.components.page import fail

_FRESH = "the target's layers"


def train_settings(known: list[Dataset], made: list[Drafter]) -> TrainJob | None:
    """Draw the choices; returns the training they describe, None where the target cannot be read."""
    names = [dataset.name for dataset in known]
    name = st.selectbox("Dataset", names, key="dataset", bind="query-params")
    dataset = next(dataset for dataset in known if dataset.name == name)
    target = str(dataset.manifest.recipe["target"]["path"])
    st.caption(f"{count(dataset.manifest.rows)} rows · {short(dataset.manifest.tokens)} tokens · target {current.target_label(target)}")
    try:
        facts = TargetFacts.read(Path(target))
    except NoFacts as error:
        fail(error)
        return None
    defaults = defaults_for(facts)
    engine = st.segmented_control("Engine", ["native", "speculators"], default="native", key="train-engine", persist_state="session")
    own = engine == "speculators"
    st.caption(
        "`speculators.train` in an environment of its own: for many GPUs and nodes, and for other algorithms."
        if own
        else "Mixdown's own DFlash: this machine's processor, or one GPU."
    )
    settings = _length(own) | _shape(defaults, facts, made, own)
    prompts = st.number_input("Held-out prompts to measure", 5, 10_000, 120, 5, key="train-prompts", persist_state="session")
    st.caption("Each is decoded twice, with and without the drafter, so that both outputs can be compared.")
    states, server = _states(dataset)
    return TrainJob(
        home=current.workspace().home,
        data=dataset.folder,
        target=target,
        out=current.workspace().drafter(next_name()),
        settings=settings,
        engine="speculators" if own else "native",
        speculators=_speculators() if own else {},
        states=states,
        server=server,
        prompts=int(prompts),
    )


def _length(own: bool) -> dict[str, Any]:
    """How long to train: by time, or by steps, on which nothing but the data and the seed then bears."""
    by = st.segmented_control("Train for", ["a time", "a number of steps"], default="a time", key="train-by", persist_state="session")
    if by == "a number of steps":
        steps = st.number_input("Training steps", 1, 10_000_000, 2_000, 100, key="train-steps", persist_state="session")
        st.caption("The result then depends on nothing but data, settings and seed.")
        return {"max_steps": int(steps), "max_seconds": None}
    seconds = st.number_input("Training time in seconds", 5, 10_000_000, 110, 5, key="train-seconds", persist_state="session")
    st.caption(
        "Its own signal ends it then, and what it saves is the drafter; its epochs may end it earlier."
        if own
        else "After two minutes the demo target accepts about four tokens a round, after four five; longer is better, ever more slowly."
    )
    return {"max_seconds": float(seconds), **({"max_steps": ENDLESS} if own else {})}


def _shape(defaults: dict[str, Default], facts: TargetFacts, made: list[Drafter], own: bool) -> dict[str, Any]:
    # The keys hold the target's width: another target begins with its own defaults.
    wide = facts.hidden_size
    with st.expander("Shape and learning rate", icon=":material/tune:"):
        layers = st.number_input("Draft layers", 1, 16, defaults["layers"].value, key=f"train-layers-{wide}", persist_state="session")
        st.caption(_why(defaults["layers"]))
        block = st.number_input(
            "Block size in tokens", 2, 64, defaults["block_size"].value, key=f"train-block-{wide}", persist_state="session"
        )
        st.caption(f"So many tokens can come out of one round at most. {_why(defaults['block_size'])}")
        rate = st.number_input(
            "Peak learning rate", 1e-6, 1e-1, defaults["learning_rate"].value, 1e-3, format="%.4f", key=f"train-rate-{wide}",
            persist_state="session",
        )  # fmt: skip
        st.caption(_why(defaults["learning_rate"]))
        chosen = {
            "layers": int(layers),
            "block_size": int(block),
            "learning_rate": float(rate),
            **_count("Conversations in a step", "conversations", defaults["conversations"], wide),
            **_count("Blocks of each conversation", "anchors", defaults["anchors"], wide),
            "gamma": 7.0 if block > 12 else 4.0,
            "seed": int(st.number_input("Seed", 0, 2**31, 0, key="train-seed", persist_state="session")),
        }
    if not own and "warm_start" in {field.name for field in fields(TrainSettings)} and made:
        begun = st.selectbox(
            "Begin with", [_FRESH, *(drafter.name for drafter in made)], key="train-warm", persist_state="session",
            help="The target's own last layers where they fit a drafter, else drawn weights; or an earlier drafter of the same shape.",
        )  # fmt: skip
        if begun != _FRESH:
            chosen["warm_start"] = str(next(drafter.folder for drafter in made if drafter.name == begun))
    return chosen


def _count(label: str, name: str, default: Default, wide: int) -> dict[str, int]:
    value = st.number_input(label, 1, 1024, default.value, key=f"train-{name}-{wide}", persist_state="session")
    st.caption(_why(default))
    return {name: int(value)}


def _why(default: Default) -> str:
    return f"{default.reason[:1].upper()}{default.reason[1:]}."


def _states(dataset: Dataset) -> tuple[Path | None, str | None]:
    """Where the target's hidden states come from, and whether they stay."""
    with st.expander("Hidden states of the target", icon=":material/memory:"):
        options = ["made here, then removed", "made here once, and kept", "from a vLLM server, and kept"]
        where = st.radio("They are", options, key="train-states", persist_state="session")
        if where == options[0]:
            st.caption("The target runs over the dataset once before each training.")
            return None, None
        folder = st.text_input(
            "Folder", str(current.workspace().home / "states" / dataset.name), key=f"states-{dataset.name}", persist_state="session"
        )
        st.caption(
            "One file per row, as speculators reads them too. What is there is never made again; a stop or a dead server loses none."
        )
        if where == options[1]:
            return Path(folder).expanduser(), None
        url = st.text_input("Server", "http://localhost:8000", key="train-server", persist_state="session")
        st.caption("vLLM with the hidden-states connector and a file system that this machine sees.")
        return Path(folder).expanduser(), url.strip() or None


def _speculators() -> dict[str, Any]:
    """What only that engine is told."""
    with st.expander("Environment and machines", icon=":material/dns:", expanded=True):
        python = st.text_input("Interpreter", "python3", key="train-python", persist_state="session")
        st.caption("Of an environment with speculators 0.9. Its own schema checks the settings before anything starts.")
        algorithm = st.selectbox("Algorithm", ALGORITHMS, key="train-algorithm", persist_state="session")
        if algorithm != "dflash":
            st.caption("Only DFlash can be measured here afterwards.")
        gpus = st.number_input("GPUs of each node", 0, 64, 1, key="train-gpus", persist_state="session", help="0 trains on the processor.")
        nodes = st.number_input("Nodes", 1, 1024, 1, key="train-nodes", persist_state="session")
        told: dict[str, Any] = {"python": python.strip(), "algorithm": algorithm, "gpus": int(gpus), "nodes": int(nodes)}
        if nodes > 1:
            told["rendezvous"] = st.text_input("First node", "host:29500", key="train-rendezvous", persist_state="session").strip()
        told["epochs"] = int(st.number_input("Epochs at most", 1, 1000, 20, key="train-epochs", persist_state="session"))
        told["sequence"] = int(
            st.number_input("Tokens of a packed batch", 64, 131_072, 8192, 512, key="train-sequence", persist_state="session")
        )
    return told
