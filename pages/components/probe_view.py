"""What the target's template accepts, refuses and rewrites, as the probe found out by rendering; in plain words."""

import html

import streamlit as st

from core.chat import ProbeReport, probe
from core.mix import Recipe
from pages.components import current
from pages.components.numbers import plural
from pages.components.page import plain
from pages.components.planning import target_of, target_stamp
from pages.components.visible import visible


def probe_view(recipe: Recipe) -> None:
    """Draw the table, folded; its head says what matters most."""
    report = _probed(recipe, recipe.target.model_dump_json(), target_stamp(recipe.target))
    refused = len(report.refusals)
    head = f"refuses {plural(refused, 'kind')} of conversation" if refused else "refuses nothing"
    if report.rewrites_history:
        head += ", rewrites history"
    if report.drops_reasoning:
        head += ", drops earlier reasoning"
    name = plain(current.target_label(recipe.target.path))
    with st.expander(f"What the template of {name} does: {head}", icon=":material/fact_check:", key="probe", bind="query-params"):
        st.html(probe_table(report))


def probe_table(report: ProbeReport) -> str:
    """HTML of the findings: what it takes and what not, then what it writes. Everything in it is text."""
    refused = {case.question for case in report.cases if not case.accepted}
    lossy = {case.question for case in report.cases if case.lost}
    rows = []
    for question, answer in report.findings():
        mark, look = ("✗", "md-trouble") if question in refused else ("!", "md-trouble") if question in lossy else ("", "")
        if not mark and answer in ("yes", "no"):
            mark, look = ("✓", "md-good") if answer == "yes" else ("–", "md-quiet")
        rows.append(f'<tr><td class="{look}">{mark}</td><td>{html.escape(question)}</td><td>{visible(answer)}</td></tr>')
    return f'<table class="md-tools md-probe"><tr><th></th><th>asked</th><th>answer</th></tr>{"".join(rows)}</table>'


@st.cache_resource(max_entries=8, show_spinner="Asking the template")
def _probed(_recipe: Recipe, described: str, stamp: tuple[float, float]) -> ProbeReport:  # noqa: ARG001  the last two are the cache's key
    return probe(target_of(_recipe))
