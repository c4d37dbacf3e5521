"""The frame of every screen: the same header with one primary button, the same way to say that something is missing or went wrong."""

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.pages_manager import PagesManager

from core.errors import MixdownError

_HERE = Path(__file__).parent
_STYLE = _HERE / "style.css"
_FRAMED = "framed"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&])")


def frame() -> None:
    """Set the page up; once per run of the script, before anything is drawn."""
    # Files of ours: an icon given by name or as an emoji would be fetched from another machine.
    st.set_page_config(page_title="Mixdown", page_icon=_HERE / "icon.svg", layout="wide")
    st.logo(_HERE / "logo.svg", size="large", icon_image=_HERE / "icon.svg")
    st.html(_STYLE)
    st.session_state[_FRAMED] = True


def _only_through_the_map() -> None:
    """Run app.py instead when Streamlit runs a page by itself.

    It takes every file in a folder called `pages` for a screen of its own until `st.navigation` was called once in the server's life,
    so that a link to a page, opened first on a fresh server, would show it without its frame.
    """
    if _FRAMED not in st.session_state:
        st.session_state[_FRAMED] = True
        PagesManager.uses_pages_directory = False
        st.rerun()


def header(title: str, sentence: str) -> DeltaGenerator:
    """Draw the title and the sentence that says what this step decides; returns the place of the primary button, top right."""
    _only_through_the_map()
    words, action = st.columns([2.2, 1.5], vertical_alignment="bottom")
    with words:
        st.title(title, anchor=False)
        st.html(f'<div class="md-sentence">{html.escape(sentence)}</div>')
    return action.container(horizontal=True, horizontal_alignment="right", vertical_alignment="bottom")


def go(page: str, **query: str) -> NoReturn:
    """Open another page with only these query parameters.

    They are always given: without them Streamlit refuses to leave a page one of whose widgets keeps its value in the address.
    """
    st.switch_page(page, query_params=query)


def plain(text: str) -> str:
    """Text of people's data or files for places that read Markdown: it shows as it is written."""
    return _MARKDOWN.sub(r"\\\1", text)


def fail(error: MixdownError) -> None:
    """Say in one sentence what went wrong and what to do."""
    st.error(plain(str(error)), icon=":material/error:")


def empty(title: str, sentence: str) -> DeltaGenerator:
    """A place where nothing is yet: says what to do next; returns where to put the button for it."""
    place = st.container(border=True)
    place.html(
        f'<div style="padding:1.2rem .6rem .4rem"><b>{html.escape(title)}</b><div class="md-quiet">{html.escape(sentence)}</div></div>'
    )
    return place


def figures(pairs: Sequence[tuple[str, str]]) -> None:
    """A row of numbers with their units: `(number, what it counts)`."""
    cells = "".join(f"<div><b>{html.escape(number)}</b><span>{html.escape(unit)}</span></div>" for number, unit in pairs)
    st.html(f'<div class="md-figures">{cells}</div>')


def checks(items: Sequence[tuple[bool | None, str]]) -> None:
    """A list of checks: ticked, crossed, or None for not known yet."""
    names = {True: "yes", False: "no", None: "wait"}
    st.html('<ul class="md-checks">' + "".join(f'<li class="{names[ok]}">{html.escape(text)}</li>' for ok, text in items) + "</ul>")
