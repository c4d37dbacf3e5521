"""The Sources page without a browser: what its parts say of real imports."""

import json

import pytest
from typer.testing import CliRunner

from core.cli import app as command_line
from core.dialects import RawRow
from core.sources import Catalogue, Library, import_source
from core.workspace import Workspace
from pages.components.add_source import kept
from pages.components.codes import repairable, sentence
from pages.components.reading import columns_of
from pages.components.source_rows import command, drawn
from pages.components.sources_gallery import known_sources
from tests.pages.test_screens import labels, open_page


def written(folder, name, rows):
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in rows))
    return path


def test_the_gallery_knows_what_is_imported_and_the_rest_of_the_catalogue(sources):
    imported, entries = Library(sources).sources(), Catalogue.load(sources).entries()
    known = known_sources(imported, entries)
    assert [item.source.name for item in known[:2] if item.source] == ["more-sums", "sums"]
    assert len(known) == 2 + len(entries)
    assert any(item.gated for item in known)
    assert [item.entry.name for item in known if "salesforce/xlam" in item.words and item.entry] == ["xlam"]


def test_an_entry_of_the_catalogue_says_what_is_known_and_offers_its_sample(home):
    app = open_page("sources", entry="gsm8k")
    assert "Import" in labels(app)
    assert not app.error


def test_a_name_the_catalogue_does_not_know_is_one_sentence_above_the_gallery(home):
    app = open_page("sources", entry="nonsense")
    assert len(app.error) == 1
    assert app.title[0].value == "Sources"


def test_a_gated_entry_says_how_to_get_access(home):
    assert "accept its terms" in open_page("sources", entry="xlam").info[0].value


def test_the_table_has_a_line_for_each_imported_source(sources):
    app = open_page("sources")
    app.segmented_control(key="view").set_value("Table of what is imported").run()
    assert not app.exception
    [frame] = [element.value for element in app.dataframe]
    assert list(frame["Source"]) == ["more-sums", "sums"]
    assert list(frame["Quarantined"]) == [1, 1]


@pytest.mark.parametrize("tab", ["Rows", "Quarantine", "Mapping", "About"])
def test_every_tab_of_a_source_can_be_opened_by_its_address(sources, tab):
    assert not open_page("sources", open="sums", tab=tab).error


def test_a_few_huge_rows_do_not_hide_how_long_the_others_are(tmp_path, monkeypatch):
    workspace = Workspace(tmp_path / "home")
    rows = [{"prompt": "say", "response": "x" * (10 + number % 50)} for number in range(500)] + [
        {"prompt": "say", "response": "x" * 90_000}
    ]
    source = import_source(workspace, "tail", written(tmp_path, "tail", rows))
    bars, beyond = drawn(source, "chars", "", {})
    assert beyond == 1
    assert sum(bar.count for bar in bars) == 500
    assert len(bars) > 10
    assert drawn(source, "turns", "", {})[1] == 0


def test_the_command_for_a_large_selection_finds_what_the_page_found(sources, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = command("sums", "it is 1", {"turns": (2, None), "has_tools": False, "dialect": ["openai_messages"]}, "chars")
    assert "--where turns=2.." in line
    source = Library(sources).source("sums")
    dialect = source.page(limit=1).rows[0]["dialect"]
    where = {"turns": (2, None), "has_tools": False, "dialect": [dialect]}
    words = command("sums", "it is 1", where, "chars").replace("'", "").split("mixdown rows ")[1]
    arguments = ["rows", "sums", "--search", "it is 1", *words[words.index("--where") :].split(), "--home", str(sources.home)]
    done = CliRunner().invoke(command_line, arguments)
    assert done.exit_code == 0, done.output
    found = [json.loads(text) for text in (tmp_path / "sums.jsonl").read_text().splitlines()]
    assert found == list(source.selected(search="it is 1", where=where, sort="chars", descending=True))
    assert found


def test_columns_to_map_are_those_of_the_rows_and_those_inside_them():
    rows = [RawRow(0, {"q": "a", "data": {"answer": "b"}}), RawRow(1, "no object"), RawRow(2, {"later": 1})]
    assert columns_of(rows) == ["q", "data", "data.answer", "later"]


def test_every_code_has_its_sentence_and_only_some_can_be_repaired():
    assert sentence("unknown_role").endswith("repair drops that turn.")
    assert sentence("lower_rank")
    assert sentence("no such code") == ""
    assert repairable(["bad_json", "unknown_role", "no_user"]) == ["unknown_role"]


def test_the_same_file_uploaded_twice_is_kept_once(home):
    first, again = (kept("../my chats.jsonl", memoryview(b"{}\n")) for _ in range(2))
    assert first == again
    assert first.read_bytes() == b"{}\n"
    assert first.is_relative_to(home.home / "uploads")
    assert first.name == "my-chats.jsonl"


def test_an_entry_is_read_by_what_its_rows_show_not_by_what_the_catalogue_expects(home):
    app = open_page("sources", entry="qwen35-tools")  # its sample mixes two dialects
    assert [control.value for control in app.segmented_control if control.label == "Read the rows"] == ["as found"]
    assert not app.error
