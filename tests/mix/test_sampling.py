from collections import Counter
from itertools import pairwise

import pytest

from core.conversation import Conversation, Message
from core.mix import Recipe, plan, prompt_hash, select


def recipe(weights, amount=None, **changes):
    sources = [{"name": name, "weight": weight, "max_epochs": 9} for name, weight in weights.items()]
    value = {"target": {"path": "demo"}, "validation": 0, "budget": {"amount": amount}, "sources": sources}
    return Recipe.model_validate(value | changes)


def chosen(made, library):
    return select(made, plan(made, library), library)


def test_the_same_recipe_gives_the_same_sequence_whatever_the_order_in_the_file(library_of):
    library = library_of(a=100, b=50)
    first = list(chosen(recipe({"a": 2, "b": 1}, 60), library).train)
    assert first == list(chosen(recipe({"b": 1, "a": 2}, 60), library).train)
    assert first != list(chosen(recipe({"a": 2, "b": 1}, 60, seed=1), library).train)
    assert Counter(name for name, _ in first) == {"a": 40, "b": 20}


def test_a_higher_budget_or_weight_only_adds_rows_and_keeps_the_order(library_of):
    library = library_of(a=100, b=100)
    small, large = (list(chosen(recipe({"a": 1, "b": 1}, amount), library).train) for amount in (40, 90))
    assert set(small) < set(large)
    assert [entry for entry in large if entry in set(small)] == small
    heavier = list(chosen(recipe({"a": 3, "b": 1}, 40), library).train)
    assert {entry for entry in small if entry[0] == "a"} < set(heavier)


def test_epochs_are_whole_copies_plus_a_ranked_remainder(library_of):
    library = library_of(a=10)
    train = Counter(chosen(recipe({"a": 1}, 23), library).train)
    assert sorted(train.values()) == [2] * 7 + [3] * 3
    remainder = {entry for entry, count in train.items() if count == 3}
    assert remainder == set(chosen(recipe({"a": 1}, 3), library).train)


def test_the_order_is_a_shuffle_of_sources(library_of):
    names = [name for name, _ in chosen(recipe({"a": 1, "b": 1}, 400), library_of(a=200, b=200)).train]
    changes = sum(one != other for one, other in pairwise(names))
    assert 150 < changes < 250


def test_row_ids_stand_beside_their_rows(library_of):
    selection = chosen(recipe({"a": 1, "b": 1}, 20, validation=0.3), library_of(a=30, b=30))
    assert [f"{name}:{row}" for name, row in selection.train] == selection.row_id.to_pylist()
    assert len(selection) == len(list(selection.train))
    assert all(entry.row_id == f"{entry.source}:{entry.row}" for entry in selection.heldout)


def test_a_prompt_never_stands_on_both_sides_across_sources_and_epochs(library_of, sized):
    prompts = [f"question  {number}" for number in range(40)]
    library = library_of(sized("a", 100, prompts=prompts), sized("b", 60, prompts=[p.replace("  ", "\n") + " " for p in prompts]))
    selection = chosen(recipe({"a": 2, "b": 1}, 300, validation=0.25), library)

    def asked(entries):
        return {row % 40 for _, row in entries}

    held = [(entry.source, entry.row) for entry in selection.heldout]
    assert held
    assert len(held) == len(set(held))
    assert not asked(held) & asked(selection.train)
    assert set(held) | set(selection.train) == {("a", row) for row in range(100)} | {("b", row) for row in range(60)}


def test_a_held_out_prompt_stays_held_out_under_another_seed_share_and_budget(library_of):
    library = library_of(a=300)
    first = {entry.row for entry in chosen(recipe({"a": 1}, 300, validation=0.1), library).heldout}
    more = {entry.row for entry in chosen(recipe({"a": 1}, 300, validation=0.3, seed=5), library).heldout}
    fewer = {entry.row for entry in chosen(recipe({"a": 1}, 150, validation=0.1), library).heldout}
    assert fewer < first < more


@pytest.mark.parametrize("share", [0.03, 0.2])
def test_about_the_asked_share_is_held_out(library_of, share):
    selection = chosen(recipe({"a": 1}, 4000, validation=share), library_of(a=4000))
    assert len(selection.heldout) == pytest.approx(4000 * share, rel=0.3)
    assert len(selection.heldout) + len(selection) == 4000


def test_prompt_only_rows_are_never_picked(library_of, sized):
    selection = chosen(recipe({"a": 1}, 10), library_of(sized("a", 10, prompt_only=10)))
    assert sorted(row for _, row in selection.train) == list(range(10))


def test_a_source_without_weight_gives_nothing(library_of):
    assert {name for name, _ in chosen(recipe({"a": 1, "b": 0}, 5), library_of(a=10, b=10)).train} == {"a"}


def test_the_prompt_is_what_the_user_says_before_the_first_answer():
    def of(*messages):
        return prompt_hash(Conversation(tuple(Message(role, text) for role, text in messages)))

    base = of(("user", "what is  this?"), ("assistant", "a cat"))
    assert base == of(("system", "be kind"), ("user", "what is this?\n"), ("assistant", "a dog"), ("user", "sure?"), ("assistant", "no"))
    assert base != of(("user", "what is that?"), ("assistant", "a cat"))
    assert of(("system", "one"), ("assistant", "x")) != of(("system", "two"), ("assistant", "x"))
    assert isinstance(of(("user", "\ud800"), ("assistant", "x")), int)
