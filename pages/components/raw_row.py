"""A raw row as it stood in its file: JSON as a tree, everything else as the text it is."""

import streamlit as st

from core.sources.text import dumps


def show_raw(value: object) -> None:
    """Draw it; text that was no JSON stays text, and halves of surrogate pairs do not break the page."""
    if isinstance(value, (dict, list)):
        st.json(dumps(value), expanded=3)
    else:
        text = "" if value is None else str(value)
        st.code(text.encode("utf-8", "backslashreplace").decode(), language=None, wrap_lines=True)
