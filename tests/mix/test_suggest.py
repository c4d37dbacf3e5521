"""A suggested recipe is bounded, damped, explained and the same every time; nothing is starved, and the mix keeps its size."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.mix import Recipe
from core.mix.suggest import BOUND, FLOOR, MAX_EPOCHS, Accepted, Given, NothingToSuggest, suggest


def recipe_of(weights: dict[str, float], **settings: object) -> Recipe:
    return Recipe.model_validate(
        {
            "name": "old",
            "target": {"path": "t"},
            "sources": [{"name": name, "weight": weight} for name, weight in weights.items()],
            **settings,
        }
    )


def shares_of(recipe: Recipe) -> dict[str, float]:
    total = sum(entry.weight for entry in recipe.sources)
    return {entry.name: entry.weight / total for entry in recipe.sources}


mixes = st.lists(st.tuples(st.floats(0.01, 1000), st.floats(1, 16), st.integers(0, 60), st.integers(1, 5000)), min_size=2, max_size=12).map(
    lambda rows: {f"s{number}": row for number, row in enumerate(rows)}
)


@given(mixes)
def test_shares_sum_to_one_stay_within_the_bound_and_above_the_floor(mix: dict[str, tuple[float, float, int, int]]) -> None:
    old = recipe_of({name: row[0] for name, row in mix.items()})
    accepted = {name: Accepted(row[1], row[2]) for name, row in mix.items()}
    if sum(found.prompts > 0 for found in accepted.values()) < 2:
        with pytest.raises(NothingToSuggest, match="takes two"):
            suggest(old, accepted)
        return
    found = suggest(old, accepted)
    was, now = shares_of(old), {one.name: one.suggested_share for one in found.sources}
    assert math.isclose(sum(now.values()), 1, abs_tol=1e-9)
    for name, share in now.items():
        assert was[name] / BOUND * 0.999999 <= share <= was[name] * BOUND * 1.000001
        assert share >= min(was[name], FLOOR) * 0.999999
        if not accepted[name].prompts:
            assert math.isclose(share, was[name])
    # What is written has the digits a person writes: four.
    for name, share in shares_of(found.recipe).items():
        assert math.isclose(share, now[name], rel_tol=0.01)
    assert found == suggest(old, dict(reversed(accepted.items())))


@given(mixes)
def test_of_two_sources_with_as_many_prompts_the_one_further_behind_is_never_given_less(
    mix: dict[str, tuple[float, float, int, int]],
) -> None:
    found = suggest(
        recipe_of({name: row[0] for name, row in mix.items()}), {name: Accepted(row[1], 10) for name, row in mix.items()}, floor=0
    )
    gains = [(one.accepted.length, one.suggested_share / one.share) for one in found.sources if one.accepted]
    for length, gain in gains:
        for other_length, other_gain in gains:
            if length < other_length:
                assert gain >= other_gain - 1e-6


@given(mixes)
def test_the_mix_keeps_its_size_and_no_row_is_used_more_than_twice(mix: dict[str, tuple[float, float, int, int]]) -> None:
    old = recipe_of({name: row[0] for name, row in mix.items()})
    had = {name: Given(row[3], row[3], row[3] * 80) for name, row in mix.items()}
    found = suggest(old, {name: Accepted(row[1], 5) for name, row in mix.items()}, had)
    assert found.recipe.budget.amount == sum(row[3] for row in mix.values())
    for entry in found.recipe.sources:
        assert 1 <= entry.max_epochs <= MAX_EPOCHS


def test_a_source_that_lags_gets_more_and_the_reason_says_what_it_costs() -> None:
    old = recipe_of({"chat": 60, "math": 20, "tools": 20})
    had = {"chat": Given(600, 6000, 60_000), "math": Given(200, 200, 40_000), "tools": Given(200, 900, 10_000)}
    found = suggest(old, {"chat": Accepted(4.0, 20), "math": Accepted(2.0, 20), "tools": Accepted(5.0, 20)}, had, name="new")
    worst = found.sources[0]
    assert worst.name == "math" and worst.lags and worst.suggested_rows is not None and worst.suggested_rows > 200
    assert "2.00 tokens per round, 47% below the mean of 3.80 (20 prompts): share 20.0% → " in worst.reason
    assert "conversations, +" in worst.reason
    assert found.recipe.name == "new" and old.name == "old"
    math_entry = found.recipe.source("math")
    assert math_entry is not None and math_entry.max_epochs == 1.2 and math_entry.weight > 20
    assert any(line.startswith("math: weight 20 → ") for line in found.changes)
    assert any(line == "budget.amount (none) → 1000" for line in found.changes)
    assert any("size stays at 1,000 conversations" in note for note in found.notes)


def test_few_prompts_move_little() -> None:
    old = recipe_of({"a": 1, "b": 1})
    few, many = (suggest(old, {"a": Accepted(2, prompts), "b": Accepted(4, prompts)}).sources[0] for prompts in (1, 200))
    assert old.sources[0].name == few.name == many.name == "a"
    assert 0.5 < few.suggested_share < many.suggested_share < 0.6


def test_equal_acceptance_changes_nothing() -> None:
    old = recipe_of({"a": 3, "b": 1})
    found = suggest(old, {"a": Accepted(3, 9), "b": Accepted(3, 9)})
    assert found.changes == [] and not any(one.lags for one in found.sources)


def test_a_source_that_has_no_more_rows_is_named() -> None:
    old = recipe_of({"small": 1, "large": 9}, budget={"amount": 1000})
    had = {"small": Given(100, 50, 1000), "large": Given(900, 9000, 9000)}
    old = old.model_copy(update={"sources": tuple(entry.model_copy(update={"max_epochs": 2.0}) for entry in old.sources)})
    found = suggest(old, {"small": Accepted(1.5, 50), "large": Accepted(6, 50)}, had)
    assert any("small has only 50 rows" in note and "import more" in note for note in found.notes)
    assert found.recipe.on_shortfall == "redistribute"


@pytest.mark.parametrize("rows", [217, 218, 219, 640])
def test_rows_that_are_used_again_suffice_whichever_way_the_plan_rounds_a_share(rows: int) -> None:
    old = recipe_of({"slow": rows, "quick": 3 * rows})
    accepted = {"slow": Accepted(2.0, 40), "quick": Accepted(3.0, 40)}
    given_rows = {"slow": Given(rows, rows, 1), "quick": Given(3 * rows, 3 * rows, 1)}
    made = suggest(old, accepted, given_rows).recipe
    (slow,) = (entry for entry in made.sources if entry.name == "slow")
    assert slow.max_epochs < MAX_EPOCHS
    assert math.floor(slow.max_epochs * rows) >= math.floor(4 * rows * shares_of(made)["slow"]) + 1
