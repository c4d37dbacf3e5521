"""Which share of the mix is held out to measure the drafter, and how many conversations that is."""

import streamlit as st

from core.mix import held_out
from pages.components.mix_draft import Draft
from pages.components.numbers import count, percent
from pages.components.planning import Planned


def validation_section(draft: Draft, found: Planned | None) -> None:
    """Draw the share, and what it holds out of each source."""
    share = draft.recipe.validation
    st.number_input(
        "Held out in %",
        0.0,
        99.0,
        value=round(share * 100, 4),
        step=0.5,
        format="%g",
        width=160,
        help="Chosen by a hash of the prompt: all conversations with one prompt stand on the same side, whatever the seed.",
        **draft.on_change(
            "validation", round(share * 100, 4), lambda said: draft.edit("validation", validation=round(float(said or 0), 4) / 100)
        ),
    )
    if found is None:
        return
    rows = []
    for part in found.plan.sources:
        usable = found.usable[part.name]
        if part.rows and usable.count:
            held = int(held_out(usable.source, share)[usable.rows].sum())
            rows.append({"Source": part.name, "Conversations": part.rows, "Held out, about": round(part.rows * held / usable.count)})
    total = sum(row["Held out, about"] for row in rows)
    st.caption(
        f"About {count(total)} of {count(found.plan.total)} conversations ({percent(total / found.plan.total if found.plan.total else 0)}) "
        "are held out and never trained on, nor is any duplicate of them that is looked for."
    )
    st.dataframe(rows, hide_index=True, height=38 + 35 * len(rows))
