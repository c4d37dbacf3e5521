"""The dialog that adds a local file, a folder or an upload: shows which dialect it is in, then starts the import."""

import re
from itertools import islice
from pathlib import Path

import streamlit as st

from core.dialects import detect
from core.errors import MixdownError
from core.jobs import ImportItem, ImportJob, begin
from core.sources import import_name, read_rows
from pages.components import current
from pages.components.charts import DOMAIN_COLOURS
from pages.components.page import fail, plain

_LOOK = 200
"""Rows that detection looks at."""


@st.dialog("Add a source", width="large")
def add_source() -> None:
    """Ask where it is, show what it seems to be, import it."""
    origin = _origin()
    if origin is None:
        st.caption("JSON, JSON Lines (also .gz or .zst), Parquet, CSV, Arrow, or a folder of these.")
        return
    try:
        rows = list(islice(read_rows(origin), _LOOK))
        found = detect(rows)
    except MixdownError as error:
        fail(error)
        return
    st.success(
        plain(f"Found dialect {found.dialect}: {found.reason}") if found.dialect else "No known dialect fits.", icon=":material/search:"
    )
    if rows:
        with st.expander("First row"):
            st.json(rows[0].value, expanded=1)
    name_column, domain_column, licence_column = st.columns(3)
    name = name_column.text_input("Name", value=import_name(origin), key=f"new-name-{origin}")
    domain = domain_column.selectbox("Domain", list(DOMAIN_COLOURS), index=list(DOMAIN_COLOURS).index("other"))
    licence = licence_column.text_input("Licence", placeholder="unknown")
    if st.button("Import", type="primary"):
        try:
            item = ImportItem(name=name, origin=origin, domain=domain, licence=licence.strip() or None)
            begin(ImportJob(home=current.workspace().home, items=(item,)))
        except MixdownError as error:
            fail(error)
        else:
            st.rerun()


def _origin() -> Path | None:
    path = st.text_input("File or folder on this machine", placeholder="/data/my-chats.jsonl").strip()
    upload = st.file_uploader("or upload a file")
    if path:
        return Path(path).expanduser().absolute()
    if upload is None:
        return None
    folder = current.workspace().home / "uploads"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / (re.sub(r"[^A-Za-z0-9._-]+", "-", Path(upload.name).name).lstrip(".-") or "upload")
    if not kept.exists() or kept.stat().st_size != upload.size:
        kept.write_bytes(upload.getbuffer())
    return kept
