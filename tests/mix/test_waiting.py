"""What a plan would have to work out first, on real imports."""

import json

import pytest

from core.mix import Recipe, usable_rows, waiting_for, without_waiting
from core.sources import Library, import_source


@pytest.fixture
def library(workspace, tmp_path):
    rows = [
        {"messages": [{"role": "user", "content": f"Tell me about the number {row % 8}."}, {"role": "assistant", "content": "It is fine."}]}
        for row in range(12)
    ]
    origin = tmp_path / "a.jsonl"
    origin.write_text("".join(json.dumps(row) + "\n" for row in rows))
    import_source(workspace, "a", origin)
    (tmp_path / "exam.jsonl").write_text(json.dumps({"question": "nothing of it stands in any row that is here"}) + "\n")
    return Library(workspace)


def recipe(**changes):
    return Recipe.model_validate({"target": {"path": "t"}, "sources": [{"name": "a", "weight": 1}]} | changes)


def test_rules_over_the_index_wait_for_nothing(library):
    assert not waiting_for(recipe(), library)
    assert not waiting_for(recipe(filters={"min_turns": 2, "has_tools": False}), library)


@pytest.mark.parametrize(
    "rules",
    [
        {"filters": {"finish": ["complete"]}},
        {"filters": {"match": ["number [0-3]"], "max_nontext": 0.5}},
        {"domain_filters": {"other": {"max_repetition": 0.5}}},
        {"duplicates": {"exact": True}},
    ],
)
def test_what_nobody_worked_out_is_waited_for_and_left_out_until_somebody_did(library, rules):
    made = recipe(**rules)
    waiting = waiting_for(made, library)
    assert waiting and waiting.words()
    plain = without_waiting(made, waiting)
    assert not waiting_for(plain, library)
    assert usable_rows(plain, library)["a"].count == 12
    usable_rows(made, library)
    assert not waiting_for(made, library)
    assert without_waiting(made, waiting_for(made, library)) == made


def test_benchmarks_are_compared_again_when_their_file_changes(library, tmp_path):
    made = recipe(contamination={"benchmarks": [str(tmp_path / "exam.jsonl")]})
    assert waiting_for(made, library).contamination
    usable_rows(made, library)
    assert not waiting_for(made, library)
    (tmp_path / "exam.jsonl").write_text(json.dumps({"question": "another text, longer than it was before, with other words in it"}) + "\n")
    assert waiting_for(made, library).words() == ["matches with benchmarks"]


def test_tokens_wait_until_all_are_known(library):
    made = recipe(filters={"max_tokens": 100})
    assert waiting_for(made, library).figures == {"a": ("tokens",)}
    assert not waiting_for(made, library, lambda source: True)


def test_a_filter_that_is_known_stays_while_duplicates_wait(library):
    made = recipe(filters={"min_turns": 3}, duplicates={"near": True})
    plain = without_waiting(made, waiting_for(made, library))
    assert plain.filters == made.filters and not plain.duplicates.asks
