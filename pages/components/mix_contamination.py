"""Rows that repeat a benchmark: the matched span in both texts, boilerplate apart from real matches, kept or dropped by group."""

import html
from typing import Any

import streamlit as st

from core.errors import MixdownError
from core.mix import BOILERPLATE, Contamination, ContaminationReport, Excerpt, MatchGroup, Recipe, contamination_report
from pages.components import current
from pages.components.mix_draft import Draft
from pages.components.numbers import count, plural
from pages.components.page import plain
from pages.components.planning import Planned
from pages.components.visible import escaped

_GROUPS = 100
_MATCHES = 10


def contamination_section(draft: Draft, found: Planned | None) -> None:
    """Draw the choices and, once the rows were compared, the matches."""
    _choices(draft)
    if not draft.recipe.contamination.asks:
        st.caption("No benchmark is named, so nothing is compared. Name the files that you will measure with.")
        return
    if found is None or found.waiting.contamination:
        return
    try:
        report = _report(draft.recipe)
    except MixdownError as error:
        st.error(plain(str(error)))
        return
    groups = report.groups()
    dropped = sum(len(rows) for rows in report.dropped().values())
    real = [group for group in groups if group.name != BOILERPLATE]
    st.caption(
        f"{plural(len(real), 'text')} of the benchmarks {'is' if len(real) == 1 else 'are'} repeated; {plural(dropped, 'row')} dropped. "
        f"{plural(report.index.too_short, 'text')} shorter than {draft.recipe.contamination.ngram} words cannot match."
    )
    if groups:
        _matches(draft, report, groups)


def _choices(draft: Draft) -> None:
    said = draft.recipe.contamination

    def edit(what: str, **changes: Any) -> None:
        draft.edit(f"contamination: {what}", contamination=Contamination.model_validate(said.model_dump() | changes))

    def widget(name: str, value: Any, convert: Any = lambda told: told) -> dict[str, Any]:
        return draft.on_change(f"contamination-{name}", value, lambda told: edit(name, **{name: convert(told)}))

    files, words, boilerplate, action = st.columns([2.4, 0.9, 1.1, 1.3])
    text = "\n".join(said.benchmarks)
    files.text_area(
        "Benchmarks",
        value=text,
        height=80,
        placeholder="a file, folder or hub id a line",
        **widget("benchmarks", text, lambda told: tuple(line.strip() for line in told.split("\n") if line.strip())),
    )
    words.number_input("Words in a row", 3, 100, value=said.ngram, step=1, **widget("ngram", said.ngram))
    boilerplate.number_input(
        "Boilerplate from",
        2,
        value=said.boilerplate,
        step=1,
        help="A run of words that stands in so many texts of the benchmarks is how they are written, not what they ask.",
        **widget("boilerplate", said.boilerplate),
    )
    action.selectbox(
        "Rows that match are",
        ["drop", "report"],
        index=["drop", "report"].index(said.action),
        format_func={"drop": "dropped", "report": "kept and reported"}.__getitem__,
        **widget("action", said.action),
    )


@st.cache_resource(max_entries=4, show_spinner="Reading the matches")
def _cached(_recipe: Recipe, key: str) -> ContaminationReport:  # noqa: ARG001  the cache's key
    return contamination_report(_recipe, current.library())


def _report(recipe: Recipe) -> ContaminationReport:
    library = current.library()
    versions = [(entry.name, library.source(entry.name).version) for entry in recipe.sources]
    return _cached(recipe, f"{library.workspace.home} {recipe.contamination.model_dump_json()} {versions}")


def _matches(draft: Draft, report: ContaminationReport, groups: list[MatchGroup]) -> None:
    left, right = st.columns([1, 1.5], gap="large")
    with left:
        rows = [
            {
                "Group": group.name,
                "Rows": sum(group.rows.values()),
                "In": ", ".join(group.rows),
                "Rows are": "kept" if group.kept else "dropped",
            }
            for group in groups[:_GROUPS]
        ]
        st.dataframe(rows, hide_index=True, height=min(400, 38 + 35 * len(rows)))
    with right:
        names = [group.name for group in groups[:_GROUPS]]
        name = st.selectbox("Matches of", names, key="mix-match-group")
        group = next((one for one in groups if one.name == name), groups[0])
        st.toggle(
            "Keep these rows",
            value=group.kept,
            disabled=draft.recipe.contamination.action == "report",
            **draft.on_change(f"keep-{group.name}", group.kept, lambda keep: _keep(draft, group.name, keep=keep)),
        )
        for match in report.matches(group=group.name, limit=_MATCHES):
            st.html(
                f'<div class="md-group"><b>{html.escape(match.source)}:{match.row}</b>, {plural(match.words, "word")} in a row'
                f"{_span('in the row', match.in_row)}{_span('in the benchmark', match.in_benchmark)}</div>"
            )
        shown = min(_MATCHES, sum(group.rows.values()))
        if sum(group.rows.values()) > shown:
            st.caption(f"The first {count(shown)}; all of them: `mixdown mix contamination {draft.saved.name} --group {group.name}`")


def _keep(draft: Draft, group: str, *, keep: bool) -> None:
    said = draft.recipe.contamination
    kept = [*said.keep, group] if keep else [name for name in said.keep if name != group]
    changes: dict[str, Any] = {"keep": tuple(dict.fromkeys(kept))}
    if group == BOILERPLATE and not keep:
        changes["drop_boilerplate"] = True
    made = Contamination.model_validate(said.model_dump() | changes)
    draft.edit(f"{group} {'kept' if keep else 'dropped'}", contamination=made)


def _span(where: str, excerpt: Excerpt) -> str:
    return (
        f'<div class="md-quiet">{where}</div><div class="md-span">{escaped(excerpt.before)}<mark>{escaped(excerpt.span)}</mark>'
        f"{escaped(excerpt.after)}</div>"
    )
