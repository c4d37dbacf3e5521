"""What is known of a source: where it came from, what is in it, what the catalogue says of it; and its removal, asked twice."""

import html

import streamlit as st

from core.errors import MixdownError
from core.mix import load_recipe
from core.sources import Catalogue, Source
from pages.components import current
from pages.components.codes import sentence
from pages.components.numbers import count, percent, plural, size
from pages.components.page import fail, go, plain


def source_about(source: Source, *, busy: bool) -> None:
    """Draw the tab; `busy` while the source is being imported again."""
    entry = Catalogue.load(current.workspace()).find(source.name)
    statistics, info = source.statistics, source.info
    facts = {
        "Name": source.name,
        "Origin": str(source.origin),
        "Revision": source.origin.revision,
        "Licence": source.licence,
        "Domain": source.domain,
        "Dialect": source.dialect,
        "How that was found": (info.get("detection") or {}).get("reason"),
        "Mean turns": f"{statistics.mean_turns:.1f}",
        "Rows with tools": percent(statistics.tools_share),
        "Rows with reasoning": percent(statistics.reasoning_share),
        "Tool calls": count(statistics.tool_calls),
        "Languages": languages(source, 8),
        "Size of the files": size(source.origin.bytes),
        "Size in the library": size(info["bytes"]) if info.get("bytes") else None,
        "Imported": info.get("imported_at"),
        "Notes": entry.notes if entry else None,
    }
    rows = "".join(
        f"<tr><th>{html.escape(key)}</th><td>{html.escape(str(value or 'unknown'))}</td></tr>" for key, value in facts.items() if value
    )
    st.html(f'<table class="md-tools md-facts">{rows}</table>')
    if entry is not None:
        st.page_link(
            "pages/sources.py",
            label="What the catalogue knows of it, and where all of it is",
            icon=":material/menu_book:",
            query_params={"entry": entry.name},
        )
    if source.ledger.repaired:
        st.markdown("**Repairs**")
        lines = "".join(
            f"<tr><td>{html.escape(code)}</td><td>{count(amount)}</td><td>{html.escape(sentence(code))}</td></tr>"
            for code, amount in sorted(source.ledger.repaired.items(), key=lambda item: (-item[1], item[0]))
        )
        st.html(f'<table class="md-tools">{lines}</table>')
    with st.expander("Everything that was recorded at the import"):
        st.json(source.info, expanded=1)
    _removal(source, busy=busy)


def languages(source: Source, most: int = 3) -> str:
    """`en 92 %, de 5 %`: the most frequent ones; rows that tell no language are left out."""
    known = [(code, share) for code, share in source.languages.items() if code != "und"]
    return ", ".join(f"{code} {percent(share, 0)}" for code, share in known[:most])


def _removal(source: Source, *, busy: bool) -> None:
    asked = f"remove-{source.name}"
    if not st.session_state.get(asked):
        if st.button("Remove this source", icon=":material/delete:", disabled=busy):
            st.session_state[asked] = True
            st.rerun()
        return
    rows = source.ledger.kept + source.ledger.prompt_only
    st.warning(
        plain(f"{plural(rows, 'row')} of {source.name} leave the library; the files they came from stay. {_used_by(source.name)}"),
        icon=":material/delete:",
    )
    with st.container(horizontal=True):
        if st.button("Keep it"):
            del st.session_state[asked]
            st.rerun()
        if st.button(f"Remove {source.name}", icon=":material/delete:", disabled=busy):
            del st.session_state[asked]
            try:
                current.library().remove(source.name)
            except MixdownError as error:
                fail(error)
            else:
                go("pages/sources.py")


def _used_by(name: str) -> str:
    using = []
    for recipe in current.recipe_names():
        try:
            if any(part.name == name for part in load_recipe(current.workspace().recipe(recipe)).sources):
                using.append(recipe)
        except MixdownError:
            continue
    return f"The recipes {', '.join(using)} name it and cannot be planned without it." if using else "No recipe uses it."
