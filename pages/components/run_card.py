"""A run on the screen: what it does, how far it is, how fast, how long still, and the button that stops it.

It reads the run's files each second while the run works, and redraws the page once when it has ended. It keeps nothing itself:
a reload, a second tab or a restarted server show the same.
"""

import html
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from core.errors import MixdownError
from core.jobs.training import unfinished
from core.runs import Run, RunStore
from pages.components.numbers import count, duration, percent, short
from pages.components.outcomes import outcome
from pages.components.page import fail, plain

EVERY = 1.0
"""Seconds between two looks at a run that works."""

_WORDS = {
    "queued": "starting",
    "running": "working",
    "cancelling": "stopping",
    "cancelled": "stopped",
    "done": "done",
    "failed": "failed",
    "paused": "paused",
    "lost": "lost",
}


def state_word(run: Run) -> str:
    """The state in the words of the screens."""
    return _WORDS[run.state]


Buttons = Callable[[RunStore, Run], None]


def again_word(run: Run) -> str:
    """What starting it once more is called: going on where it left something to go on from."""
    if run.kind == "train" and unfinished(Path(str(run.spec["out"]))) is not None:
        return "Resume"
    return "Resume" if run.state == "paused" else "Try again"


def run_card(store: RunStore, run: Run, extra: Callable[[Run], None] | None = None, buttons: Buttons | None = None) -> None:
    """Draw one run; `extra` draws more of it below (a curve, counts by reason) at each look, `buttons` others than stop and try again."""
    if run.active:
        _live(store, run.id, extra, buttons or _buttons)
    else:
        _draw(store, run, extra, buttons or _buttons)


@st.fragment(run_every=EVERY)
def _live(store: RunStore, run_id: str, extra: Callable[[Run], None] | None, buttons: Buttons) -> None:
    try:
        run = store.get(run_id)
    except MixdownError:
        st.rerun()
    _draw(store, run, extra, buttons)
    if not run.active:
        st.rerun()


def _draw(store: RunStore, run: Run, extra: Callable[[Run], None] | None, buttons: Buttons) -> None:
    with st.container(border=True, key=f"run-{run.id}"):
        words, button = st.columns([5, 1], vertical_alignment="center")
        with words:
            _head(run)
            if run.active:
                _bar(run)
        with button.container(horizontal=True, horizontal_alignment="right"):
            buttons(store, run)
        if run.error:
            st.error(plain(run.error), icon=":material/error:")
        if extra is not None:
            extra(run)


def _head(run: Run) -> None:
    progress = run.progress or {}
    parts = [state_word(run)]
    if run.active and progress:
        parts.append(str(progress["phase"]))
        if progress.get("rate"):
            parts.append(f"{short(progress['rate'])} {progress['unit']}/s")
        if progress.get("seconds_left") is not None:
            parts.append(f"{duration(progress['seconds_left'])} left")
    else:
        parts.append(duration(run.seconds))
    words = "" if run.error else outcome(run)
    st.html(
        f'<div class="md-run"><span><b>{html.escape(run.title[:1].upper() + run.title[1:])}</b>&ensp;'
        f'<span class="r">{html.escape(words)}</span></span>'
        f'<span class="r">{html.escape(" · ".join(parts))}</span></div>'
    )


def _bar(run: Run) -> None:
    progress = run.progress or {}
    total = progress.get("total")
    if not total:
        text = f"{count(progress['done'])} {progress['unit']} so far" if progress else "starting the process"
        st.progress(0.0, text=text)
        return
    share = min(1.0, progress["done"] / total)
    st.progress(share, text=f"{percent(share, 0)} · {count(progress['done'])} of {count(total)} {progress['unit']}")


def _buttons(store: RunStore, run: Run) -> None:
    if run.active:
        asked = run.state == "cancelling"
        if st.button("Stopping" if asked else "Stop", key=f"stop-{run.id}", icon=":material/stop_circle:", disabled=asked):
            store.cancel(run.id)
            st.rerun(scope="fragment")
    elif run.state in ("cancelled", "failed", "lost", "paused") and st.button(
        again_word(run), key=f"retry-{run.id}", icon=":material/replay:"
    ):
        try:
            store.retry(run.id)
        except MixdownError as error:
            fail(error)
        else:
            st.rerun()
