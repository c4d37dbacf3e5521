"""Mix: how much of each source, and what does that mean?"""

import streamlit as st

from core.errors import InputError, MixdownError
from core.mix import Plan, Recipe, Shortfall, difference
from pages.components import current
from pages.components.mix_draft import Draft, draft_of
from pages.components.mix_picture import cost, picture
from pages.components.mix_rows import weight_rows
from pages.components.page import empty, fail, go, header, plain
from pages.components.planning import planned
from pages.components.sidebar import SWITCH

_SENTENCE = "How much of each source does the drafter learn from? Weights say what you want, the plan says what the sources can give."


def _begin() -> None:
    place = header("Mix", _SENTENCE)
    if not current.library().sources():
        if place.button("Go to Sources", type="primary", icon=":material/arrow_back:"):
            go("pages/sources.py")
        empty("There is nothing to mix yet", "Import at least one source first.")
        return
    if place.button("Begin a recipe", type="primary", icon=":material/add:"):
        current.first_recipe()
        st.rerun()
    empty("No recipe yet", "A recipe starts with every imported source, weighted by its size. You change the weights here.")


_UNITS = {"rows": "Conversations in all", "tokens": "Tokens in all", "trainable_tokens": "Trainable tokens in all"}


def _budget(draft: Draft, saved: Recipe) -> Recipe:
    left, middle, right = st.columns([1.1, 1.1, 1.2], vertical_alignment="bottom")
    limited = left.toggle("Limit the total", value=saved.budget.amount is not None, key=draft.key("limited"))
    amount: int | None = None
    if limited:
        amount = int(
            middle.number_input(
                _UNITS[saved.budget.unit], min_value=1, value=saved.budget.amount or 1000, step=100, key=draft.key("budget")
            )
        )
    else:
        middle.html('<div class="md-quiet" style="padding-bottom:.6rem">as many as the weights allow</div>')
    redistribute = right.toggle(
        "Let others fill in",
        value=saved.on_shortfall == "redistribute",
        key=draft.key("fill"),
        help="When a source has too few rows, the other sources give more. Otherwise the plan stops and says by how much it is short.",
    )
    budget = saved.budget.model_copy(update={"amount": amount})
    return draft.recipe.model_copy(update={"budget": budget, "on_shortfall": "redistribute" if redistribute else "fail"})


def _primary(place: st.delta_generator.DeltaGenerator, wanted: Recipe, saved: Recipe, draft: Draft) -> None:
    changes = difference(saved, wanted)
    if not changes:
        if place.button("Continue to preview", type="primary", icon=":material/arrow_forward:", icon_position="right"):
            go("pages/preview.py")
        return
    if place.button("Undo all", icon=":material/undo:"):
        draft.forget()
        st.rerun()
    usable = any(entry.weight > 0 for entry in wanted.sources)
    if place.button("Save recipe", type="primary", icon=":material/save:", disabled=not usable):
        current.save(wanted)
        draft.forget()
        st.toast(f"Recipe {plain(wanted.name)} saved")
        st.rerun()


def _page(saved: Recipe) -> None:
    place = header("Mix", _SENTENCE)
    draft = draft_of(saved)
    wanted = _budget(draft, saved)
    problem: MixdownError | None = None
    plan: Plan | None = None
    try:
        if not any(entry.weight > 0 for entry in wanted.sources):
            raise InputError("Every source has weight 0: give at least one a weight above 0.")
        plan = planned(wanted, tokens=False)
    except Shortfall as error:
        problem, plan = error, error.plan
    except MixdownError as error:
        problem = error
    total = st.container(height=70, border=False)
    if problem is not None:
        fail(problem)
    left, right = st.columns([1.75, 1], gap="large")
    with left:
        weight_rows(draft, plan)
    with right:
        if plan is not None and plan.total:
            picture(plan)
        _recipe_box(draft, saved, wanted)
    _primary(place, wanted, saved, draft)
    if plan is not None:
        # Last: tokens are measured on a sample of each source, which takes a moment the first time.
        with total:
            cost(plan if problem else planned(wanted))


def _recipe_box(draft: Draft, saved: Recipe, wanted: Recipe) -> None:
    changes = difference(saved, wanted)
    if changes:
        with st.expander(f"{len(changes)} unsaved changes", icon=":material/edit:"):
            st.code("\n".join(changes), language=None)
    with st.popover("Save under another name", icon=":material/content_copy:"):
        name = st.text_input("Name", value=f"{saved.name}-2", key=draft.key("copy"))
        if st.button("Save a copy", key=draft.key("copy-go")):
            try:
                copy = Recipe.model_validate(wanted.model_dump() | {"name": name.strip()})
                current.save(copy)
            except (MixdownError, ValueError):
                st.error("A name has letters, digits, dots, dashes and underscores only.")
            else:
                draft.forget()
                st.session_state[SWITCH] = copy.name
                st.rerun()


recipe = current.recipe()
if recipe is None:
    _begin()
else:
    _page(recipe)
