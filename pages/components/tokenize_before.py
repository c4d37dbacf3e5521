"""Before a tokenization: what will be made, how long it takes here, what the template will refuse, and the command that does the same."""

import os
from typing import Any

import streamlit as st

from core.mix import Plan, Recipe
from core.tokens import Trial, trial
from pages.components import current
from pages.components.datasets import dataset_name
from pages.components.numbers import count, duration, percent, short, size
from pages.components.page import figures
from pages.components.planning import choices_of, imported_stamp, planned, target_of, target_stamp
from pages.components.refusals import refusal_banner, words
from pages.components.sampling import sample_of

WORKERS = "tokenize-workers"


def before(recipe: Recipe) -> None:
    """Draw it."""
    plan = planned(recipe)
    numbers = st.empty()
    numbers.caption("Trying a few conversations on this machine")
    table = st.container()
    banner = st.container()
    _settings(recipe)
    _per_source(table, recipe, plan)
    with banner:
        refusal_banner(recipe)
    with numbers.container():
        _figures(_tried(recipe, plan).expected(plan.total, chosen_workers()), plan)


def chosen_workers() -> int:
    """How many processes the next run gets."""
    return int(st.session_state.get(WORKERS, 1))


def _figures(whole: Trial, plan: Plan) -> None:
    share = percent(whole.trainable_tokens / whole.tokens, 0) if whole.tokens else "–"
    figures(
        [
            (count(plan.total), "conversations"),
            (f"≈ {short(whole.rows)}", "training rows"),
            (f"≈ {short(whole.tokens)}", "tokens"),
            (f"≈ {short(whole.trainable_tokens)}", f"trainable ({share})"),
            (f"≈ {size(whole.bytes)}", "on disk"),
            (f"≈ {duration(max(1.0, whole.seconds))}", "on this machine"),
        ]
    )


def _per_source(place: Any, recipe: Recipe, plan: Plan) -> None:
    rows = [
        {
            "Source": part.name,
            "Domain": part.domain,
            "Conversations": part.rows,
            "Share": part.share_realised,
            "Tokens (estimate)": part.tokens,
            "Trainable (estimate)": part.trainable_tokens,
            "Refusals to expect": _refusals(recipe, part.name),
        }
        for part in plan.sources
        if part.rows
    ]
    formats: dict[str, Any] = {"Share": st.column_config.NumberColumn(format="percent")}
    formats |= dict.fromkeys(
        ("Conversations", "Tokens (estimate)", "Trainable (estimate)"), st.column_config.NumberColumn(format="localized")
    )
    formats["Refusals to expect"] = st.column_config.TextColumn(width="large")
    place.dataframe(rows, hide_index=True, height=38 + 35 * len(rows), column_config=formats)


def _refusals(recipe: Recipe, source: str) -> str:
    """In words, from the sample of the source: which share is lost for which reason."""
    sample = sample_of(recipe, source)
    if not sample.losses:
        return f"none in {count(sample.rows)} sampled" if sample.rows else "–"
    lost = sorted(((len(set(loss.rows)), loss.reason) for loss in sample.losses), key=lambda item: (-item[0], item[1]))
    return ", ".join(f"{words(reason)} {percent(rows / sample.rows)}" for rows, reason in lost)


def _settings(recipe: Recipe) -> None:
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    cores = os.cpu_count() or 1
    workers = int(
        left.number_input(
            "Worker processes",
            1,
            max(cores, 1),
            key=WORKERS,
            help=f"This machine has {cores} cores; the bytes are the same for any number.",
        )
    )
    name = dataset_name(recipe)
    home = current.workspace()
    right.code(
        f"mixdown tokenize {recipe.name} --out {home.dataset(name)} --workers {workers} --home {home.home}", language="sh", wrap_lines=True
    )
    settings = recipe.supervision
    st.caption(
        f"Rows longer than {count(settings.seq_length)} tokens are cut; {percent(recipe.validation, 0)} of the prompts are held out to "
        f"measure the drafter. The dataset will be called {name}."
    )


def _tried(recipe: Recipe, plan: Plan) -> Trial:
    used = [part.name for part in plan.sources if part.rows]
    stamps = (*map(imported_stamp, used), *target_stamp(recipe.target))
    return _trial(recipe, plan, choices_of(recipe), recipe.digest, stamps)


@st.cache_data(max_entries=50, show_spinner=False)
def _trial(_recipe: Recipe, _plan: Plan, choices: str, digest: str, stamps: tuple[float, ...]) -> Trial:  # noqa: ARG001  the cache's key
    return trial(current.library(), _recipe, _plan, target_of(_recipe))
