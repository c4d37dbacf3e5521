"""Adding a source of one's own: a file or folder on this machine, an upload, or a hub data set; looked at before it is imported."""

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.dialects import RawRow
from core.errors import MixdownError
from core.jobs import ImportItem, import_item
from core.sources import DOMAINS, CannotWrite, first_rows, import_name
from core.sources.groups import group_mixtures, mixed
from core.sources.hub import HubReference, looks_like_hub_id
from pages.components import current
from pages.components.hub_look import hub_look
from pages.components.import_runs import begin_import
from pages.components.page import fail, go, header, plain
from pages.components.reading import LOOK, Reading, read_before, reading

_PATH, _UPLOAD, _HUB = "file or folder here", "upload", "hub data set"


def add_source() -> None:
    """Draw it as the page's content."""
    place = header("Add a source", "Where are the rows, and are they read as you mean them? Nothing is imported before you have seen some.")
    if place.button("All sources", icon=":material/arrow_back:"):
        go("pages/sources.py")
    where = st.segmented_control("Where it is", [_PATH, _UPLOAD, _HUB], default=_PATH, required=True, key="add-where")
    if where == _HUB:
        _hub(place)
        return
    origin = _path() if where == _PATH else _upload()
    if origin is None:
        st.caption("JSON, JSON Lines (also .gz or .zst), Parquet, CSV, Arrow, or a folder of these.")
        return
    try:
        rows = first_rows(origin, LOOK)
    except MixdownError as error:
        fail(error)
        return
    _settle(ImportItem(name=import_name(origin), origin=origin), rows, place)


def _path() -> Path | None:
    path = st.text_input("File or folder on this machine", placeholder="/data/my-chats.jsonl", key="add-path").strip()
    return Path(path).expanduser().absolute() if path else None


def _upload() -> Path | None:
    """The uploaded file, kept in the workspace so that it can be imported again."""
    upload = st.file_uploader("A file of yours", key="add-upload")
    if upload is None:
        return None
    known: dict[str, Path] = st.session_state.setdefault("uploads", {})
    if upload.file_id not in known:
        known[upload.file_id] = kept(upload.name, upload.getbuffer())
    return known[upload.file_id]


def kept(name: str, content: memoryview) -> Path:
    """The content under a name of its own: the same file uploaded twice is one file, and so one origin."""
    folder = current.workspace().home / "uploads" / hashlib.sha256(content).hexdigest()[:16]
    file = folder / (re.sub(r"[^A-Za-z0-9._-]+", "-", Path(name).name).lstrip(".-")[-100:] or "upload")
    try:
        if not file.exists():
            folder.mkdir(parents=True, exist_ok=True)
            part = folder / f".{file.name}.part"
            with part.open("wb") as opened:
                opened.write(content)
                opened.flush()
                os.fsync(opened.fileno())
            part.replace(file)
    except OSError as error:
        raise CannotWrite(f"The upload cannot be kept in '{folder}' ({error.strerror or error}): free some space and try again.") from error
    return file


def _hub(place: DeltaGenerator) -> None:
    left, right = st.columns([2, 1])
    repo = left.text_input("Id on the hub", placeholder="owner/name", key="add-repo").strip()
    revision = right.text_input("Revision", placeholder="newest", key="add-revision").strip() or None
    config_place, split_place, files_place = st.columns([1, 1, 2])
    config = config_place.text_input("Config", placeholder="its default", key="add-config").strip() or None
    split = split_place.text_input("Split", placeholder="train", key="add-split").strip() or None
    files = tuple(files_place.text_input("Only these files", placeholder="data/a.jsonl data/b.jsonl", key="add-files").split())
    if not repo:
        return
    if not looks_like_hub_id(repo):
        st.info(plain(f"{repo!r} is no id of the hub: write owner/name."), icon=":material/info:")
        return
    try:
        item = import_item(current.workspace(), repo, config=config, split=split, revision=revision, files=files)
    except MixdownError as error:
        fail(error)
        return
    assert isinstance(item.origin, HubReference)
    rows = hub_look(item.origin)
    if rows is not None:
        _settle(item, rows, place)
    else:
        _import_unseen(item, place)


def _settle(item: ImportItem, rows: Sequence[RawRow], place: DeltaGenerator) -> None:
    """Name, domain and licence, what the rows are, and the import."""
    key = str(item.origin)
    name_place, domain_place, licence_place = st.columns([1.4, 1, 1])
    name = name_place.text_input("Name", value=item.name, key=f"new-name-{key}").strip()
    domains = list(DOMAINS)
    domain = domain_place.selectbox("Domain", domains, index=domains.index(item.domain or "other"), key=f"new-domain-{key}")
    licence = licence_place.text_input("Licence", value=item.licence or "", placeholder="unknown", key=f"new-licence-{key}").strip() or None
    before = Reading(item.dialect)
    if name in current.library().names():
        before = read_before(current.library().source(name))
        st.info(plain(f"{name} is imported already: importing takes its place once it is whole."), icon=":material/info:")
    groups = mixed(group_mixtures(item.origin)) if isinstance(item.origin, Path) else None
    chosen = reading(rows, key=f"{key}-{name}", before=before, groups=groups)
    if place.button("Import", type="primary", icon=":material/download:", disabled=chosen is None) and chosen is not None:
        begin_import(
            item.model_copy(
                update={
                    "name": name,
                    "domain": domain,
                    "licence": licence,
                    "dialect": chosen.dialect,
                    "columns": dict(chosen.columns or {}),
                }
            )
        )


def _import_unseen(item: ImportItem, place: DeltaGenerator) -> None:
    if place.button("Import without looking", type="primary", icon=":material/download:"):
        begin_import(item)
