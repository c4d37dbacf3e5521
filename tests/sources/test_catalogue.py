"""The catalogue."""

from pathlib import Path

import pytest

from core.sources import DOMAINS, Catalogue
from core.sources.catalogue import BadCatalogue, NotInCatalogue
from core.workspace import BUNDLED, Workspace, checked_name


def own(workspace: Workspace, text: str) -> Catalogue:
    workspace.home.mkdir(parents=True, exist_ok=True)
    (workspace.home / "catalogue.toml").write_text(text, encoding="utf-8")
    return Catalogue.load(workspace)


def test_the_shipped_entries_are_complete(workspace: Workspace) -> None:
    entries = Catalogue.load(workspace).entries()
    names = [entry.name for entry in entries]
    assert len(set(names)) == len(names) >= 35
    for entry in entries:
        assert checked_name(entry.name)
        assert entry.title
        assert str(entry.hub_id).count("/") == 1
        assert entry.domain in DOMAINS
        assert not set(entry.overlaps) - set(names), entry.name
        assert entry.evaluation == ("do not train" in entry.notes)


def test_every_bundled_sample_has_an_entry(workspace: Workspace) -> None:
    samples = BUNDLED / "sources"
    if not samples.is_dir():
        pytest.skip("no samples in this checkout")
    bundled = {entry.name: entry.bundled for entry in Catalogue.load(workspace).entries() if entry.bundled}
    assert bundled == {folder.name: folder for folder in samples.iterdir() if folder.is_dir() and not folder.name.startswith("_")}


def test_a_workspace_adds_entries_and_changes_single_keys(workspace: Workspace) -> None:
    catalogue = own(workspace, '[glaive]\nlicence = "mine"\n\n["our.chats"]\ndomain = "chat"\nrows = 5\ncolumns = ["a"]\n')
    glaive = catalogue.entry("glaive")
    assert (glaive.licence, glaive.hub_id) == ("mine", "glaiveai/glaive-function-calling-v2")
    ours = catalogue.entry("our.chats")
    assert (ours.title, ours.rows, ours.columns, ours.hub_id, ours.gated, ours.evaluation) == ("our.chats", 5, ("a",), None, False, False)
    with pytest.raises(NotInCatalogue, match="mixdown sources"):
        catalogue.entry("nobody")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[x", "not valid TOML"),
        ("title = 1", "stands outside an entry"),
        ('[x]\ndomain = "chat"\ncolour = "red"', r"\[x\]: unknown key 'colour'"),
        ("[x]\n", r"\[x\]: domain must be one of chat"),
        ('[x]\ndomain = "poetry"', "domain must be one of"),
        ('[x]\ndomain = "chat"\nrows = "many"', "rows must be a whole number, not 'many'"),
        ('[x]\ndomain = "chat"\nrows = true', "rows must be a whole number"),
        ('[x]\ndomain = "chat"\ngated = 1', "gated must be true or false"),
        ('[x]\ndomain = "chat"\ncolumns = [1]', "columns must be a list of texts"),
        ('[x]\ndomain = "chat"\ndialect = "klingon"', "dialect 'klingon' is unknown"),
        ('["../up"]\ndomain = "chat"', "cannot be a name"),
    ],
)
def test_a_mistake_is_named_with_file_entry_and_key(workspace: Workspace, text: str, says: str) -> None:
    with pytest.raises(BadCatalogue, match=says) as error:
        own(workspace, text)
    assert "catalogue.toml" in str(error.value)


def test_a_workspace_catalogue_that_cannot_be_decoded_is_a_mistake(workspace: Workspace) -> None:
    workspace.home.mkdir(parents=True)
    Path(workspace.home / "catalogue.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadCatalogue):
        Catalogue.load(workspace)
