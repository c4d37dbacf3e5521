"""The library: what is listed, what is opened, what is asked of rows."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.conversation import Conversation
from core.dialects import ColumnMap, Policy
from core.sources import BadQuery, Library, Source, SourceMissing, import_source, prompt_hash
from core.sources.parts import DamagedLibrary
from core.workspace import Workspace
from tests.sources.conftest import talk, write_rows

Import = Callable[..., Source]

TOOL = {"type": "function", "function": {"name": "get_tide", "description": "Tide", "parameters": {"type": "object", "properties": {}}}}


def called(question: str, port: str) -> dict[str, Any]:
    call = {"id": "call_0", "type": "function", "function": {"name": "get_tide", "arguments": {"port": port}}}
    return {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": question},
            {"role": "assistant", "content": "", "reasoning_content": "Need the tool.", "tool_calls": [call]},
            {"role": "tool", "content": "4.2", "tool_call_id": "call_0"},
            {"role": "assistant", "content": "4.2 m."},
        ],
        "tools": [TOOL],
    }


ROWS: list[Any] = [talk(f"Question {number % 7} of user {'é' * (number % 3)}", "role " * (number % 5) + "Ünd.") for number in range(60)]
ROWS[5:45:8] = [called(f"Tide {number}?", 'Bre"st\n\\d') for number in range(5)]
ROWS[10::20] = [talk("Only a prompt", None)] * 3
ROWS[2] = "broken {"
ROWS[3] = {"messages": 3}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    from core.sources import import_source
    from tests.sources.conftest import write_rows

    folder = tmp_path_factory.mktemp("library")
    return import_source(Workspace(folder / "home"), "talks", write_rows(folder / "talks.jsonl", ROWS))


def test_sources_are_listed_by_name_with_their_counts(imported: Import, workspace: Workspace) -> None:
    assert Library(workspace).sources() == []
    imported([talk("one")], name="b")
    imported([talk("one"), talk("two", None)], name="a")
    assert [(source.name, source.rows, source.ledger.prompt_only) for source in Library(workspace).sources()] == [("a", 1, 1), ("b", 1, 0)]
    Library(workspace).remove("a")
    assert Library(workspace).names() == ["b"]
    with pytest.raises(SourceMissing, match="import it first"):
        Library(workspace).source("a")


def test_half_written_and_foreign_folders_are_not_sources(imported: Import, workspace: Workspace) -> None:
    imported([talk("one")], name="whole")
    (workspace.sources / "empty").mkdir()
    (workspace.sources / "draft" / ".draft-1" / "index").mkdir(parents=True)
    (workspace.sources / "pointing").mkdir()
    (workspace.sources / "pointing" / "current").write_text("../whole\n")
    (workspace.sources / "file").write_text("x")
    assert Library(workspace).names() == ["whole"]
    assert Library(workspace).damaged() == {}


def test_a_damaged_source_is_named_and_does_not_hide_the_others(imported: Import, workspace: Workspace) -> None:
    imported([talk("one")], name="whole")
    imported([talk("one")], name="hurt")
    (record,) = workspace.source("hurt").glob("*/source.json")
    record.write_text(json.dumps({"title": "hurt"}))
    assert [source.name for source in Library(workspace).sources()] == ["whole"]
    assert "import the source again" in Library(workspace).damaged()["hurt"]
    with pytest.raises(DamagedLibrary):
        Library(workspace).source("hurt")


def test_a_source_that_was_replaced_while_it_was_open_says_so(imported: Import) -> None:
    old = imported([talk("old")])
    imported([talk("new")])
    with pytest.raises(DamagedLibrary, match="imported again or removed"):
        old.index()


def test_a_source_that_was_opened_before_it_was_replaced_stays_readable(imported: Import) -> None:
    old = imported([talk("old")])
    assert old.conversation(0).messages[0].content == "old"
    imported([talk("new")])
    assert old.conversation(0).messages[0].content == "old"


def test_a_source_that_keeps_under_half_of_its_rows_is_a_problem_with_its_main_reasons(imported: Import, workspace: Workspace) -> None:
    assert imported([talk("one"), "broken", talk("two", None)], name="fine").problem is None
    bad = imported([talk("one"), "broken", "broken", "broken", {"messages": 3}], name="bad")
    assert "Only 1 of 5 rows could be used" in str(bad.problem)
    assert "bad_json (3)" in str(bad.problem)
    assert set(Library(workspace).problems()) == {"bad"}


def test_sources_that_hold_the_same_rows_are_pointed_out(imported: Import, workspace: Workspace) -> None:
    for name in ("toolmind", "glaive", "ours"):
        imported([talk("one")], name=name)
    assert Library(workspace).overlaps() == [("glaive", "toolmind", "part of its open data sets")]


def test_conversations_come_back_as_they_were_stored(source: Source) -> None:
    usable = [row for row in ROWS if isinstance(row, dict) and row["messages"] != 3]
    assert [conversation.to_json() for conversation in source.conversations(range(len(usable)))] == usable
    picked = list(source.conversations([7, 0, 7]))
    assert [conversation.row_id for conversation in picked] == ["talks:9", "talks:0", "talks:9"]
    assert picked[0].source == "talks"
    with pytest.raises(IndexError):
        source.conversation(len(usable))


def test_a_stored_row_has_its_raw_value_and_what_happened_to_it(source: Source) -> None:
    stored = source.stored(4)
    assert (stored.position, stored.status, stored.raw) == (6, "kept", ROWS[6])
    assert stored.conversation == source.conversation(4)


def test_the_index_says_what_is_in_a_row(source: Source) -> None:
    row = source.index().to_pylist()[3]
    assert (row["row"], row["position"], row["row_id"], row["status"]) == (3, 5, "talks:5", "kept")
    assert (row["turns"], row["assistant_turns"], row["tool_calls"], row["repairs"]) == (4, 2, 1, [])
    assert (row["has_system"], row["has_tools"], row["has_reasoning"]) == (True, True, True)
    said = ["Be brief.", "Tide 0?", "Need the tool.", "get_tide", "port", 'Bre"st\n\\d', "4.2", "4.2 m."]
    assert row["chars"] == len("\n".join(said))


def test_figures_of_the_whole_source_are_sums_over_its_rows(source: Source) -> None:
    rows = source.index().to_pylist()
    figures = source.statistics
    assert figures.mean_turns == pytest.approx(sum(row["turns"] for row in rows) / len(rows))
    assert figures.tools_share == pytest.approx(5 / len(rows))
    assert figures.reasoning_share == pytest.approx(5 / len(rows))
    assert figures.characters == sum(row["chars"] for row in rows)


def texts(conversation: Conversation) -> str:
    return json.dumps(conversation.to_json(), ensure_ascii=False)


NUMBERS = ("row", "turns", "chars", "tool_calls", "position")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    search=st.sampled_from(
        ["", "question 1", "ÜND", "role", "user", "assistant", 'bre"st', "st\n\\d", "%", "_", "nothing of the kind", "é"]
    ),
    flags=st.dictionaries(st.sampled_from(["has_tools", "has_reasoning", "has_system"]), st.booleans(), max_size=2),
    status=st.none() | st.sampled_from(["kept", "prompt_only", ["kept", "prompt_only"], []]),
    turns=st.none() | st.integers(0, 4) | st.tuples(st.none() | st.integers(0, 5), st.none() | st.integers(0, 5)),
    sort=st.sampled_from(NUMBERS),
    descending=st.booleans(),
    offset=st.integers(0, 70),
    limit=st.integers(0, 70),
)
def test_a_page_is_what_a_filter_over_all_rows_gives(
    source: Source, search: str, flags: dict[str, bool], status: Any, turns: Any, sort: str, descending: bool, offset: int, limit: int
) -> None:
    where: dict[str, Any] = dict(flags)
    if status is not None:
        where["status"] = status
    if turns is not None:
        where["turns"] = turns

    def fits(row: dict[str, Any]) -> bool:
        conversation = source.conversation(row["row"])
        said = [part for message in conversation.messages for part in (message.content, message.reasoning_content or "")]
        said += [
            piece
            for message in conversation.messages
            for call in message.tool_calls
            for piece in (call.name, *call.arguments.values(), *call.arguments)
        ]
        low, high = turns if isinstance(turns, tuple) else (turns, turns)
        return (
            any(search.lower() in text.lower() for text in said)
            and all(row[name] is value for name, value in flags.items())
            and (status is None or row["status"] in ([status] if isinstance(status, str) else status))
            and (low is None or row["turns"] >= low)
            and (high is None or row["turns"] <= high)
        )

    wanted = [row for row in source.index().to_pylist() if fits(row)]
    wanted.sort(key=lambda row: (-row[sort] if descending else row[sort], row["row"]))
    page = source.page(search=search, where=where, sort=sort, descending=descending, offset=offset, limit=limit)
    assert page.total == len(wanted)
    assert [{key: value for key, value in row.items() if key != "excerpt"} for row in page.rows] == wanted[offset : offset + limit]


def test_rows_are_found_by_their_repairs(imported: Import) -> None:
    source = imported([talk("one"), {"messages": [{"role": "user", "content": "two"}, {"role": "assistant", "content": "x"}]}])
    assert source.page(where={"repairs": "no_such_code"}).total == 0
    assert source.page(where={"repairs": []}).total == 2


def test_a_page_shows_how_each_row_begins(source: Source) -> None:
    assert [row["excerpt"] for row in source.page(limit=3).rows] == ["Question 0 of user ", "Question 1 of user é", "Question 4 of user é"]


@pytest.mark.parametrize(
    "question",
    [
        {"sort": "row; DROP TABLE rows"},
        {"sort": "repairs"},
        {"sort": "text"},
        {"where": {'status" = status --': "x"}},
        {"where": {"has_tools": "true"}},
        {"where": {"turns": "3"}},
        {"where": {"turns": (1, 2, 3)}},
        {"where": {"turns": True}},
        {"where": {"status": 3}},
        {"where": {"repairs": [1]}},
        {"offset": -1},
        {"limit": -1},
        {"limit": 10**9},
    ],
)
def test_questions_that_make_no_sense_are_refused_with_a_sentence(source: Source, question: dict[str, Any]) -> None:
    with pytest.raises(BadQuery, match=r"\.$"):
        source.page(**question)


def test_values_are_never_part_of_the_query(source: Source) -> None:
    assert source.page(search="' OR 1=1 --").total == 0
    assert source.page(where={"status": "kept' OR '1'='1"}).total == 0


@pytest.mark.parametrize("bins", [1, 2, 7, 1000])
@pytest.mark.parametrize("column", ["turns", "chars"])
def test_a_histogram_counts_every_matching_row_once(source: Source, column: str, bins: int) -> None:
    values = [row[column] for row in source.index().to_pylist()]
    bars = source.histogram(column, bins=bins)
    assert len(bars) <= bins
    assert [bar.count for bar in bars] == [sum(bar.low <= value < bar.high for value in values) for bar in bars]
    assert sum(bar.count for bar in bars) == len(values)
    assert sum(bar.count for bar in source.histogram(column, where={"has_tools": True})) == 5
    assert source.histogram(column, search="no row has this") == []
    with pytest.raises(BadQuery):
        source.histogram("status")


def test_the_quarantine_is_paged_by_reason(source: Source) -> None:
    assert sum(source.quarantine_reasons().values()) == 2
    page = source.quarantine_page("bad_json")
    assert page.total == 1
    (row,) = page.rows
    assert (row["position"], row["excerpt"], row["raw"]) == (2, "broken {", "broken {")
    assert "line 3" in row["detail"]
    assert [row["position"] for row in source.quarantine_page().rows] == [2, 3]
    assert source.quarantine_page(offset=1, limit=1).rows[0]["raw"] == {"messages": 3}
    assert source.quarantine_page("no_such_reason").rows == []


def test_a_source_without_rows_or_without_quarantine_answers_too(imported: Import) -> None:
    empty = imported(["{broken"], name="empty")
    assert (empty.page().rows, empty.page(search="x").total, empty.histogram("turns"), empty.index().num_rows) == ([], 0, [], 0)
    whole = imported([talk("one")], name="whole")
    assert (whole.quarantine_page().rows, whole.quarantine_reasons()) == ([], {})


def test_an_accepted_source_is_no_problem_until_it_is_imported_again(imported: Import, workspace: Workspace) -> None:
    rows = [talk("one"), "broken", "broken", "broken"]
    source = imported(rows, name="bad")
    assert not source.accepted
    source.accept()
    again = Library(workspace).source("bad")
    assert (again.accepted, again.problem, again.doubt is None) == (True, None, False)
    assert Library(workspace).problems() == {}
    assert imported(rows, name="bad").problem is not None


def test_a_selection_is_what_all_its_pages_show_and_imports_to_the_same_conversations(
    imported: Import, workspace: Workspace, tmp_path: Path
) -> None:
    source = imported([talk(f"question {number} " + "x" * (number % 7), None if number % 5 == 0 else "yes") for number in range(60)])
    wanted: dict[str, Any] = {"search": "question", "where": {"status": "kept"}, "sort": "chars", "descending": True}
    chosen = list(source.selected(**wanted))
    pages = [row for offset in range(0, 60, 10) for row in source.page(**wanted, offset=offset, limit=10).rows]
    assert [row["row_id"] for row in chosen] == [row["row_id"] for row in pages]
    assert len(chosen) == 48
    path = write_rows(tmp_path / "chosen.jsonl", chosen)
    copied = import_source(workspace, "chosen", path)
    assert copied.ledger.repaired == {}
    numbers = [row["row"] for row in pages]
    assert [c.messages for c in copied.conversations(range(48))] == [c.messages for c in source.conversations(numbers)]
    with pytest.raises(BadQuery):
        source.selected(sort="nothing")


def test_languages_are_told_from_a_sample(imported: Import) -> None:
    english = talk("What is the capital of France, and how many people live there today?")
    german = talk("Schreibe bitte eine kurze Geschichte über einen Hund und eine Katze im Garten.")
    code = talk("```python\nprint(sum(range(10)))\n```", "x = 1")
    assert imported([english] * 6 + [german] * 3 + [code]).languages == {"en": 0.6, "de": 0.3, "und": 0.1}
    assert imported(["{broken"], name="none").languages == {}


def test_the_prompt_hash_of_a_row_stands_in_its_index(imported: Import) -> None:
    source = imported([talk("one"), talk("two"), talk(" one ", "another answer")])
    hashes = source.index()["prompt_hash"].to_pylist()
    assert hashes == [prompt_hash(conversation) for conversation in source.conversations(range(3))]
    assert hashes[0] == hashes[2] != hashes[1]


def test_mapped_columns_are_remembered_and_forgotten_when_asked(imported: Import) -> None:
    rows = [{"frage": f"question {number}", "antwort": "answer"} for number in range(4)]
    assert imported(rows).ledger.kept == 0
    mapped = imported(rows, columns=ColumnMap({"prompt": "frage", "response": "antwort"}))
    assert (mapped.ledger.kept, mapped.dialect, mapped.stored(0).raw) == (4, "mapped", rows[0])
    assert imported(rows, policy=Policy({"no_user": "keep"})).info["mapping"] == {"prompt": "frage", "response": "antwort"}
    assert imported([talk("other columns")]).ledger.kept == 1
    imported(rows, columns=ColumnMap({"prompt": "frage", "response": "antwort"}))
    assert imported(rows, columns=ColumnMap()).ledger.kept == 0
    assert imported(rows).ledger.kept == 0
