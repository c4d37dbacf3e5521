"""One round of decoding as a picture, and one answer in both ways side by side. It only draws what an evaluation kept."""

import html
from typing import Any

import streamlit as st

from core.chat import Target
from core.errors import MixdownError
from core.mix import RecipeTarget
from pages.components import charts
from pages.components.draft_tree import round_picture
from pages.components.drafters import Drafter
from pages.components.page import checks
from pages.components.planning import loaded
from pages.components.visible import escaped


def rounds(drafter: Drafter, after: dict[str, Any]) -> None:
    """Draw both, for a source that can be chosen."""
    seen, outputs = after.get("seen_rounds") or [], after.get("seen_outputs") or []
    if not seen and not outputs:
        return
    try:
        target = loaded(RecipeTarget(path=str(drafter.training.get("target", ""))))
    except (MixdownError, ValueError):
        return  # the target is not here any more; the numbers above do not need it
    sources = sorted({one["source"] for one in [*seen, *outputs]})
    worst = min(after["by_source"], key=after["by_source"].get, default=sources[0])
    st.markdown("**One round, and one answer**")
    source = st.selectbox("Source", sources, index=sources.index(worst) if worst in sources else 0, key="seen-source")
    for one in seen:
        if one["source"] == source:
            _round(one, target)
    for one in outputs:
        if one["source"] == source:
            _outputs(one, target)


def _round(seen: dict[str, Any], target: Target) -> None:
    gained = len(seen["round"]["gained"])
    figure, height = round_picture(seen["round"], lambda token: _short(target.encoder.token_bytes(token).decode("utf-8", "replace")))
    charts.show(figure, key="round", height=min(height, 900), alt="The drafted tokens of one round and the path the target accepted")
    st.caption(
        f"{seen['way']}: this round gave {gained} token{'' if gained == 1 else 's'}. Filled: accepted; hollow: drafted, but not what the "
        f"target says. Prompt {seen['row_id']}, turn {seen['turn']}."
    )


def _outputs(seen: dict[str, Any], target: Target) -> None:
    """Plain and speculative, the second coloured by round."""
    same = seen["plain"] == seen["speculative"]
    with st.expander(f"The prompt ({len(seen['prompt'])} last tokens)"):
        st.html(f'<div class="md-mono md-long">{escaped(target.encoder.decode(seen["prompt"]))}</div>')
    left, right = st.columns(2)
    with left:
        st.markdown("Plain greedy decoding")
        st.html(f'<div class="md-output" data-testid="output-plain">{_tokens(seen["plain"], [1] * len(seen["plain"]), target)}</div>')
    with right:
        st.markdown("With the drafter, round by round")
        answer = _tokens(seen["speculative"], seen["rounds"], target)
        st.html(f'<div class="md-output" data-testid="output-speculative">{answer}</div>')
    said = (
        f"equal, token by token: {len(seen['plain'])} tokens in {len(seen['plain'])} passes and in {len(seen['rounds'])} rounds"
        if same
        else "NOT equal"
    )
    checks([(same, said)])


def _tokens(ids: list[int], gained: list[int], target: Target) -> str:
    """The text with every second round shaded; one piece per round, so that characters over several tokens stay whole where they can."""
    if all(amount == 1 for amount in gained):
        return escaped(target.encoder.decode(ids))
    parts, start = [], 0
    for number, amount in enumerate(gained):
        text = escaped(b"".join(target.encoder.token_bytes(token) for token in ids[start : start + amount]).decode("utf-8", "replace"))
        parts.append(f'<span class="round{number % 2}" title="{html.escape(f"round {number + 1}: {amount} tokens")}">{text}</span>')
        start += amount
    return "".join(parts)


def _short(text: str) -> str:
    """A token's text for a picture: whitespace shown, long ones cut."""
    shown = text.replace("\n", "⏎").replace("\t", "⇥").replace(" ", "·")
    return html.escape(shown if len(shown) <= 14 else shown[:13] + "…")
