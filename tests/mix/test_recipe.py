import pytest
from pydantic import ValidationError

from core.mix import Recipe, difference


def recipe(**changes):
    value = {"target": {"path": "demo"}, "sources": [{"name": "a", "weight": 2}, {"name": "b", "weight": 1.5}]}
    return Recipe.model_validate(value | changes)


def test_the_digest_ignores_name_order_and_spelled_out_defaults():
    same = recipe(name="other", seed=0, sources=[{"name": "b", "weight": 1.5, "max_epochs": 1}, {"name": "a", "weight": 2.0}])
    assert same.digest == recipe().digest


@pytest.mark.parametrize("change", [{"seed": 1}, {"validation": 0.1}, {"budget": {"amount": 5}}, {"target": {"path": "x"}}])
def test_the_digest_changes_with_the_content(change):
    assert recipe(**change).digest != recipe().digest


@pytest.mark.parametrize(
    "change",
    [
        {"sources": []},
        {"sources": [{"name": "a", "weight": 1}, {"name": "a", "weight": 2}]},
        {"sources": [{"name": "a", "weight": 0}]},
        {"sources": [{"name": "a", "weight": float("nan")}]},
        {"sources": [{"name": "../a", "weight": 1}]},
        {"validation": 1},
        {"validation": -0.1},
        {"budget": {"amount": 0}},
        {"unknown": 1},
        {"supervision": {"seq_length": 1}},
        {"filters": {"min_chars": 10**23}},
        {"contamination": {"boilerplate": 10**23}},
        {"contamination": {"benchmarks": [""]}},
    ],
)
def test_a_recipe_that_means_nothing_is_refused(change):
    with pytest.raises(ValidationError):
        recipe(**change)


def test_two_recipes_differ_in_readable_lines():
    new = recipe(seed=4, supervision={"thinking": "off"}, sources=[{"name": "a", "weight": 3, "max_rows": 10}, {"name": "c", "weight": 1}])
    assert difference(recipe(), new) == [
        "seed 0 → 4",
        "supervision.thinking auto → off",
        "a: weight 2 → 3",
        "a: max_rows (none) → 10",
        "- b",
        "+ c: weight 1",
    ]
    assert difference(recipe(), recipe(name="mix")) == []


def test_a_difference_in_rules_names_the_rule():
    rules = {"filters": {"min_turns": 2, "match": ["a", "b"]}, "duplicates": {"near": True}}
    source = {"name": "a", "weight": 2, "unit": "tokens", "filters": {"has_tools": True}, "repairs": {"all": "drop"}}
    new = recipe(**rules, sources=[source, {"name": "b", "weight": 1.5}, {"name": "c", "weight": 1, "filters": {"has_tools": False}}])
    assert difference(recipe(), new) == [
        "filters.min_turns (none) → 2",
        "filters.match (none) → a, b",
        "duplicates.near no → yes",
        "a: unit rows → tokens",
        "a: filters.has_tools (none) → yes",
        "a: repairs.all (none) → drop",
        "+ c: weight 1, filters.has_tools no",
    ]
