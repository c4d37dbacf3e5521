"""What a reader has to know of a plan before saving it: what is short and why, caps that bind, sources that should not be mixed."""

import streamlit as st

from core.errors import MixdownError
from core.mix import Plan, PlannedSource, Recipe
from pages.components import current
from pages.components.mix_draft import Draft, in_use
from pages.components.numbers import count, percent, plural, short
from pages.components.page import fail, plain
from pages.components.planning import Planned, plan_now

_UNITS = {"rows": "conversations", "tokens": "tokens", "trainable_tokens": "trainable tokens"}


def shortfall(draft: Draft, found: Planned) -> None:
    """Explain a plan that fails for want of rows, source by source, with the ways out."""
    if found.shortfall is None:
        return
    plan, budget = found.plan, draft.recipe.budget
    given = {"rows": plan.total, "tokens": plan.tokens, "trainable_tokens": plan.trainable_tokens}[budget.unit] or 0
    asked = budget.amount or given
    with st.container(border=True, key="mix-shortfall"):
        st.error(
            plain(
                f"The mix is {count(asked - given)} {_UNITS[budget.unit]} short of {count(asked)}: "
                + ("the sources together do not have that many." if draft.recipe.on_shortfall == "redistribute" else _sources_short(plan))
            ),
            icon=":material/error:",
        )
        for part in plan.sources:
            if part.shortfall:
                st.html(f'<div class="md-warn">{_explained(part)}</div>')
        with st.container(horizontal=True):
            if draft.recipe.on_shortfall == "fail":
                st.button(
                    "Let the others fill in",
                    type="primary",
                    icon=":material/balance:",
                    key="mix-redistribute",
                    on_click=lambda: draft.edit("shortfall redistributed", on_shortfall="redistribute"),
                )
            if given:
                st.button(
                    f"Lower the total to {count(given)}",
                    key="mix-lower",
                    on_click=lambda: draft.edit("total lowered", budget=budget.model_copy(update={"amount": given})),
                )


def _sources_short(plan: Plan) -> str:
    short_ones = [part for part in plan.sources if part.shortfall]
    return f"{plural(len(short_ones), 'source')} {'has' if len(short_ones) == 1 else 'have'} too few rows."


def _explained(part: PlannedSource) -> str:
    asked = part.rows + part.shortfall
    tokens = "" if part.shortfall_trainable_tokens is None else f", about {short(part.shortfall_trainable_tokens)} trainable tokens"
    return (
        f"<b>{part.name}</b>: its weight asks for {count(asked)} rows, it gives {count(part.rows)} ({part.limit}): "
        f"{count(part.shortfall)} rows short{tokens}. All asked rows would be {asked / part.available:.2f} epochs."
        if part.available
        else f"<b>{part.name}</b> has no usable row."
    )


def warnings_of(recipe: Recipe, found: Planned) -> dict[str, list[str]]:
    """Source -> what is noteworthy about its part, in a sentence each."""
    said: dict[str, list[str]] = {}
    plan = found.plan
    taken = [part for part in plan.sources if part.weight > 0]
    bound = [part.name for part in taken if part.rows and part.rows >= part.cap]
    for part in plan.sources:
        mine = said.setdefault(part.name, [])
        if part.shortfall and found.shortfall is None:
            mine.append(f"{count(part.shortfall)} rows fewer than its weight asks ({part.limit}); the others give them")
        elif part.shortfall:
            mine.append(f"{count(part.shortfall)} rows short ({part.limit})")
        elif plan.budget is None and part.name in bound and len(bound) < len(taken):
            mine.append("gives all that it may, and so limits the total")
        if part.epochs > 1:
            mine.append(f"each row is used {part.epochs:.2f} times")
        removed = sum(part.removed.values())
        if removed:
            mine.append(f"{count(removed)} of {count(part.available + removed)} rows not usable: " + _rules(part))
        if part.weight > 0 and part.tokens == 0 and part.rows:
            mine.append("the template refuses every sampled row")
    used = set(in_use(recipe))
    for one, other, reason in _overlaps(tuple(sorted(used))):
        said.setdefault(one, []).append(f"overlaps with {other}: {reason}")
    return said


def _rules(part: PlannedSource) -> str:
    return ", ".join(f"{count(rows)} by {rule}" for rule, rows in part.removed.items())


@st.cache_data(max_entries=20, ttl=60, show_spinner=False)
def _overlaps(used: tuple[str, ...]) -> list[tuple[str, str, str]]:
    return [pair for pair in current.library().overlaps() if pair[0] in used and pair[1] in used]


def over_caps(draft: Draft, found: Planned) -> None:
    """Before a change is saved: which sources it makes run over their cap that did not."""
    if not draft.changed:
        return
    over = {part.name: part for part in found.plan.sources if part.shortfall}
    raised = [
        f"{entry.name}: each row up to {entry.max_epochs:g} times instead of {before.max_epochs:g}"
        for entry in draft.recipe.sources
        if (before := draft.saved.source(entry.name)) is not None and entry.max_epochs > max(1.0, before.max_epochs)
    ]
    if not over and not raised:
        return
    try:
        before = {part.name for part in plan_now(draft.saved, measure=False).plan.sources if part.shortfall}
    except MixdownError:
        before = set()
    new = [part for name, part in over.items() if name not in before]
    lines = [
        f"{part.name} would be used {(part.rows + part.shortfall) / part.available:.2f} times, its cap is {part.cap / part.available:.2f} "
        f"({count(part.shortfall)} of {count(part.rows + part.shortfall)} rows too many)"
        for part in new
        if part.available
    ]
    if lines or raised:
        st.warning(plain("Before you save: " + "; ".join([*lines, *raised]) + "."), icon=":material/priority_high:")


def problems(found: Planned | None, error: MixdownError | None) -> None:
    """What keeps the plan from being made, and what keeps its tokens from being known."""
    if error is not None:
        fail(error)
    if found is not None and found.no_tokens is not None:
        st.warning(plain(f"Tokens are not known: {found.no_tokens}"), icon=":material/help:")


def lost_share(plan: Plan) -> str:
    """How much of what was asked for the plan gives, in per cent."""
    asked = sum(part.rows + part.shortfall for part in plan.sources)
    return percent(plan.total / asked if asked else None)
