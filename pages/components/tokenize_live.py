"""A tokenization under way: rates, every source with its own progress and what became of its rows, and the buttons that stop it.

Pausing and cancelling both end the process at its next safe point. What is finished stays for a later resume; only cancelling
throws it away, which the page does once no process is left: a mark in the run's folder says so, so that a reload changes nothing.
"""

import html
from pathlib import Path

import streamlit as st

from core.errors import MixdownError
from core.mix import parse_recipe, plan
from core.runs import Run, RunStore
from core.tokens import discard_partial, partial_folder
from pages.components import current
from pages.components.numbers import count, percent, short
from pages.components.page import fail, figures
from pages.components.refusals import words

_MARK = "discard"
_DROPPED = "dropped: "


def figures_of_run(run: Run) -> None:
    """Rates and sums, and the sources one by one."""
    progress = run.progress or {}
    counts = progress.get("counts") or {}
    if counts:
        named = [("rows", "training rows"), ("tokens", "tokens"), ("trainable_tokens", "trainable tokens"), ("dropped", "dropped")]
        named += [("heldout", "held out"), ("rows_per_second", "rows/s"), ("tokens_per_second", "tokens/s")]
        figures([(short(counts[name]), unit) for name, unit in named if name in counts])
    sources = progress.get("sources") or {}
    if sources or progress.get("phase") == "tokenize":
        st.html(_table(sources, _planned(str(run.spec["recipe"]))))


def _table(sources: dict[str, dict[str, int]], planned_rows: dict[str, int]) -> str:
    head = "<tr><th>Source</th><th>Done</th><th>Kept</th><th>Repaired</th><th>Rows</th><th>Tokens</th><th>Dropped</th></tr>"
    lines = []
    for name in sorted(planned_rows.keys() | sources.keys()):
        found = sources.get(name, {})
        total = planned_rows.get(name, 0)
        share = min(1.0, (found.get("conversations", 0) + found.get("heldout", 0)) / total) if total else 0.0
        drops = {reason.removeprefix(_DROPPED): number for reason, number in found.items() if reason.startswith(_DROPPED)}
        dropped = ", ".join(f"{words(reason)} {count(number)}" for reason, number in sorted(drops.items(), key=lambda item: -item[1]))
        bar = f'<div class="md-bar"><i style="width:{share:.1%};background:var(--accent)"></i></div>'
        cells = [count(found.get(key, 0)) for key in ("kept", "repaired", "rows")] + [short(found.get("tokens", 0))]
        numbers = "".join(f'<td class="md-num">{cell}</td>' for cell in cells)
        lines.append(
            f'<tr><td>{html.escape(name)}</td><td style="min-width:9rem">{bar}<span class="md-quiet">{percent(share, 0)} of '
            f"{count(total)}</span></td>{numbers}<td>{html.escape(dropped or 'none')}</td></tr>"
        )
    return f'<div class="md-scroll"><table class="md-live">{head}{"".join(lines)}</table></div>'


@st.cache_data(max_entries=20, show_spinner=False)
def _planned(recipe: str) -> dict[str, int]:
    """Conversations by source, those held out among them; nothing where the plan cannot be made any more."""
    try:
        made = plan(parse_recipe(recipe), current.library())
    except MixdownError:
        return {}
    return {part.name: part.rows for part in made.sources if part.rows}


def stopping_buttons(store: RunStore, run: Run) -> None:
    """Pause and cancel a run that works."""
    asked = run.state == "cancelling"
    if st.button("Pausing" if asked else "Pause", key=f"stop-{run.id}", icon=":material/pause_circle:", disabled=asked):
        store.cancel(run.id)
        st.rerun(scope="fragment")
    if st.button(
        "Cancel", key=f"discard-{run.id}", icon=":material/cancel:", disabled=asked, help="Stop, and throw away what is finished."
    ):
        (run.folder / _MARK).touch()
        store.cancel(run.id)
        st.rerun(scope="fragment")


def resuming_buttons(store: RunStore, run: Run) -> None:
    """Go on with a run that was stopped or failed, or throw away what it left."""
    left = has_left(run)
    if st.button("Resume" if left else "Try again", key=f"retry-{run.id}", icon=":material/resume:" if left else ":material/replay:"):
        try:
            store.retry(run.id)
        except MixdownError as error:
            fail(error)
        else:
            st.rerun()
    if left and st.button("Discard", key=f"discard-{run.id}", icon=":material/delete:"):
        discard_partial(_out(run))
        st.rerun()


def has_left(run: Run) -> bool:
    """Whether a stopped run has left finished units."""
    return partial_folder(_out(run)).is_dir()


def discarded(run: Run) -> bool:
    """Whether a run was cancelled for good; what it left is removed at the first look after its end."""
    if run.active or not (run.folder / _MARK).exists():
        return False
    discard_partial(_out(run))
    return True


def _out(run: Run) -> Path:
    return Path(str(run.spec["out"]))
