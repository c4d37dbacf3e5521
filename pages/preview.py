"""Preview: what will the target see and learn from this row?"""

import streamlit as st

from core.chat import explain_rows
from core.mix import Recipe
from core.sources import Source
from pages.components import current
from pages.components.conversation_view import conversation_view
from pages.components.explained import choose_training_row, figures_of, rendered_of, side_by_side, tokens_of
from pages.components.page import empty, go, header
from pages.components.planning import loaded, target_of
from pages.components.probe_view import probe_view
from pages.components.raw_row import show_raw
from pages.components.refusals import refusal_banner
from pages.components.row_choice import choose_row
from pages.components.sample_view import sample_view
from pages.components.supervision_choice import called, choose_other, choose_supervision, what_differs

_SENTENCE = "What will the target see of a row, and which tokens must the drafter learn to predict? Look before you tokenize."


def _page(recipe: Recipe, imported: list[Source]) -> None:
    place = header("Preview", _SENTENCE)
    comparing = place.toggle("Compare", key="compare", bind="query-params", help="Two settings or two targets side by side.")
    if place.button("Continue to tokenize", type="primary", icon=":material/arrow_forward:", icon_position="right"):
        go("pages/tokenize.py")
    target = target_of(recipe)
    # Its height is kept free by the style sheet: what somebody is about to click must not move when it is filled.
    banner, chooser, settings = st.container(key="md-banner"), st.container(), st.container()
    with settings:
        supervision = choose_supervision(recipe)
        other = choose_other(recipe, supervision) if comparing else None
    with chooser:
        source, row = choose_row(imported, target, supervision)
    stored = source.stored(row)
    seen = explain_rows(stored.conversation, target, supervision)
    figures_of(seen, supervision.seq_length)
    if stored.status == "prompt_only":
        st.info("A prompt without an answer: kept for the target to answer, and never trained on.", icon=":material/info:")
    shown = choose_training_row(seen, "training_row")
    talk, rendered, tokens, raw = st.tabs(["Conversation", "Rendered", "Tokens", "Raw"], key="view", bind="query-params", default="Tokens")
    with talk:
        st.html(conversation_view(stored.conversation))
    with rendered:
        rendered_of(shown, stored.conversation, target)
    with tokens:
        if other is None:
            tokens_of(shown)
        else:
            other_target, other_supervision = loaded(other[0]), other[1]
            against = explain_rows(stored.conversation, other_target, other_supervision)
            theirs = choose_training_row(against, "b_training_row", "Training row on the right", shown)
            changed = "; ".join(what_differs(other_supervision, supervision)) or "the same settings"
            names = called(recipe.target), f"{called(other[0])}, {changed}"
            side_by_side(shown, theirs, names, other_target.path == target.path)
    with raw:
        show_raw(stored.raw)
    sample_view(recipe, supervision, source)
    probe_view(recipe)
    # Last, because looking at a sample of every source takes a moment the first time; the row is there meanwhile.
    with banner:
        refusal_banner(recipe)


def _nothing(imported: list[Source]) -> None:
    place = header("Preview", _SENTENCE)
    page, label = ("pages/mix.py", "Go to Mix") if imported else ("pages/sources.py", "Go to Sources")
    if place.button(label, type="primary", icon=":material/arrow_back:"):
        go(page)
    empty("Nothing to look at yet", "Import sources and save a recipe first; the recipe names the target whose template is shown here.")


recipe = current.recipe()
imported = [source for source in current.library().sources() if source.ledger.kept + source.ledger.prompt_only]
if recipe is None or not imported:
    _nothing(imported)
else:
    _page(recipe, imported)
