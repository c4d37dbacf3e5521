"""Weights and budgets in tokens: from estimates, and from figures of single rows, against slow sums over the rows picked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.mix import Measured, NoFigures, Recipe, Shortfall, TokenEstimate, estimate_from, plan, select
from core.mix.supply import Supply

LENGTHS = st.lists(st.integers(0, 30), min_size=1, max_size=40).filter(any)


def measured(lengths):
    rows = np.arange(len(lengths))
    return Measured.sorted_by_row(rows, lengths, [length // 2 + 1 for length in lengths], np.ones(len(lengths)))


def recipe(sources, amount=None, unit="tokens", **changes):
    entries = [{"name": name, **entry} for name, entry in sources.items()]
    value = {"target": {"path": "demo"}, "validation": 0, "budget": {"amount": amount, "unit": unit}, "sources": entries}
    return Recipe.model_validate(value | changes)


@given(LENGTHS, st.floats(0, 200))
def test_the_position_of_an_amount_is_where_the_rows_reach_it(library_of, lengths, amount):
    library = library_of(a=len(lengths))
    rows = np.arange(len(lengths))
    supply = Supply.of(library.source("a"), rows, estimate_from(measured(lengths), len(lengths)), 0, 0.0)
    at = supply.position("tokens", amount)
    assert supply.amount("tokens", int(at)) <= amount + 1e-6
    assert supply.amount("tokens", int(at) + 1) >= amount - 1e-6
    assert supply.exact(int(at))


@settings(max_examples=40)
@given(
    st.dictionaries(st.sampled_from("abcd"), st.tuples(LENGTHS, st.integers(1, 9)), min_size=1),
    st.integers(1, 300),
    st.sampled_from(["tokens", "trainable_tokens"]),
)
def test_a_token_budget_is_filled_from_below_and_its_figures_are_those_of_the_rows_picked(library_of, parts, budget, unit):
    library = library_of(**{name: len(lengths) for name, (lengths, _) in parts.items()})
    figures = {name: estimate_from(measured(lengths), len(lengths)) for name, (lengths, _) in parts.items()}
    sources = {name: {"weight": weight, "unit": unit, "max_epochs": 999} for name, (_, weight) in parts.items()}
    mix = recipe(sources, budget, unit, validation=0.2)
    try:
        made = plan(mix, library, figures.get)
    except NoFigures:
        return  # every row with a token is held out
    selection = select(mix, made, library)
    trained = {name: {"tokens": 0, "trainable_tokens": 0} for name in parts}
    for name, row in selection.train:
        trained[name]["tokens"] += parts[name][0][row]
        trained[name]["trainable_tokens"] += parts[name][0][row] // 2 + 1
    for part in made.sources:
        assert part.exact
        assert (part.tokens, part.trainable_tokens) == (trained[part.name]["tokens"], trained[part.name]["trainable_tokens"])
    total = sum(source[unit] for source in trained.values())
    assert budget - 31 * len(parts) < total <= budget
    everything = sum(weight for _, weight in parts.values())
    for name, (_, weight) in parts.items():
        assert abs(trained[name][unit] - total * weight / everything) <= 31 * len(parts) + 31


@settings(max_examples=40)
@given(st.lists(LENGTHS, min_size=2, max_size=4), st.integers(1, 200), st.integers(0, 200))
def test_a_higher_token_budget_only_adds_rows(library_of, lengths, budget, more):
    names = [f"s{at}" for at in range(len(lengths))]
    library = library_of(**{name: len(one) for name, one in zip(names, lengths, strict=True)})
    figures = {name: estimate_from(measured(one), len(one)) for name, one in zip(names, lengths, strict=True)}
    sources = {name: {"weight": at + 1, "unit": "tokens", "max_epochs": 999} for at, name in enumerate(names)}
    small, large = (plan(recipe(sources, amount), library, figures.get) for amount in (budget, budget + more))
    assert all(small.source(name).rows <= large.source(name).rows for name in names)


@given(
    st.dictionaries(
        st.sampled_from("abcd"), st.tuples(st.floats(1, 500), st.integers(1, 9), st.sampled_from(["rows", "tokens"])), min_size=1
    ),
    st.integers(1, 5000),
)
def test_mixed_units_fill_a_row_budget_exactly_and_give_what_each_weight_weighs(library_of, parts, budget):
    library = library_of(**dict.fromkeys(parts, 100))
    figures = {name: TokenEstimate(tokens, tokens / 2) for name, (tokens, _, _) in parts.items()}
    sources = {name: {"weight": weight, "unit": unit, "max_epochs": 99999} for name, (_, weight, unit) in parts.items()}
    made = plan(recipe(sources, budget, "rows"), library, figures.get)
    assert made.total == budget
    levels = []
    for name, (tokens, weight, unit) in parts.items():
        one = 1 if unit == "rows" else tokens
        levels.append(((made.source(name).rows - 1) * one / weight, (made.source(name).rows + 1) * one / weight))
    assert max(low for low, _ in levels) <= min(high for _, high in levels) + 1e-6


def test_equal_weights_in_tokens_give_equal_token_shares(library_of):
    figures = {"a": TokenEstimate(100, 50, tokens_error=0.1), "b": TokenEstimate(400, 100, tokens_error=0.02)}
    sources = {name: {"weight": 1, "unit": "tokens"} for name in "ab"}
    made = plan(recipe(sources, 40_000), library_of(a=1000, b=1000), figures.get)
    assert [(part.rows, part.tokens) for part in made.sources] == [(200, 20_000), (50, 20_000)]
    assert made.share_unit == "tokens"
    assert made.source("a").share_requested == made.source("a").share_realised == 0.5
    assert made.source("a").shares["rows"].realised == pytest.approx(0.8)
    assert made.source("a").shares["trainable_tokens"].requested == pytest.approx(10_000 / 15_000)
    assert (made.source("a").tokens_error, made.source("a").exact) == (0.1, False)
    assert made.tokens_error == pytest.approx((2000**2 + 400**2) ** 0.5 / 40_000)


def test_a_token_budget_without_an_amount_takes_the_scarcest_source_whole(library_of):
    figures = {"a": TokenEstimate(100, 50), "b": TokenEstimate(400, 100)}
    made = plan(recipe({name: {"weight": 1, "unit": "tokens"} for name in "ab"}), library_of(a=1000, b=1000), figures.get)
    assert [part.rows for part in made.sources] == [1000, 250]


def test_a_token_shortfall_says_how_many_tokens_and_can_be_redistributed(library_of):
    figures = {"a": TokenEstimate(100, 50), "b": TokenEstimate(400, 100)}
    sources = {name: {"weight": 1, "unit": "tokens"} for name in "ab"}
    library = library_of(a=10, b=1000)
    with pytest.raises(Shortfall, match=r"19,000 tokens short of 40,000: a lacks 190 of 200 rows \(10 rows × max_epochs = 1\)") as error:
        plan(recipe(sources, 40_000), library, figures.get)
    assert error.value.plan.source("a").shortfall_tokens == 19_000
    made = plan(recipe(sources, 40_000, on_shortfall="redistribute"), library, figures.get)
    assert [(part.rows, part.tokens) for part in made.sources] == [(10, 1000), (97, 38_800)]
    with pytest.raises(Shortfall, match="All sources give 401,000 of the 500,000 tokens"):
        plan(recipe(sources, 500_000, on_shortfall="redistribute"), library, figures.get)


def test_tokens_that_nobody_measured_cannot_be_weighed(library_of):
    with pytest.raises(NoFigures, match="nobody has measured"):
        plan(recipe({"a": {"weight": 1, "unit": "tokens"}}), library_of(a=10))
    with pytest.raises(NoFigures, match="every row refused"):
        plan(recipe({"a": {"weight": 1, "unit": "tokens"}}), library_of(a=10), {"a": TokenEstimate(0, 0)}.get)


def test_an_estimate_states_its_error_and_has_none_once_every_row_is_known():
    rng = np.random.default_rng(0)
    lengths = rng.integers(10, 1000, 10_000)
    off = []
    for _ in range(300):
        sample = rng.choice(lengths, 48, replace=False)
        estimate = estimate_from(measured(sample.tolist()), 10_000)
        off.append(abs(estimate.tokens / lengths.mean() - 1) <= estimate.tokens_error)
    assert 0.88 <= np.mean(off) <= 1
    assert estimate_from(measured(lengths.tolist()), 10_000).tokens_error == 0


def test_rows_that_are_known_in_part_are_exact_as_far_as_they_go(library_of):
    library = library_of(a=100)
    source = library.source("a")
    from core.mix.ranking import ranked

    first = ranked(source, np.arange(100), 0)[:40]
    some = Measured.sorted_by_row(first, np.full(40, 7), np.full(40, 3), np.ones(40))
    supply = Supply.of(source, np.arange(100), estimate_from(some, 100), 0, 0.0)
    assert supply.exact(40)
    assert not supply.exact(41)
    assert supply.amount("tokens", 40) == 280


def test_newer_figures_replace_older_ones():
    old, new = Measured.sorted_by_row([3, 1], [30, 10], [3, 1], [1, 1]), Measured.sorted_by_row([2, 3], [20, 31], [2, 3], [1, 2])
    both = old.merged(new)
    assert (both.row.tolist(), both.tokens.tolist(), both.training_rows.tolist()) == ([1, 2, 3], [10, 20, 31], [1, 1, 2])
