"""Mix: how much of each source, and what does that mean?"""

import streamlit as st

from core.errors import InputError, MixdownError
from core.mix import difference
from pages.components import current
from pages.components.mix_budget import budget, meaning
from pages.components.mix_checks import waiting_notice
from pages.components.mix_contamination import contamination_section
from pages.components.mix_draft import Draft, draft_of, in_use
from pages.components.mix_duplicates import duplicates_section
from pages.components.mix_filters import filters_section
from pages.components.mix_history import files_section, history_section
from pages.components.mix_notices import over_caps, problems, shortfall, warnings_of
from pages.components.mix_picture import licences, picture
from pages.components.mix_presets import presets
from pages.components.mix_rows import weight_rows
from pages.components.mix_validation import validation_section
from pages.components.page import empty, go, header, plain
from pages.components.planning import Planned, plan_now

_SENTENCE = "How much of each source does the drafter learn from? Weights say what you want, the plan says what the sources can give."
_SECTION = "section"
_ROOM = {False: "others stay", True: "others make room"}


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


@st.fragment
def _page() -> None:
    """Everything that follows a weight; a fragment, so that the frame around it is not drawn anew at every move."""
    saved = current.recipe()
    if saved is None:
        st.rerun()
    draft = draft_of(saved)
    place = header("Mix", _SENTENCE)
    found, error = _planned(draft)
    budget(draft, found)
    total = st.container(key="mix-total")
    if found is not None and not found.unmeasured:
        with total:
            meaning(draft.recipe, found)
    with st.container(key="mix-notices"):  # one place, so that what comes and goes in it moves nothing below to another
        _notices(draft, found, error)
    left, right = st.columns([1.75, 1], gap="large")
    with left:
        _tools(draft)
        weight_rows(draft, found, warnings_of(draft.recipe, found) if found else {})
    with right, st.container(key="mix-side"):
        if found is not None and found.plan.total:
            picture(found.plan)
            licences(found.plan, found.usable)
    _sections(draft, found)
    _primary(place, draft)
    if found is not None and found.unmeasured:
        # Last: a sample of each source is measured, which takes a moment the first time.
        with total, st.spinner("Measuring a sample of each source"):
            plan_now(draft.recipe, measure=True)
        st.rerun()


def _planned(draft: Draft) -> tuple[Planned | None, MixdownError | None]:
    try:
        if not in_use(draft.recipe):
            raise InputError("Every source has weight 0: give at least one a weight above 0.")
        return plan_now(draft.recipe, measure=False), None
    except MixdownError as error:
        return None, error


def _notices(draft: Draft, found: Planned | None, error: MixdownError | None) -> None:
    if draft.refused:
        st.warning(plain(draft.refused), icon=":material/block:")
        draft.refused = None
    if draft.saved_elsewhere and draft.changed:
        st.info(
            "Somebody saved this recipe meanwhile. Saving here puts what is on screen on top of it; History has both.",
            icon=":material/sync:",
        )
    problems(found, error)
    if found is not None:
        shortfall(draft, found)
        over_caps(draft, found)
        waiting_notice(draft.recipe, found.waiting)


def _tools(draft: Draft) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        presets(draft)
        st.button(
            "Undo",
            icon=":material/undo:",
            key="mix-undo",
            disabled=not draft.past,
            help=plain(f"Take back: {draft.past[-1][0]}") if draft.past else None,
            on_click=draft.undo,
        )
        st.button(
            "Redo",
            icon=":material/redo:",
            key="mix-redo",
            disabled=not draft.future,
            help=plain(f"Again: {draft.future[-1][0]}") if draft.future else None,
            on_click=draft.redo,
        )
        st.segmented_control(
            "When one weight moves",
            [False, True],
            default=draft.make_room,
            required=True,
            format_func=_ROOM.__getitem__,
            help="Whether the other weights scale so that their sum stays. Weights that are ticked under Keep never scale.",
            **draft.on_change("room", draft.make_room, lambda said: setattr(draft, "make_room", bool(said))),
        )


def _sections(draft: Draft, found: Planned | None) -> None:
    recipe = draft.recipe
    filters = sum(one.asks for one in (recipe.filters, *recipe.domain_filters.values(), *(entry.filters for entry in recipe.sources)))
    labels = {
        "filters": f"Filters ({filters})" if filters else "Filters",
        "duplicates": "Duplicates" + (" (on)" if recipe.duplicates.asks else ""),
        "contamination": "Contamination" + (f" ({len(recipe.contamination.benchmarks)})" if recipe.contamination.asks else ""),
        "validation": f"Validation ({recipe.validation:.1%})",
        "history": "History and diff",
        "files": "Copy, import, export, command",
    }
    if _SECTION not in st.session_state and st.query_params.get(_SECTION) in labels:
        st.session_state[_SECTION] = st.query_params[_SECTION]
    # Not bound to the address: its words there would be the labels, which change with what they count.
    chosen = st.segmented_control(
        "More of this recipe", list(labels), format_func=labels.__getitem__, key=_SECTION, label_visibility="collapsed"
    )
    if st.query_params.get(_SECTION) != chosen:
        if chosen:
            st.query_params[_SECTION] = chosen
        else:
            del st.query_params[_SECTION]
    with st.container(key="mix-section"):
        if chosen == "filters":
            filters_section(draft)
        elif chosen == "duplicates":
            duplicates_section(draft, found)
        elif chosen == "contamination":
            contamination_section(draft, found)
        elif chosen == "validation":
            validation_section(draft, found)
        elif chosen == "history":
            history_section(draft)
        elif chosen == "files":
            files_section(draft)


def _primary(place: st.delta_generator.DeltaGenerator, draft: Draft) -> None:
    changes = difference(draft.saved, draft.recipe)
    if not changes:
        if place.button("Continue to preview", type="primary", icon=":material/arrow_forward:", icon_position="right"):
            go("pages/preview.py")
        return
    with place.popover(f"{len(changes)} unsaved change{'s' if len(changes) > 1 else ''}", icon=":material/edit:"):
        st.code("\n".join(changes), language=None)
        st.button("Undo all", key="mix-undo-all", icon=":material/undo:", on_click=lambda: draft.change(draft.saved, "all changes undone"))
    if place.button("Save recipe", type="primary", icon=":material/save:", key="mix-save", disabled=not in_use(draft.recipe)):
        current.save(draft.recipe)
        st.toast(f"Recipe {plain(draft.saved.name)} saved")
        st.rerun()


if current.recipe() is None:
    _begin()
else:
    _page()
