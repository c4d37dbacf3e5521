"""The map of the dashboard: which screens there are, under which address, and what stands beside all of them. No logic."""

import streamlit as st

from core.errors import MixdownError
from pages.components.page import fail, frame
from pages.components.sidebar import sidebar

PAGES = (
    st.Page("pages/home.py", title="Home", icon=":material/home:", default=True),
    st.Page("pages/sources.py", title="Sources", icon=":material/database:", url_path="sources"),
    st.Page("pages/mix.py", title="Mix", icon=":material/tune:", url_path="mix"),
    st.Page("pages/preview.py", title="Preview", icon=":material/visibility:", url_path="preview"),
    st.Page("pages/tokenize.py", title="Tokenize", icon=":material/data_array:", url_path="tokenize"),
    st.Page("pages/train.py", title="Train", icon=":material/monitoring:", url_path="train"),
    st.Page("pages/runs.py", title="Runs", icon=":material/history:", url_path="runs"),
)

frame()
chosen = st.navigation(PAGES)
try:
    sidebar()
    chosen.run()
except MixdownError as error:
    fail(error)
