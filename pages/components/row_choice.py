"""Which row is looked at and under which choices; the address bar holds the row, so that a link shows the same one."""

import random
from dataclasses import replace

import streamlit as st

from core.chat import Supervision
from core.mix import Recipe, RecipeSupervision
from core.sources import Source
from pages.components import current
from pages.components.numbers import count
from pages.components.planning import supervision_of

SOURCE, ROW = "source", "row"
_CHOICES = {
    "supervise": (
        "Train on",
        {"sampled": "what the target samples", "boundary": "all past the boundary", "content": "all after the header"},
    ),
    "thinking": ("Thinking", {"auto": "as the row has it", "on": "always on", "off": "always off", "default": "the template's default"}),
    "layout": (
        "Training rows",
        {"auto": "what fits the template", "turn": "one per assistant turn", "conversation": "one per conversation"},
    ),
}


def choose_row(imported: list[Source]) -> tuple[Source, int]:
    """Draw the pickers; returns the chosen source and row."""
    names = [source.name for source in imported]
    first, second, third = st.columns([1.5, 1.0, 1.8], vertical_alignment="bottom")
    name = first.selectbox("Source", names, key=SOURCE, bind="query-params", on_change=_go_to, args=(0,))
    source = imported[names.index(name)]
    rows = source.ledger.kept + source.ledger.prompt_only
    if st.session_state.get(ROW, 0) >= rows:
        st.session_state[ROW] = 0
    row = int(second.number_input(f"Row (0 to {count(rows - 1)})", min_value=0, max_value=rows - 1, step=1, key=ROW, bind="query-params"))
    with third.container(horizontal=True):
        st.button("Previous", icon=":material/chevron_left:", on_click=_go_to, args=(row - 1,), disabled=row == 0)
        st.button(
            "Next", icon=":material/chevron_right:", icon_position="right", on_click=_go_to, args=(row + 1,), disabled=row + 1 >= rows
        )
        st.button("Random", icon=":material/shuffle:", on_click=_go_to, args=(random.randrange(rows),))  # noqa: S311
    return source, row


def _go_to(row: int) -> None:
    st.session_state[ROW] = row


def choose_supervision(recipe: Recipe) -> Supervision:
    """Draw the choices, beginning with the recipe's; other ones can be tried here and taken into the recipe."""
    saved = supervision_of(recipe)
    chosen = saved
    with st.expander("How a conversation becomes training rows", icon=":material/rule:"):
        for column, (field, (label, options)) in zip(st.columns(len(_CHOICES)), _CHOICES.items(), strict=True):
            index = list(options).index(getattr(saved, field))
            key = f"{field}-{recipe.name}-{getattr(saved, field)}"
            value = column.selectbox(label, list(options), index=index, format_func=options.__getitem__, key=key)
            chosen = replace(chosen, **{field: value})
        if chosen == saved:
            st.caption("These choices stand in the recipe.")
        elif st.button("Take these choices into the recipe", icon=":material/save:"):
            fields = {field: getattr(chosen, field) for field in RecipeSupervision.model_fields}
            current.save(recipe.model_copy(update={"supervision": RecipeSupervision(**fields)}))
            st.rerun()
    return chosen
