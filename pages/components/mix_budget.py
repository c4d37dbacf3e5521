"""How much to take in all, in which unit, and in one line what that means."""

import time
from typing import Any

import streamlit as st

from core.chat import FastPath
from core.errors import MixdownError
from core.mix import UNITS, Recipe
from pages.components import current
from pages.components.mix_draft import Draft
from pages.components.mix_rows import UNIT_WORDS
from pages.components.numbers import count, duration, percent, short, size
from pages.components.page import figures
from pages.components.planning import Planned, choices_of, supervision_of, target_of, target_stamp

_IN_ALL = {"rows": "Conversations in all", "tokens": "Tokens in all", "trainable_tokens": "Trainable tokens in all"}
_BYTES_PER_TOKEN = 4 + 1 / 8
"""An int32 and a bit of the mask."""
_BYTES_PER_ROW = 34
"""Length, source and row id."""


def budget(draft: Draft, found: Planned | None) -> None:
    """Draw the controls."""
    said = draft.recipe.budget
    switch, amount, unit, fill = st.columns([0.9, 1.1, 1.1, 1.1], vertical_alignment="bottom")
    limited = said.amount is not None
    switch.toggle("Limit the total", value=limited, **draft.on_change("limited", limited, lambda on: _limit(draft, found, on=on)))
    if said.amount is not None:
        amount.number_input(
            _IN_ALL[said.unit],
            min_value=1,
            value=said.amount,
            step=max(1, 10 ** (len(str(said.amount)) - 2)),
            **draft.on_change(f"budget-{said.unit}", said.amount, lambda told: _budget(draft, amount=int(told or 1))),
        )
        unit.selectbox(
            "Unit of the total",
            UNITS,
            index=UNITS.index(said.unit),
            format_func=UNIT_WORDS.__getitem__,
            **draft.on_change("budget-unit", said.unit, lambda told: _in_unit(draft, found, told)),
        )
    else:
        amount.html('<div class="md-quiet" style="padding-bottom:.6rem">as many as the weights allow</div>')
    others = draft.recipe.on_shortfall == "redistribute"
    fill.toggle(
        "Let others fill in",
        value=others,
        help="When a source has too few rows, the other sources give more. Otherwise the plan stops and says by how much it is short.",
        **draft.on_change("fill", others, lambda on: draft.edit("who fills a shortfall", on_shortfall="redistribute" if on else "fail")),
    )


def _budget(draft: Draft, **changes: Any) -> None:
    draft.edit("budget", budget=draft.recipe.budget.model_copy(update=changes))


def _limit(draft: Draft, found: Planned | None, *, on: bool) -> None:
    """A limit begins with what the plan comes to."""
    _budget(draft, amount=_total(found, draft.recipe.budget.unit) if on else None)


def _in_unit(draft: Draft, found: Planned | None, unit: str) -> None:
    """Another unit keeps the size of the mix."""
    _budget(draft, unit=unit, amount=_total(found, unit))


def _total(found: Planned | None, unit: str) -> int:
    plan = found.plan if found else None
    whole = None if plan is None else {"rows": plan.total, "tokens": plan.tokens, "trainable_tokens": plan.trainable_tokens}[unit]
    return max(1, whole or 1000)


def meaning(recipe: Recipe, found: Planned) -> None:
    """What the mix comes to, in one line of figures."""
    plan = found.plan
    pairs = [(count(plan.total), "conversations")]
    tokens, trainable, rows = plan.tokens, plan.trainable_tokens, found.training_rows
    if tokens and trainable is not None:
        about = "" if plan.tokens_error == 0 else "≈ "
        error = "" if not plan.trainable_error else f", ± {percent(plan.trainable_error, 0)}"
        if rows is not None:
            pairs.append((f"{about}{short(rows)}", "training rows"))
        pairs += [
            (f"{about}{short(tokens)}", "tokens"),
            (f"{about}{short(trainable)}", f"trainable ({percent(trainable / tokens, 0)}{error})"),
        ]
        pairs.append((size(round(tokens * _BYTES_PER_TOKEN + (rows or plan.total) * _BYTES_PER_ROW)), "on disk"))
        pace = _pace_here(recipe)
        if pace:
            pairs.append((f"≈ {duration(tokens * pace)}", "to tokenize here"))
    figures(pairs)


def _pace_here(recipe: Recipe) -> float | None:
    """Seconds per token: of the last dataset that was made here, else of a few conversations that are rendered and masked to see."""
    for run in current.store().list():
        if run.kind == "tokenize" and run.state == "done" and run.result and run.result.get("tokens"):
            return float(run.seconds) / float(run.result["tokens"])
    try:
        return _tried(recipe, choices_of(recipe), target_stamp(recipe.target))
    except MixdownError:
        return None


_TRIED = 40


@st.cache_data(max_entries=20, show_spinner=False)
def _tried(_recipe: Recipe, choices: str, stamp: tuple[float, float]) -> float | None:  # noqa: ARG001  the cache's key
    library = current.library()
    fast = FastPath(target_of(_recipe), supervision_of(_recipe))
    tokens, seconds = 0, 0.0
    for entry in [entry for entry in _recipe.sources if entry.weight > 0][:8]:
        source = library.source(entry.name)
        rows = list(source.conversations(range(min(_TRIED, source.rows))))
        began = time.perf_counter()
        tokens += sum(len(row.input_ids) for made in fast.supervise_batch(rows) for row in made.rows)
        seconds += time.perf_counter() - began
    return seconds / tokens if tokens else None
