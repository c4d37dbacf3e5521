"""Planted duplicates against a slow comparison of every pair of rows."""

import json
import random
from itertools import combinations

import pytest

from core.mix import Recipe, duplicate_groups, plan, select, usable_rows
from core.mix.minhash import PERMUTATIONS, band_rows
from core.mix.words import WORD
from core.sources import Library, import_source

VOCABULARY = [
    f"{a}{b}" for a in ("ka", "lo", "mi", "nu", "re", "so", "ta", "ve") for b in ("den", "fal", "gor", "hin", "jus", "kel", "lam", "mon")
]


def overlap(one: str, other: str, size: int) -> float:
    """Jaccard overlap of word shingles, the slow way."""
    a, b = (
        {tuple(words[i : i + size]) for i in range(max(len(words) - size + 1, 1))}
        for words in (WORD.findall(t.lower()) for t in (one, other))
    )
    return len(a & b) / len(a | b)


def edited(chance: random.Random, text: str, edits: int) -> str:
    words = text.split()
    for _ in range(edits):
        words[chance.randrange(len(words))] = chance.choice(VOCABULARY)
    return " ".join(words)


@pytest.fixture
def add(workspace, tmp_path):
    def build(name, texts):
        path = tmp_path / f"{name}.jsonl"
        rows = [text if isinstance(text, list) else [("user", text), ("assistant", "ok")] for text in texts]
        path.write_text("\n".join(json.dumps({"messages": [{"role": r, "content": c} for r, c in row]}) for row in rows))
        import_source(workspace, name, path, domain="chat")
        return Library(workspace)

    return build


def recipe(*names, **changes):
    duplicates = changes.pop("duplicates", {})
    sources = [{"name": name, "weight": 1, "max_epochs": 1} for name in names]
    return Recipe.model_validate({"target": {"path": "demo"}, "validation": 0, "duplicates": duplicates, "sources": sources} | changes)


def test_near_duplicates_are_found_as_a_slow_comparison_of_all_pairs_finds_them(add):
    chance = random.Random(3)
    texts = [" ".join(chance.choices(VOCABULARY, k=chance.randint(60, 140))) for _ in range(120)]
    planted = [edited(chance, chance.choice(texts), chance.randint(0, 4)) for _ in range(200)]
    half = len(planted) // 2
    library = add("a", texts + planted[:half])
    library = add("b", planted[half:])
    every = [("a", row, text) for row, text in enumerate(texts + planted[:half])] + [
        ("b", row, text) for row, text in enumerate(planted[half:])
    ]
    # What is read in the row includes the answer.
    true = {(one[:2], other[:2]) for one, other in combinations(every, 2) if overlap(one[2] + " ok", other[2] + " ok", 5) >= 0.8}
    groups = duplicate_groups(recipe("a", "b", duplicates={"near": True}), library)
    joined = {}
    for number, source, row in zip(groups.group.tolist(), groups.source.tolist(), groups.row.tolist(), strict=True):
        joined[groups.names[source], row] = number
    linked = {(one[:2], other[:2]) for one, other in combinations(every, 2) if joined.get(one[:2], -1) == joined.get(other[:2], -2)}
    assert len(true) > 100
    assert len(true & linked) / len(true) >= 0.95
    # Rows of a group are linked through others of it; each has one it truly resembles.
    rightly = {row for pair in true for row in pair}
    assert len(rightly & joined.keys()) / len(joined) >= 0.95
    assert duplicate_groups(recipe("b", "a", duplicates={"near": True}), library).group.tolist() == groups.group.tolist()


def test_exact_duplicates_are_those_that_differ_in_case_and_space_only(add):
    library = add(
        "a", ["Hello  World", "hello world", "hello, world", "other", [("system", "hello"), ("user", "world"), ("assistant", "ok")]]
    )
    groups = duplicate_groups(recipe("a", duplicates={"exact": True}), library)
    assert [group.rows for group in groups.page()] == [(("a", 0), ("a", 1))]
    assert groups.page()[0].exact
    assert usable_rows(recipe("a", duplicates={"exact": True}), library)["a"].rows.tolist() == [0, 2, 3, 4]


def test_the_same_text_with_other_tools_is_no_exact_duplicate(workspace, tmp_path):
    def tool(name):
        return {"type": "function", "function": {"name": name, "description": "", "parameters": {"type": "object", "properties": {}}}}

    path = tmp_path / "t.jsonl"
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    rows = [{"messages": said, "tools": [tool(name)]} for name in ("f", "g", "f")]
    path.write_text("\n".join(map(json.dumps, rows)))
    import_source(workspace, "t", path)
    groups = duplicate_groups(recipe("t", duplicates={"exact": True}), Library(workspace))
    assert [group.rows for group in groups.page()] == [(("t", 0), ("t", 2))]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({}, ([0, 2, 3], [1])),
        ({"prefer": ["b"]}, ([2, 3], [0, 1])),
        ({"within": False}, ([0, 1, 2, 3], [1])),
        ({"within": False, "prefer": ["b", "a"]}, ([2, 3], [0, 1, 2])),
        ({"across": False}, ([0, 2, 3], [0, 1])),
        ({"within": False, "across": False}, ([0, 1, 2, 3], [0, 1, 2])),
    ],
)
def test_one_row_of_a_group_stays_by_the_order_of_preference(add, rules, expected):
    add("a", ["same thing", "Same thing", "two", "three"])
    library = add("b", ["same  thing", "four", "SAME thing"])
    usable = usable_rows(recipe("a", "b", duplicates={"exact": True} | rules), library)
    assert tuple(usable[name].rows.tolist() for name in "ab") == expected
    assert usable["a"].removed == ({"duplicates": 4 - len(expected[0])} if len(expected[0]) < 4 else {})


def test_a_row_never_goes_for_one_that_is_not_used_itself(add):
    add("a", ["same thing", "two"])
    library = add("b", ["same thing", "four"])
    rules = {"duplicates": {"exact": True}}
    # A filter takes the preferred one.
    value = recipe("a", "b", **rules).model_dump(mode="json")
    value["sources"][0]["filters"] = {"no_match": ["same"]}
    assert usable_rows(Recipe.model_validate(value), library)["b"].rows.tolist() == [0, 1]
    # A source without weight takes nothing from others.
    value = recipe("a", "b", **rules).model_dump(mode="json")
    value["sources"][0]["weight"] = 0
    assert usable_rows(Recipe.model_validate(value), library)["b"].rows.tolist() == [0, 1]


def test_duplicates_of_a_held_out_row_leave_training_even_where_sources_may_share_rows(add):
    chance = random.Random(5)
    texts = [" ".join(chance.choices(VOCABULARY, k=80)) for _ in range(60)]
    add("a", texts)
    library = add("b", [edited(chance, text, 1) for text in texts])  # another prompt, so another hash
    mix = recipe("a", "b", validation=0.3, duplicates={"near": True, "across": False})
    selection = select(mix, plan(mix, library), library)
    held = {entry.row for entry in selection.heldout}
    assert held
    assert not held & {row for _, row in selection.train}
    plain = recipe("a", "b", validation=0.3)
    selection = select(plain, plan(plain, library), library)
    assert {entry.row for entry in selection.heldout} & {row for _, row in selection.train}


def test_groups_are_found_once_and_looked_at_page_by_page(add, workspace, monkeypatch):
    library = add("a", ["x y z", "x y z", "x y z", "p q", "p q", "r"])
    mix = recipe("a", duplicates={"exact": True})
    groups = duplicate_groups(mix, library)
    assert (groups.count, groups.rows) == (2, 5)
    assert [len(group.rows) for group in groups.page(limit=1)] == [3]
    assert [len(group.rows) for group in groups.page(offset=1)] == [2]
    assert groups.page(source="nowhere") == []
    assert groups.between() == {("a", "a"): 2}
    monkeypatch.setattr("core.mix.duplicates.find_groups", None)
    assert duplicate_groups(mix, library).row.tolist() == groups.row.tolist()


def test_rows_without_words_are_no_duplicates_of_each_other(add):
    library = add("a", [[("user", "!"), ("assistant", "?")], [("user", "…"), ("assistant", "%")]])
    assert duplicate_groups(recipe("a", duplicates={"near": True}), library).count == 0


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0])
def test_bands_are_as_wide_as_recall_allows(threshold):
    width = band_rows(threshold)
    assert 1 - (1 - threshold**width) ** (PERMUTATIONS // width) >= 0.99 or width == 1
