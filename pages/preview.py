"""Preview: what will the target see and learn from this row?"""

import streamlit as st

from core.chat import Target, TemplateRefused
from core.mix import Recipe
from core.sources import Source
from pages.components import current
from pages.components.conversation_view import conversation_view
from pages.components.explained import Explained, explained, figures_of, tokens_of
from pages.components.page import empty, go, header, plain
from pages.components.planning import target_of
from pages.components.raw_row import show_raw
from pages.components.refusals import refusal_banner
from pages.components.row_choice import choose_row, choose_supervision
from pages.components.sample_view import sample_view
from pages.components.visible import visible

_SENTENCE = "What will the target see of a row, and which tokens must the drafter learn to predict? Look before you tokenize."


def _page(recipe: Recipe, imported: list[Source]) -> None:
    place = header("Preview", _SENTENCE)
    if place.button("Continue to tokenize", type="primary", icon=":material/arrow_forward:", icon_position="right"):
        go("pages/tokenize.py")
    target = target_of(recipe)
    banner = st.container()
    source, row = choose_row(imported)
    supervision = choose_supervision(recipe)
    stored = source.stored(row)
    seen = explained(stored.conversation, target, supervision)
    figures_of(seen, supervision)
    if stored.status == "prompt_only":
        st.info("A prompt without an answer: kept for the target to answer, and never trained on.", icon=":material/info:")
    talk, rendered, tokens, raw = st.tabs(["Conversation", "Rendered", "Tokens", "Raw"], key="view", bind="query-params", default="Tokens")
    with talk:
        st.html(conversation_view(stored.conversation))
    with rendered:
        _rendered(seen, target)
    with tokens:
        tokens_of(seen)
    with raw:
        show_raw(stored.raw)
    sample_view(recipe, supervision, source)
    # Last, because looking at a sample of every source takes a moment the first time; the row is there meanwhile.
    with banner:
        refusal_banner(recipe)


def _rendered(seen: Explained, target: Target) -> None:
    try:
        text = target.template.render(seen.conversation)
    except TemplateRefused as refusal:
        st.warning(f"The template refuses this row: {plain(str(refusal))}", icon=":material/block:")
        return
    st.html(f'<div class="md-tokens"><div class="md-mono" style="padding:.8rem 1rem">{visible(text)}</div></div>')


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
