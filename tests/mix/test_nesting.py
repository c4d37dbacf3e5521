"""What stays the same when weights, budgets, filters and the order of sources change: properties of plan and selection together."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from core.mix import Recipe, Shortfall, plan, select

SIZES = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 60), min_size=1)


def recipe(weights, amount, **changes):
    sources = [{"name": name, "weight": weight, "max_epochs": 999} for name, weight in weights.items()]
    return Recipe.model_validate({"target": {"path": "demo"}, "budget": {"amount": amount}, "sources": sources} | changes)


def rows(made, library):
    selection = select(made, plan(made, library), library)
    counted = {}
    for entry in selection.train:
        counted[entry] = counted.get(entry, 0) + 1
    return list(selection.train), counted, {(entry.source, entry.row) for entry in selection.heldout}


@settings(max_examples=60)
@given(SIZES, st.data())
def test_a_source_that_gives_more_gives_all_it_gave_in_the_order_it_had(library_of, sizes, data):
    library = library_of(**sizes)
    weights = {name: data.draw(st.integers(1, 9)) for name in sizes}
    other = {name: data.draw(st.integers(1, 9)) for name in sizes}
    amounts = data.draw(st.integers(1, 150)), data.draw(st.integers(1, 150))
    validation = data.draw(st.sampled_from([0, 0.2]))
    (before, had, held), (after, has, holds) = (
        rows(recipe(w, amount, validation=validation), library) for w, amount in ((weights, amounts[0]), (other, amounts[1]))
    )
    counts = {name: plan(recipe(w, amount), library) for name, w, amount in (("old", weights, amounts[0]), ("new", other, amounts[1]))}
    for name in sizes:
        more = counts["new"].source(name).rows >= counts["old"].source(name).rows
        large, small = (has, had) if more else (had, has)
        assert all(large.get(entry, 0) >= count for entry, count in small.items() if entry[0] == name)
    # A row never changes sides, and what both mixes take stands in one order in both.
    assert not (held & has.keys()) and not (holds & had.keys())
    once = {entry for entry in had if had[entry] == 1 and has.get(entry) == 1}
    assert [entry for entry in before if entry in once] == [entry for entry in after if entry in once]


@settings(max_examples=60)
@given(SIZES, st.integers(1, 150), st.randoms(use_true_random=False))
def test_the_order_of_sources_in_the_file_changes_nothing(library_of, sizes, amount, chance):
    library = library_of(**sizes)
    weights = {name: at + 1 for at, name in enumerate(sizes)}
    turned = list(weights.items())
    chance.shuffle(turned)
    assert rows(recipe(weights, amount), library) == rows(recipe(dict(turned), amount), library)
    assert recipe(weights, amount).digest == recipe(dict(turned), amount).digest


@settings(max_examples=60)
@given(SIZES, st.integers(1, 300), st.sampled_from(["fail", "redistribute"]))
def test_a_shortfall_is_exact(library_of, sizes, amount, rule):
    library = library_of(**sizes)
    made = recipe(dict.fromkeys(sizes, 1), amount, on_shortfall=rule)
    once = Recipe.model_validate(made.model_dump() | {"sources": [{"name": name, "weight": 1} for name in sizes]})
    have = sum(sizes.values())
    try:
        planned = plan(once, library)
    except Shortfall as error:
        planned = error.plan
        assert planned.total < amount
        if rule == "redistribute":
            assert planned.total == have
        else:
            assert planned.total + sum(part.shortfall for part in planned.sources) == amount
            assert all(part.rows == sizes[part.name] for part in planned.sources if part.shortfall)
        assert f"{amount - planned.total:,}" in str(error) or rule == "redistribute"
    else:
        assert planned.total == amount
        assert amount <= have
    assert all(part.rows <= sizes[part.name] for part in planned.sources)


def test_a_selection_does_not_depend_on_when_ranks_were_worked_out(library_of):
    library = library_of(a=500, b=300)
    made = recipe({"a": 2, "b": 1}, 400, validation=0.1)
    first = rows(made, library)
    random.seed(1)
    rows(recipe({"a": 1}, 10, seed=5), library)
    assert rows(made, library) == first
