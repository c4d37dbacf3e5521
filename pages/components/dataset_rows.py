"""Rows of a dataset to look at: those that stand in it, token by token, and those that were left out, with links to Preview."""

from pathlib import Path

import streamlit as st

from core.chat import ExplainedToken
from core.errors import MixdownError
from core.mix import Recipe
from core.tokens import LostRows, WrittenRow, lost_rows, written_row
from pages.components import current
from pages.components.datasets import Dataset
from pages.components.numbers import count, percent
from pages.components.page import fail, figures, plain
from pages.components.planning import target_of
from pages.components.refusals import row_link, words
from pages.components.token_view import WINDOW, legend, token_view


def dropped_rows(dataset: Dataset) -> None:
    """What was left out, by source and reason, each with a few rows to open."""
    lost = _lost(dataset.folder, dataset.made_at)
    st.markdown("**Left out**")
    if not lost:
        st.caption(":material/check: Nothing was left out.")
        return
    for one in lost:
        of = " of the held-out prompts" if one.split == "heldout" else ""
        with st.expander(f"{plain(one.source)}: {plain(words(one.reason))}, {count(one.count)}{of}"):
            for row_id, turn, detail in one.first:
                _lost_row(one.source, row_id, turn, detail)


def _lost_row(source: str, row_id: str, turn: int | None, detail: str) -> None:
    number = _number(source, row_id)
    label = row_id if turn is None else f"{row_id}, message {turn + 1}"
    if number is None:
        st.markdown(plain(label))
    else:
        row_link(source, number, label, ":material/search:")
    if detail:
        st.caption(plain(detail))


def sample_rows(dataset: Dataset) -> None:
    """One row as it stands in the files, its tokens coloured by the mask."""
    rows = dataset.manifest.rows
    st.markdown("**A row as it was written**")
    if not rows:
        return
    number = int(st.number_input(f"Row (0 to {count(rows - 1)})", 0, rows - 1, 0, 1, key=f"written-row-{dataset.name}", width=220))
    row = written_row(dataset.folder, number)
    trainable = int(row.loss_mask.sum())
    figures([(count(len(row.input_ids)), "tokens"), (count(trainable), f"trainable ({percent(trainable / len(row.input_ids), 0)})")])
    place = _number(row.source, row.row_id)
    if place is not None:
        row_link(row.source, place, f"{row.row_id} in Preview, with the reason for every token", ":material/search:")
    try:
        tokens = _tokens(dataset, row)
    except MixdownError as error:
        fail(error)
        return
    st.html(legend())
    st.html(token_view(tokens, narrow=True))
    if len(tokens) > WINDOW:
        st.caption(f"The first {count(WINDOW)} tokens.")


def _tokens(dataset: Dataset, row: WrittenRow) -> list[ExplainedToken]:
    encoder = target_of(Recipe.model_validate(dataset.manifest.recipe)).encoder
    reasons = {True: ("assistant", "supervised in this row"), False: ("template", "context in this row")}
    pairs = zip(row.input_ids.tolist(), row.loss_mask.tolist(), strict=True)
    return [ExplainedToken(token, encoder.token(token), encoder.token_bytes(token), on, None, *reasons[on]) for token, on in pairs]


def _number(source: str, row_id: str) -> int | None:
    """Where the row stands in the library today; None where its source is gone or was imported otherwise."""
    try:
        return current.library().source(source).number_of(row_id)
    except MixdownError:
        return None


@st.cache_data(max_entries=20, show_spinner=False)
def _lost(folder: Path, made_at: float) -> list[LostRows]:  # noqa: ARG001  the time is part of the cache's key
    return lost_rows(folder)
