"""One conversation as training rows: its figures, and its tokens with the reason for each, alone or side by side."""

from collections.abc import Collection

import streamlit as st

from core.chat import Dropped, ExplainedRow, Explanation, RowFacts, TemplateRefused, facts_of, rendered_parts
from core.chat.target import Target
from core.conversation import Conversation
from core.drafter import TrainSettings
from pages.components.numbers import count, percent, plural
from pages.components.page import figures, plain
from pages.components.refusals import words
from pages.components.rendered_view import pages_of, rendered_view
from pages.components.token_differences import differences
from pages.components.token_view import WINDOW, legend, token_view

BLOCK = TrainSettings().block_size
_FEW = 6
"""Training rows that are offered side by side; more stand in a list."""


def figures_of(seen: Explanation, limit: int) -> None:
    """What the conversation amounts to, over all rows that it becomes, and what of it is not trained on."""
    facts = [facts_of(row.made, BLOCK) for row in seen.rows]
    if facts:
        _numbers(facts, limit)
    for reason, losses in _by_reason(seen.dropped).items():
        st.warning(plain(_loss(reason, losses)), icon=":material/block:")
    for place, row in enumerate(seen.rows):
        if row.made.cut_turn is not None:
            where = f"Training row {place + 1}" if len(seen.rows) > 1 else "The row"
            st.warning(f"{where} is cut in the middle of message {row.made.cut_turn + 1}.", icon=":material/content_cut:")
        if row.made.history_rewritten:
            st.caption("The template rewrites history: some turn stands here with another history than the server would send.")


def _numbers(facts: list[RowFacts], limit: int) -> None:
    total, trainable = sum(one.tokens for one in facts), sum(one.trainable for one in facts)
    whole, crossing = sum(one.whole_blocks for one in facts), sum(one.crossing_blocks for one in facts)
    figures(
        [
            (count(total), "tokens"),
            (count(trainable), f"trainable ({percent(trainable / total if total else 0.0, 0)})"),
            (count(len(facts)), "training row" if len(facts) == 1 else "training rows"),
            (_cut(facts), f"at {count(limit)} tokens"),
            (count(whole), f"whole draft {'block' if whole == 1 else 'blocks'} of {BLOCK}"),
            (count(crossing), "cross the end of a turn" if crossing != 1 else "crosses the end of a turn"),
        ]
    )


def _by_reason(dropped: list[Dropped]) -> dict[str, list[Dropped]]:
    found: dict[str, list[Dropped]] = {}
    for lost in dropped:
        found.setdefault(lost.reason, []).append(lost)
    return found


def _loss(reason: str, losses: list[Dropped]) -> str:
    first, last = losses[0], losses[-1]
    if first.turn is None or last.turn is None:
        return f"The row is not trained on ({words(reason)}). {first.detail}"
    if len(losses) == 1:
        return f"Message {first.turn + 1} is not trained on ({words(reason)}). {first.detail}"
    return f"{len(losses)} turns, from message {first.turn + 1} to {last.turn + 1}, are not trained on ({words(reason)}). {first.detail}"


def choose_training_row(
    seen: Explanation, key: str, label: str = "Training row", beside: ExplainedRow | None = None
) -> ExplainedRow | None:
    """The training row to look at, None where there is none; drawn only where there are several.

    It begins with the first one, or with the one of the same turn as `beside`.
    """
    if not seen.rows:
        return None
    if len(seen.rows) == 1:
        return seen.rows[0]
    names = [_named(place, row) for place, row in enumerate(seen.rows)]
    first = next((place for place, row in enumerate(seen.rows) if beside is not None and row.made.turn == beside.made.turn), 0)
    if len(names) > _FEW:
        picked = st.selectbox(label, names, index=first, key=key, bind="query-params", width=320)
    else:
        picked = st.segmented_control(label, names, default=names[first], required=True, key=key, bind="query-params")
    return seen.rows[names.index(picked) if picked in names else first]


def rendered_of(row: ExplainedRow | None, conversation: Conversation, target: Target) -> None:
    """The text that the template writes, by message."""
    try:
        parts = row.parts if row else rendered_parts(conversation, target)
    except TemplateRefused as refusal:
        st.warning(f"The template refuses this row: {plain(str(refusal))}", icon=":material/block:")
        return
    groups = pages_of(parts)
    place = st.pagination(len(groups), key="render-window") if len(groups) > 1 else 1
    st.html(rendered_view(groups[min(place, len(groups)) - 1]))


def tokens_of(row: ExplainedRow | None) -> None:
    """The tokens of one training row, a window at a time."""
    if row is None:
        st.info("No row to train on comes of this conversation; Rendered shows what the template writes for it.", icon=":material/info:")
        return
    st.html(legend())
    start = _window(len(row.tokens), "token-window")
    st.html(token_view(row.tokens, start))


def side_by_side(ours: ExplainedRow | None, theirs: ExplainedRow | None, names: tuple[str, str], same_tokenizer: bool) -> None:
    """Two training rows beside each other, each with its figures; tokens that differ are marked."""
    left, right = (row.tokens if row else [] for row in (ours, theirs))
    first, second = differences(left, right, same_tokenizer=same_tokenizer)
    if first or second:
        at = min([*sorted(first)[:1], *sorted(second)[:1]])
        st.markdown(f"**{plural(max(len(first), len(second)), 'token')} differ**, from position {count(at)} on.")
    else:
        st.markdown("**No token differs**, and each is trained on in both or in neither.")
    st.html(legend(differences=True))
    longest = max(len(left), len(right))
    start = _window(longest, "compare-window")
    if longest > WINDOW and (first or second):
        st.caption(f"The first difference is in window {at // WINDOW + 1}.")
    for column, row, name, differing in zip(st.columns(2, gap="medium"), (ours, theirs), names, (first, second), strict=True):
        with column:
            _side(row, name, differing, start)


def _side(row: ExplainedRow | None, name: str, differing: Collection[int], start: int) -> None:
    st.markdown(plain(name))
    if row is None:
        st.info("Gives no row to train on.", icon=":material/info:")
        return
    facts = facts_of(row.made, BLOCK)
    figures([(count(facts.tokens), "tokens"), (count(facts.trainable), f"trainable ({percent(facts.share, 0)})")])
    st.html(token_view(row.tokens, start, differing=differing, narrow=True))


def _window(tokens: int, key: str) -> int:
    """Where the shown window begins; a pager where one window does not hold all."""
    if tokens <= WINDOW:
        return 0
    windows = -(-tokens // WINDOW)
    start = (min(st.pagination(windows, key=key), windows) - 1) * WINDOW
    st.caption(f"Tokens {count(start)} to {count(min(start + WINDOW, tokens) - 1)} of {count(tokens)}")
    return start


def _named(place: int, row: ExplainedRow) -> str:
    return f"row {place + 1}" if row.made.turn is None else f"row {place + 1}: message {row.made.turn + 1}"


def _cut(facts: list[RowFacts]) -> str:
    cut = sum(one.truncated for one in facts)
    shortened = sum(one.shortened for one in facts)
    if shortened and not cut:
        return f"{shortened} shortened"
    return f"{cut} cut" if cut else "not cut"
