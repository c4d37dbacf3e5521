"""What a plan comes to, in numbers and as a picture of shares."""

import streamlit as st

from core.mix import Plan
from pages.components import charts
from pages.components.numbers import count, percent, short
from pages.components.page import figures


def cost(plan: Plan) -> None:
    """The whole mix in one line of figures."""
    whole = plan.to_json()
    tokens, trainable = whole["tokens"], whole["trainable_tokens"]
    pairs = [(count(plan.total), "conversations")]
    if tokens:
        pairs += [(f"≈ {short(tokens)}", "tokens"), (f"≈ {short(trainable)}", f"trainable ({percent(trainable / tokens, 0)})")]
    figures(pairs)


def picture(plan: Plan) -> None:
    """Nested shares by domain and source, and asked against got."""
    used = [part for part in plan.sources if part.rows or part.share_requested]
    charts.show(
        charts.treemap([(part.domain, part.name, part.rows) for part in used if part.rows], unit="conversations"),
        key="mix-treemap",
        height=330,
        alt="Share of each domain and source in the mix",
    )
    st.caption("Areas are conversations. Below: the bar is what each source gives, the mark what its weight asks for.")
    charts.show(
        charts.asked_and_got(
            [part.name for part in used],
            [part.share_requested for part in used],
            [part.share_realised for part in used],
            [charts.domain_colour(part.domain) for part in used],
        ),
        key="mix-shares",
        height=60 + 26 * len(used),
        alt="Share asked and share realised per source",
    )
