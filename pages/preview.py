"""Preview: what will the target see and learn from this row?"""

import random
from dataclasses import replace

import streamlit as st

from core.chat import Supervision, Target, TemplateRefused, explain
from core.errors import MixdownError
from core.mix import Recipe, RecipeSupervision
from core.sources import Source, StoredRow
from pages.components import current
from pages.components.conversation_view import conversation_view
from pages.components.numbers import count, percent, plural
from pages.components.page import empty, fail, figures, header, plain
from pages.components.planning import supervision_of, target_of
from pages.components.refusals import refusal_banner
from pages.components.sample_view import sample_view
from pages.components.source_detail import show_raw
from pages.components.token_view import WINDOW, legend, token_view
from pages.components.visible import visible

_SENTENCE = "What will the target see of a row, and which tokens must the drafter learn to predict? Look before you tokenize."
_SUPERVISE = {
    "sampled": "what the target samples",
    "boundary": "all past the boundary",
    "content": "all after the header",
}
_THINKING = {"auto": "as the row has it", "on": "always on", "off": "always off", "default": "template's default"}
_LAYOUT = {"auto": "what fits the template", "turn": "one row per turn", "conversation": "one row per conversation"}


def _choose(imported: list[Source], recipe: Recipe) -> tuple[Source, int, Supervision]:
    names = [source.name for source in imported]
    first, second, third = st.columns([1.5, 1.2, 1.6], vertical_alignment="bottom")
    name = first.selectbox("Source", names, key="source", bind="query-params", on_change=_to_row, args=(0,))
    source = next(source for source in imported if source.name == name)
    rows = source.ledger.kept + source.ledger.prompt_only
    if not 0 <= st.session_state.get("row", 0) < max(rows, 1):
        st.session_state["row"] = 0
    row = int(second.number_input(f"Row (of {count(rows)})", min_value=0, step=1, key="row", bind="query-params"))
    with third.container(horizontal=True):
        st.button("Previous", icon=":material/chevron_left:", on_click=_to_row, args=(max(0, row - 1),), disabled=row == 0, shortcut="Left")
        st.button("Next", icon=":material/chevron_right:", icon_position="right", on_click=_to_row, args=(row + 1,), disabled=row + 1 >= rows, shortcut="Right")
        st.button("Random", icon=":material/shuffle:", on_click=_to_row, args=(random.randrange(max(rows, 1)),))
    return source, row, _supervision(recipe)


def _to_row(row: int) -> None:
    st.session_state["row"] = row


def _supervision(recipe: Recipe) -> Supervision:
    saved = supervision_of(recipe)
    with st.expander("How rows become training rows", icon=":material/rule:"):
        columns = st.columns(3)
        chosen = saved
        for column, (field, label, options) in zip(
            columns, (("supervise", "Train on", _SUPERVISE), ("thinking", "Thinking", _THINKING), ("layout", "Rows", _LAYOUT)), strict=True
        ):
            value = column.selectbox(
                label, list(options), index=list(options).index(getattr(saved, field)), format_func=options.__getitem__, key=f"{field}-{recipe.name}"
            )
            chosen = replace(chosen, **{field: value})
        if chosen == saved:
            st.caption("These choices stand in the recipe.")
        elif st.button("Use these choices in the recipe", icon=":material/save:"):
            fields = {field: getattr(chosen, field) for field in RecipeSupervision.model_fields}
            current.save(recipe.model_copy(update={"supervision": RecipeSupervision(**fields)}))
            st.rerun()
    return chosen


def _tokens(stored: StoredRow, target: Target, supervision: Supervision) -> None:
    rows = explain(stored.conversation, target, supervision)
    total, trainable = sum(map(len, rows)), sum(token.trainable for row in rows for token in row)
    if not total:
        st.info("This row gives no tokens to train on.", icon=":material/info:")
        return
    chosen = 0
    if len(rows) > 1:
        chosen = st.segmented_control(
            "Training row", list(range(len(rows))), default=0, required=True, format_func=lambda index: f"turn {index + 1}", key="training-row"
        ) or 0
    tokens = rows[min(chosen, len(rows) - 1)]
    start = 0
    pages = -(-len(tokens) // WINDOW)
    st.html(legend())
    if pages > 1:
        start = (st.pagination(pages, key="token-window") - 1) * WINDOW
        st.caption(f"tokens {count(start)} to {count(min(start + WINDOW, len(tokens)) - 1)} of {count(len(tokens))}")
    st.html(token_view(tokens, start))
    del trainable


def _figures(stored: StoredRow, target: Target, supervision: Supervision) -> None:
    rows = explain(stored.conversation, target, supervision)
    total, trainable = sum(map(len, rows)), sum(token.trainable for row in rows for token in row)
    cut = sum(len(row) >= supervision.seq_length for row in rows)
    figures(
        [
            (count(total), "tokens"),
            (count(trainable), f"trainable ({percent(trainable / total if total else 0, 0)})"),
            (count(len(rows)), "training row" if len(rows) == 1 else "training rows"),
            (f"{cut} cut" if cut else "not cut", f"at {count(supervision.seq_length)} tokens"),
        ]
    )


def _page(recipe: Recipe, imported: list[Source]) -> None:
    place = header("Preview", _SENTENCE)
    if place.button("Continue to tokenize", type="primary", icon=":material/arrow_forward:", icon_position="right"):
        st.switch_page("pages/tokenize.py")
    target = target_of(recipe)
    refusal_banner(recipe)
    source, row, supervision = _choose(imported, recipe)
    stored = source.stored(row)
    try:
        _figures(stored, target, supervision)
    except MixdownError as error:
        fail(error)
    if stored.status == "prompt_only":
        st.info("A prompt without an answer: it is kept for the target to answer, and never trained on.", icon=":material/info:")
    talk, rendered, tokens, raw = st.tabs(["Conversation", "Rendered", "Tokens", "Raw"], key="view", bind="query-params", default="Tokens")
    with talk:
        st.html(conversation_view(stored.conversation))
    with rendered:
        try:
            st.html(f'<div class="md-tokens"><div class="md-mono" style="padding:.8rem 1rem">{visible(target.template.render(stored.conversation))}</div></div>')
        except TemplateRefused as refusal:
            st.warning(f"The template refuses this row: {plain(str(refusal))}", icon=":material/block:")
    with tokens:
        try:
            _tokens(stored, target, supervision)
        except MixdownError as error:
            fail(error)
    with raw:
        show_raw(stored.raw)
    sample_view(recipe, supervision, source)


recipe = current.recipe()
imported = [source for source in current.library().sources() if source.ledger.kept + source.ledger.prompt_only]
if recipe is None or not imported:
    place = header("Preview", _SENTENCE)
    page, label = ("pages/mix.py", "Go to Mix") if imported else ("pages/sources.py", "Go to Sources")
    if place.button(label, type="primary", icon=":material/arrow_back:"):
        st.switch_page(page)
    empty("Nothing to look at yet", "Import sources and save a recipe first; the recipe names the target whose template is shown here.")
else:
    _page(recipe, imported)
