"""Duplicates within and across sources: what counts as one, which source keeps its rows, and the groups that were found."""

import html
from typing import Any

import streamlit as st

from core.mix import DuplicateGroups, Duplicates, Group, Recipe, duplicate_groups
from pages.components import current
from pages.components.mix_draft import Draft
from pages.components.numbers import count, percent, plural
from pages.components.planning import Planned
from pages.components.visible import escaped

_PAGE = 10
_SHOWN = 6
"""Rows of a group that are drawn."""


def duplicates_section(draft: Draft, found: Planned | None) -> None:
    """Draw the choices and, once they were looked for, what was found."""
    _choices(draft)
    rules = draft.recipe.duplicates
    if not rules.asks:
        st.caption("Duplicates are not looked for. Of each group one row stays, and no duplicate of a held-out row is trained on.")
        return
    if found is None or found.waiting.duplicates:
        return
    groups = _groups(draft.recipe)
    removed = {part.name: sum(rows for rule, rows in part.removed.items() if rule.startswith("duplicates")) for part in found.plan.sources}
    kept = sum(part.source.rows for part in found.usable.values())
    st.caption(
        f"{plural(groups.rows, 'row')} in {plural(groups.count, 'group')}; {count(sum(removed.values()))} rows "
        f"({percent(sum(removed.values()) / kept if kept else 0)}) are left out of the mix."
    )
    if groups.count:
        _table(groups, removed)
        _look(groups, sorted(removed))


def _choices(draft: Draft) -> None:
    said = draft.recipe.duplicates

    def widget(name: str, value: Any, convert: Any = lambda told: told) -> dict[str, Any]:
        def take(told: Any) -> None:
            made = Duplicates.model_validate(draft.recipe.duplicates.model_dump() | {name: convert(told)})
            draft.edit(f"duplicates: {name}", duplicates=made)

        return draft.on_change(f"duplicates-{name}", value, take)

    switches, numbers = st.columns([1.4, 1], gap="large")
    with switches, st.container(horizontal=True):
        for name, label, note in (
            ("exact", "Equal rows", "Case and white space do not count."),
            ("near", "Nearly equal rows", "Word shingles that overlap; equal ones too."),
            ("within", "Inside a source", ""),
            ("across", "Between sources", ""),
        ):
            value = getattr(said, name)
            st.toggle(label, value=value, help=note or None, **widget(name, value))
    with numbers, st.container(horizontal=True):
        st.number_input(
            "Overlap from", 0.05, 1.0, value=said.threshold, step=0.05, disabled=not said.near, **widget("threshold", said.threshold)
        )
        st.number_input("Words of a shingle", 1, 50, value=said.shingle, step=1, disabled=not said.near, **widget("shingle", said.shingle))
    names = [entry.name for entry in draft.recipe.sources]
    prefer = [name for name in said.prefer if name in names]
    st.multiselect(
        "Whose row stays, the most preferred first",
        names,
        default=prefer,
        placeholder="alphabetical order",
        **widget("prefer", prefer, tuple),
    )


def _groups(recipe: Recipe) -> DuplicateGroups:
    return duplicate_groups(recipe, current.library())


def _table(groups: DuplicateGroups, removed: dict[str, int]) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        rows = [{"Source": name, "Rows left out": rows} for name, rows in removed.items() if rows]
        if rows:
            st.dataframe(rows, hide_index=True, height=min(300, 38 + 35 * len(rows)))
    with right:
        between = sorted(groups.between().items(), key=lambda item: -item[1])
        pairs = [{"In": one if one == other else f"{one} and {other}", "Groups": many} for (one, other), many in between]
        st.dataframe(pairs, hide_index=True, height=min(300, 38 + 35 * len(pairs)))


def _look(groups: DuplicateGroups, names: list[str]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = st.selectbox(
            "Groups with a row of", [None, *names], format_func=lambda name: name or "any source", key="mix-groups-of", width=240
        )
        page = int(st.number_input("Page", min_value=1, value=1, step=1, key="mix-groups-page", width=120))
    found = groups.page((page - 1) * _PAGE, _PAGE, source)
    if not found:
        st.caption("No group here.")
    for group in found:
        _group(group)


def _group(group: Group) -> None:
    library = current.library()
    rows = [
        f'<tr><td><a href="sources?open={name}&row={row}" target="_self">{html.escape(name)}:{row}</a></td>'
        f"<td>{escaped(' '.join(str(library.source(name).texts()[row].as_py()).split())[:260])}</td></tr>"
        for name, row in group.rows[:_SHOWN]
    ]
    more = len(group.rows) - _SHOWN
    how = "equal" if group.exact else "near each other"
    head = f"{plural(len(group.rows), 'row')}, {how}" + (f"; {count(more)} more not shown" if more > 0 else "")
    st.html(f'<div class="md-group"><b>{head}</b><table class="md-tools md-ten">{"".join(rows)}</table></div>')
