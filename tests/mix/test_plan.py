import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.mix import EmptyLibrary, EmptySource, Recipe, Shortfall, SpoiltSource, TokenEstimate, plan, recipe_for
from core.mix.apportion import largest_remainder, redistribute
from core.sources import SourceMissing

WEIGHTS = st.lists(st.floats(0.01, 1000, allow_nan=False).map(lambda value: round(value, 2)), min_size=1, max_size=8)


def recipe(weights, amount=None, **changes):
    sources = [{"name": name, "weight": weight} for name, weight in weights.items()]
    return Recipe.model_validate({"target": {"path": "demo"}, "budget": {"amount": amount}, "sources": sources} | changes)


@given(WEIGHTS, st.integers(1, 10_000))
def test_counts_sum_to_the_budget_and_stand_within_one_row_of_the_share(weights, budget):
    exact = {f"s{at}": Fraction(str(weight)) for at, weight in enumerate(weights)}
    counts = largest_remainder(exact, budget)
    assert sum(counts.values()) == budget
    assert all(abs(counts[name] - budget * weight / sum(exact.values())) < 1 for name, weight in exact.items())


@given(WEIGHTS, st.integers(1, 1000), st.floats(1, 100).map(lambda value: round(value, 2)))
def test_raising_one_weight_never_takes_rows_from_it(weights, budget, more):
    exact = {f"s{at}": Fraction(str(weight)) for at, weight in enumerate(weights)}
    raised = exact | {"s0": exact["s0"] + Fraction(str(more))}
    assert largest_remainder(raised, budget)["s0"] >= largest_remainder(exact, budget)["s0"]


@given(WEIGHTS, st.integers(1, 1000), st.integers(1, 1000))
def test_a_higher_budget_takes_rows_only_where_it_adds_less_than_one(weights, budget, more):
    exact = {f"s{at}": Fraction(str(weight)) for at, weight in enumerate(weights)}
    small, large = largest_remainder(exact, budget), largest_remainder(exact, budget + more)
    for name, weight in exact.items():
        lost = small[name] - large[name]
        assert lost <= 0 or (lost == 1 and more * weight < sum(exact.values()))


@given(WEIGHTS, st.data())
def test_redistributing_gives_all_that_the_caps_allow(weights, data):
    exact = {f"s{at}": Fraction(str(weight)) for at, weight in enumerate(weights)}
    caps = {name: data.draw(st.integers(0, 200)) for name in exact}
    budget = data.draw(st.integers(0, 400))
    counts = redistribute(exact, caps, budget)
    assert sum(counts.values()) == min(budget, sum(caps.values()))
    assert all(0 <= counts[name] <= caps[name] for name in exact)
    free = [name for name in exact if counts[name] < caps[name]]
    for a in free:
        for b in free:
            assert abs(counts[a] / exact[a] - counts[b] / exact[b]) <= 1 / exact[a] + 1 / exact[b]


@given(WEIGHTS, st.integers(1, 500), st.randoms())
def test_the_order_of_sources_in_the_file_does_not_matter(weights, budget, random):
    exact = {f"s{at}": Fraction(str(weight)) for at, weight in enumerate(weights)}
    shuffled = list(exact.items())
    random.shuffle(shuffled)
    assert largest_remainder(dict(shuffled), budget) == largest_remainder(exact, budget)


def test_the_plan_shows_requested_and_realised(library_of):
    made = plan(recipe({"b": 1, "a": 2}, 10), library_of(a=100, b=100))
    assert [(part.name, part.rows, part.available) for part in made.sources] == [("a", 7, 100), ("b", 3, 100)]
    assert made.total == 10
    assert made.source("a").share_requested == pytest.approx(2 / 3)
    assert made.source("a").share_realised == pytest.approx(0.7)
    assert made.source("b").epochs == pytest.approx(0.03)
    value = made.to_json()
    assert value["total"] == 10
    assert value["tokens"] is None
    assert {"name", "rows", "epochs", "share_requested", "share_realised", "tokens", "trainable_tokens"} <= set(value["sources"][0])


@given(st.dictionaries(st.sampled_from("abcde"), st.tuples(st.integers(1, 300), st.integers(1, 50)), min_size=1))
def test_without_a_budget_the_total_is_the_largest_that_overruns_no_source(library_of, parts):
    made = plan(
        recipe({name: weight for name, (_, weight) in parts.items()}), library_of(**{name: rows for name, (rows, _) in parts.items()})
    )
    assert all(part.rows <= part.available for part in made.sources)
    everything = sum(weight for _, weight in parts.values())
    assert any((made.total + 1) * weight / everything > parts[name][0] for name, (_, weight) in parts.items())


def test_proportional_weights_without_a_budget_take_every_row(library_of):
    made = plan(recipe({"a": 150, "b": 171, "c": 3}), library_of(a=150, b=171, c=3))
    assert [part.rows for part in made.sources] == [150, 171, 3]


def test_a_shortfall_fails_by_default_and_says_by_how_much(library_of):
    with pytest.raises(Shortfall, match=r"short of 100: b lacks 30 of 50 rows \(20 rows × max_epochs = 1\)") as error:
        plan(recipe({"a": 1, "b": 1}, 100), library_of(a=100, b=20))
    assert [part.shortfall for part in error.value.plan.sources] == [0, 30]
    assert error.value.exit_code == 2


def test_a_shortfall_can_be_redistributed(library_of):
    made = plan(recipe({"a": 1, "b": 1, "c": 2}, 100, on_shortfall="redistribute"), library_of(a=100, b=10, c=100))
    assert [part.rows for part in made.sources] == [30, 10, 60]
    assert made.source("b").shortfall == 15
    assert made.source("b").share_realised == pytest.approx(0.1)


def test_redistributing_more_than_there_is_fails_too(library_of):
    with pytest.raises(Shortfall, match="give 110 of the 111 rows"):
        plan(recipe({"a": 1, "b": 1}, 111, on_shortfall="redistribute"), library_of(a=100, b=10))


def test_epoch_and_row_caps_bind(library_of):
    sources = [{"name": "a", "weight": 1, "max_epochs": 2.5}, {"name": "b", "weight": 1, "max_rows": 5}]
    made = plan(recipe({}, 30, sources=sources, on_shortfall="redistribute"), library_of(a=10, b=100))
    assert [(part.rows, part.epochs) for part in made.sources] == [(25, 2.5), (5, 0.05)]
    assert made.source("b").limit == "max_rows = 5"


def test_a_source_without_a_row_to_train_on_is_named(library_of, sized):
    library = library_of(sized("gsm8k", 0, prompt_only=150), sized("a", 5))
    with pytest.raises(EmptySource, match=r"gsm8k has no row to train on \(150 rows have prompts only"):
        plan(recipe({"a": 1, "gsm8k": 1}), library)
    assert plan(recipe({"a": 1, "gsm8k": 0}), library).total == 5


def test_a_source_that_lost_most_of_its_rows_is_an_error(library_of, sized):
    library = library_of(sized("bad", 5, problem="Only 5 of 100 rows could be used; main reasons: bad_json (95)."), sized("a", 5))
    with pytest.raises(SpoiltSource, match=r"The source bad cannot be mixed as it is\. Only 5 of 100"):
        plan(recipe({"a": 1, "bad": 1}), library)
    assert [source.name for source in recipe_for(library, "m", "demo").sources] == ["a"]


def test_unknown_sources_and_an_empty_library_are_input_errors(library_of):
    with pytest.raises(SourceMissing):
        plan(recipe({"nowhere": 1}), library_of(a=1))
    with pytest.raises(EmptyLibrary, match="import one"):
        plan(recipe({"a": 1}), library_of())


def test_token_figures_come_from_the_estimate(library_of):
    figures = {"a": TokenEstimate(12.5, 4.0), "b": None}
    made = plan(recipe({"a": 1, "b": 1}, 20, validation=0), library_of(a=10, b=10), figures.get)
    assert (made.source("a").tokens, made.source("a").trainable_tokens, made.source("b").tokens) == (125, 40, None)
    assert made.to_json()["tokens"] is None
    assert plan(recipe({"a": 1}, 10, validation=0), library_of(a=10), figures.get).to_json()["tokens"] == 125


def test_weights_are_exact_decimals(library_of):
    made = plan(recipe({"a": 0.1, "b": 0.2, "c": 0.7}, 10), library_of(a=10, b=10, c=10))
    assert [part.rows for part in made.sources] == [1, 2, 7]
    assert math.isclose(sum(part.share_realised for part in made.sources), 1)
