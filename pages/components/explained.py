"""One conversation as training rows: its figures, and its tokens with the reason for each."""

from dataclasses import dataclass

import streamlit as st

from core.chat import Dropped, ExplainedToken, Supervision, Target, explain, supervise
from core.conversation import Conversation
from pages.components.numbers import count, percent
from pages.components.page import figures, plain
from pages.components.refusals import words
from pages.components.token_view import WINDOW, legend, token_view


@dataclass(frozen=True)
class Explained:
    """A conversation, the rows it becomes, whether each was cut, and what of it gives no row."""

    conversation: Conversation
    rows: list[list[ExplainedToken]]
    turns: list[int | None]
    cut: int
    dropped: list[Dropped]


def explained(conversation: Conversation, target: Target, supervision: Supervision) -> Explained:
    """Made anew at each look: one row is quick, and what is seen is what would be written."""
    made = supervise(conversation, target, supervision)
    cut = sum(row.truncated for row in made.rows)
    return Explained(conversation, explain(conversation, target, supervision), [row.turn for row in made.rows], cut, made.dropped)


def figures_of(seen: Explained, supervision: Supervision) -> None:
    """Tokens, trainable tokens and their share, over all rows that the conversation becomes."""
    total = sum(map(len, seen.rows))
    trainable = sum(token.trainable for row in seen.rows for token in row)
    figures(
        [
            (count(total), "tokens"),
            (count(trainable), f"trainable ({percent(trainable / total if total else 0.0, 0)})"),
            (count(len(seen.rows)), "training row" if len(seen.rows) == 1 else "training rows"),
            (f"{seen.cut} cut" if seen.cut else "none cut", f"at {count(supervision.seq_length)} tokens"),
        ]
    )
    for lost in seen.dropped:
        what = "The row" if lost.turn is None else f"Message {lost.turn + 1}"
        st.warning(plain(f"{what} is not trained on ({words(lost.reason)}). {lost.detail}"), icon=":material/block:")


def tokens_of(seen: Explained) -> None:
    """The tokens of one training row, a window at a time."""
    if not seen.rows:
        st.info("This conversation gives no row to train on.", icon=":material/info:")
        return
    chosen = 0
    if len(seen.rows) > 1:
        names = [f"row {index + 1}" if turn is None else f"row {index + 1}: message {turn + 1}" for index, turn in enumerate(seen.turns)]
        picked = st.segmented_control("Training row", names, default=names[0], required=True, label_visibility="collapsed")
        chosen = names.index(picked) if picked in names else 0
    tokens = seen.rows[chosen]
    st.html(legend())
    start = 0
    if len(tokens) > WINDOW:
        windows = -(-len(tokens) // WINDOW)
        start = (min(st.pagination(windows, key="token-window"), windows) - 1) * WINDOW
        st.caption(f"Tokens {count(start)} to {count(min(start + WINDOW, len(tokens)) - 1)} of {count(len(tokens))}")
    st.html(token_view(tokens, start))
