"""The way back to the mix: which sources a drafter lags in, what more of them would cost, and one button for the recipe."""

import html

import streamlit as st

from core.errors import MixdownError
from core.jobs.suggesting import keep, suggestion_for
from core.mix.suggest import Suggestion
from pages.components import current
from pages.components.drafters import Drafter
from pages.components.page import fail, go, plain
from pages.components.sidebar import SWITCH

_OPEN = "suggestion-of"


def suggestion(drafter: Drafter) -> None:
    """Draw the button, and what it suggests once it was pressed."""
    if drafter.after is None:
        return
    if st.session_state.get(_OPEN) != drafter.name:
        if st.button("Suggest a mix", icon=":material/recommend:", key="suggest"):
            st.session_state[_OPEN] = drafter.name
            st.rerun()
        return
    with st.container(border=True, key="suggestion"):
        try:
            found = suggestion_for(current.workspace(), drafter.folder)
        except MixdownError as error:
            fail(error)
            return
        _draw(found)
        with st.container(horizontal=True):
            if st.button("Make this recipe", icon=":material/add:", key="make-suggested", disabled=not found.changes):
                try:
                    keep(current.workspace(), found.recipe)
                except MixdownError as error:
                    fail(error)
                    return
                del st.session_state[_OPEN]
                st.session_state[SWITCH] = found.recipe.name
                go("pages/mix.py")
            if st.button("Not now", key="close-suggested"):
                del st.session_state[_OPEN]
                st.rerun()


def _draw(found: Suggestion) -> None:
    st.markdown(f"**Next mix: {plain(found.recipe.name)}**")
    lagging = [one.name for one in found.sources if one.lags]
    who = f"{', '.join(lagging)} {'lags' if len(lagging) == 1 else 'lag'}" if lagging else "No source lags"
    st.caption(
        f"{plain(who)} behind the mean of {found.mean:.2f} tokens per round. Shares move by a half at most in one round, and by less where "
        "few prompts were measured; no source falls below one per cent."
    )
    st.dataframe(
        [
            {
                "Source": one.name,
                "Tokens per round": one.accepted.length if one.accepted else None,
                "Prompts": one.accepted.prompts if one.accepted else None,
                "Share": one.share,
                "Suggested": one.suggested_share,
                "Conversations": f"{one.rows:,} → {one.suggested_rows:,}"
                if one.rows is not None and one.suggested_rows is not None
                else "–",
                "Trainable tokens": one.trainable_tokens,
            }
            for one in found.sources
        ],
        hide_index=True,
        height=38 + 35 * len(found.sources),
        column_config={
            "Tokens per round": st.column_config.NumberColumn(format="%.2f"),
            "Share": st.column_config.NumberColumn(format="percent"),
            "Suggested": st.column_config.NumberColumn(format="percent"),
            "Trainable tokens": st.column_config.NumberColumn(format="localized", help="More or fewer than before; what it costs."),
        },
    )
    for note in found.notes:
        st.caption(plain(note))
    with st.expander(f"What changes in the recipe ({len(found.changes)})"):
        st.html('<pre class="md-diff">' + "\n".join(html.escape(line) for line in found.changes) + "</pre>")
    with st.expander("Why, source by source"):
        st.html("<ul>" + "".join(f"<li><b>{html.escape(one.name)}</b>: {html.escape(one.reason)}</li>" for one in found.sources) + "</ul>")
