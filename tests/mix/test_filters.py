"""Filters over really imported rows, each against a slow check of the conversations themselves."""

import json

import numpy as np
import pytest

from core.mix import EmptySource, Measured, NoFigures, Recipe, checks_of, plan, removed_by, select, usable_rows
from core.mix.columns import finish_of
from core.mix.words import hashed_words, ngrams, repeated_share
from core.sources import Library, import_source

TOOL = {"type": "function", "function": {"name": "f", "description": "", "parameters": {"type": "object", "properties": {}}}}
LONG = "This answer was meant to go on for a while but the generation ended in the middle of the"
ROWS = [
    [("user", "hello there"), ("assistant", "Good morning.")],
    [("user", "hello again"), ("assistant", LONG)],
    [("user", "code"), ("assistant", "```py\nprint(1)")],
    [("user", "say it"), ("assistant", "no no no no no no no no no no no no.")],
    [("user", "more"), ("assistant", "One."), ("user", "and?"), ("assistant", "Two.")],
    [("user", "symbols"), ("assistant", "%%% ### !!! ((( )))")],
    [("user", "Wie geht es dir heute, mein lieber Freund und Nachbar?"), ("assistant", "Danke, es geht mir heute wirklich sehr gut.")],
    [("user", "How are you today, my dear old friend and neighbour?"), ("assistant", "Thanks, I am doing really well today indeed.")],
    [("user", "SECRET stuff"), ("assistant", "fine\x00 here")],
]


@pytest.fixture
def library(workspace, tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [{"messages": [{"role": role, "content": text} for role, text in turns]} for turns in ROWS]
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}
    rows.append(
        {"messages": [{"role": "user", "content": "call it"}, {"role": "assistant", "content": "", "tool_calls": [call]}], "tools": [TOOL]}
    )
    rows.append({"messages": [{"role": "user", "content": "think"}, {"role": "assistant", "content": "Yes.", "reasoning_content": "hm"}]})
    path.write_text("\n".join(map(json.dumps, rows)))
    import_source(workspace, "mixed", path, domain="chat")
    return Library(workspace)


def left(library, tokens=None, **changes):
    recipe = Recipe.model_validate({"target": {"path": "demo"}, "sources": [{"name": "mixed", "weight": 1}]} | changes)
    return usable_rows(recipe, library, tokens)["mixed"].rows.tolist()


EVERY = list(range(11))


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"min_turns": 3}, [4]),
        ({"max_turns": 3}, [row for row in EVERY if row != 4]),
        ({"has_tools": True}, [9]),
        ({"has_reasoning": True}, [10]),
        ({"has_reasoning": False}, EVERY[:10]),
        ({"finish": ["cut"]}, [1, 2]),
        ({"finish": ["call"]}, [9]),
        ({"finish": ["complete", "call"]}, [0, 3, 4, 5, 6, 7, 8, 9, 10]),
        ({"match": ["^hello"]}, [0, 1]),
        ({"match": ["secret"]}, [8]),
        ({"match": ["hello", "again"]}, [1]),
        ({"no_match": ["hello", r"\bsay\b"]}, [2, 4, 5, 6, 7, 8, 9, 10]),
        ({"max_nontext": 0.5}, [row for row in EVERY if row != 5]),
        ({"max_repetition": 0.2}, [row for row in EVERY if row != 3]),
        ({"languages": ["de"]}, [6]),
        ({"languages": ["en", "de"], "min_chars": 80}, [1, 6, 7]),
        ({"repetition_ngram": 3}, EVERY),
    ],
)
def test_each_filter_leaves_the_rows_it_says(library, filters, expected):
    assert left(library, filters=filters) == expected
    assert left(library, domain_filters={"chat": filters}) == expected
    assert left(library, domain_filters={"code": filters}) == EVERY
    assert left(library, sources=[{"name": "mixed", "weight": 1, "filters": filters}]) == expected


def test_characters_are_those_of_the_index(library):
    chars = library.source("mixed").index()["chars"].to_pylist()
    assert left(library, filters={"min_chars": 20, "max_chars": 40}) == [row for row in EVERY if 20 <= chars[row] <= 40]


def test_tokens_are_asked_of_the_caller(library):
    figures = Measured.sorted_by_row(EVERY, [row * 10 for row in EVERY], EVERY, EVERY)
    assert left(library, lambda _: figures, filters={"min_tokens": 30, "max_tokens": 50}) == [3, 4, 5]
    with pytest.raises(NoFigures, match="asks for tokens"):
        left(library, filters={"min_tokens": 30})


def test_rows_with_a_repair_can_be_left_out(library):
    def with_repairs(**repairs):
        return left(library, sources=[{"name": "mixed", "weight": 1, "repairs": repairs}])

    assert with_repairs(nul_removed="drop") == [row for row in EVERY if row != 8]
    assert with_repairs(nul_removed="keep", all="drop") == [row for row in EVERY if row not in dropped_by_others(library)]
    assert with_repairs(bom_removed="drop") == EVERY


def dropped_by_others(library):
    repairs = library.source("mixed").index()["repairs"].to_pylist()
    return [row for row, codes in enumerate(repairs) if set(codes) - {"nul_removed"}]


def test_every_rule_says_how_many_rows_it_removes_and_shows_ten(library):
    filters = {"max_turns": 3, "has_tools": False, "match": ["hello|more|call|think"]}
    recipe = Recipe.model_validate({"target": {"path": "demo"}, "filters": filters, "sources": [{"name": "mixed", "weight": 1}]})
    source = library.source("mixed")
    found = {entry.rule: entry for entry in removed_by(list(checks_of(recipe, source)), source)}
    assert list(found) == ["max_turns = 3", "has_tools = false", "match 'hello|more|call|think'"]
    assert [(entry.alone, entry.first, entry.scope) for entry in found.values()] == [(1, 1, "all"), (1, 1, "all"), (6, 6, "all")]
    assert found["max_turns = 3"].examples == (4,)
    made = plan(recipe, library)
    assert made.source("mixed").removed == {"max_turns = 3": 1, "has_tools = false": 1, "match 'hello|more|call|think'": 6}
    assert made.source("mixed").available == made.total == 3
    assert {row for _, row in select(recipe, made, library).train} <= {0, 1, 10}


def test_a_plan_without_a_row_left_says_which_rules_took_them(library):
    recipe = Recipe.model_validate({"target": {"path": "demo"}, "filters": {"min_turns": 99}, "sources": [{"name": "mixed", "weight": 1}]})
    with pytest.raises(EmptySource, match=r"No row of mixed is left to train on \(min_turns = 99 11\)"):
        plan(recipe, library)


def test_raising_a_filter_only_removes_rows_and_keeps_the_order_of_the_rest(library):
    def order(**filters):
        value = {"target": {"path": "demo"}, "validation": 0, "filters": filters, "sources": [{"name": "mixed", "weight": 1}]}
        recipe = Recipe.model_validate(value)
        return list(select(recipe, plan(recipe, library), library).train)

    some = order(min_chars=30)
    assert some == [entry for entry in order() if entry in some]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Paris", "complete"),
        ("- a list of many words that goes on and on and on until the end", "complete"),
        ("x = (", "cut"),
        (" ", "empty"),
        ("она сказала что это не так и что потом они все ушли домой вместе с", "cut"),
        ("```\na\n```", "complete"),
        ("这是一个很长的句子没有句号", "complete"),
    ],
)
def test_the_end_of_an_answer(text, expected):
    assert finish_of([{"role": "user", "content": "q"}, {"role": "assistant", "content": text}]) == expected


def test_ngrams_are_those_of_a_slow_count():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["a", "b", "c"], rng.integers(0, 12))) for _ in range(60)]
    words, offsets = hashed_words(texts)
    for size in (1, 2, 5):
        hashes, starts = ngrams(words, offsets, size)
        shares = repeated_share(words, offsets, size)
        named = {}
        for at, text in enumerate(texts):
            parts = text.split()
            slow = [" ".join(parts[i : i + size]) for i in range(len(parts) - size + 1)]
            mine = hashes[starts[at] : starts[at + 1]].tolist()
            assert len(mine) == len(slow)
            for value, name in zip(mine, slow, strict=True):
                assert named.setdefault(value, name) == name
            assert shares[at] == pytest.approx((len(slow) - len(set(slow))) / len(slow) if slow else 0)
        assert len(named) == len(set(named.values()))
        _, whole = ngrams(words, offsets, size, whole_short=True)
        assert np.diff(whole).tolist() == [max(len(t.split()) - size + 1, min(1, len(t.split()))) for t in texts]


def test_words_are_letters_digits_and_single_chinese_characters():
    words, offsets = hashed_words(["it's 3-fold", "漢字abc", "", "it s 3 fold"])
    assert np.diff(offsets).tolist() == [4, 3, 0, 4]
    assert words[:4].tolist() == words[-4:].tolist()


def test_a_recipe_that_differs_in_weights_alone_is_not_looked_through_again(library, monkeypatch):
    rules = {"target": {"path": "demo"}, "filters": {"min_turns": 3}}
    first = Recipe.model_validate(rules | {"sources": [{"name": "mixed", "weight": 1}]})
    assert usable_rows(first, library)["mixed"].rows.tolist() == [4]
    monkeypatch.setattr("core.mix.usable.checks_of", None)
    heavier = Recipe.model_validate(rules | {"budget": {"amount": 1}, "sources": [{"name": "mixed", "weight": 7, "max_epochs": 2}]})
    assert usable_rows(heavier, library)["mixed"].rows.tolist() == [4]
