import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.mix.presets import ImpossibleWeights, equal, like, moved, proportional, shares, tempered, with_share

WEIGHTS = st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1000).map(lambda value: round(value, 3)), min_size=2)
SIZES = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 10**7), min_size=1)


@given(SIZES, st.floats(0.2, 1e6))
def test_a_temperature_lies_between_proportional_and_equal(sizes, temperature):
    made = tempered(sizes, temperature)
    assert sum(made.values()) == pytest.approx(sum(sizes.values()), rel=1e-6)
    assert all((made[name] > 0) == (sizes[name] > 0) or sizes[name] < max(sizes.values()) / 1e6 for name in sizes)
    for a in sizes:
        for b in sizes:
            if sizes[a] > sizes[b] > 0 and made[b] > 1e-3:
                assert made[a] / made[b] == pytest.approx((sizes[a] / sizes[b]) ** (1 / temperature), rel=1e-6)
    assert tempered(sizes, 1) == pytest.approx(proportional(sizes), rel=1e-6)


def test_a_temperature_has_to_be_above_zero():
    with pytest.raises(ImpossibleWeights, match="above 0"):
        tempered({"a": 1}, 0)
    assert equal({"a": 5, "b": 0}) == {"a": 1, "b": 0}


@given(WEIGHTS, st.sets(st.sampled_from("abcdef"), min_size=1), st.floats(0.001, 0.999))
def test_a_domain_gets_its_share_and_nothing_else_changes_its_relations(weights, members, share):
    inside = [name for name in weights if name in members]
    outside = [name for name in weights if name not in members]
    assume(inside and outside)
    made = with_share(weights, members, share)
    assert sum(shares(made)[name] for name in inside) == pytest.approx(share, rel=1e-6)
    if any(weights[name] for name in outside):
        assert all(made[name] == weights[name] for name in outside)
    if any(weights[name] for name in inside):
        scale = sum(made[name] for name in inside) / sum(weights[name] for name in inside)
        assert all(made[name] == pytest.approx(weights[name] * scale, rel=1e-6, abs=1e-12) for name in inside)


def test_a_domain_without_weight_is_weighed_by_size():
    weights = {"chat": 3.0, "tools-a": 0.0, "tools-b": 0.0}
    made = with_share(weights, ["tools-a", "tools-b"], 0.25, {"chat": 9, "tools-a": 10, "tools-b": 30})
    assert made == pytest.approx({"chat": 3, "tools-a": 0.25, "tools-b": 0.75})
    assert with_share(weights, ["tools-a"], 0.5) == pytest.approx({"chat": 3, "tools-a": 3, "tools-b": 0})


def test_the_ends_of_a_share_and_what_cannot_be():
    assert with_share({"a": 1.0, "b": 2.0}, ["b"], 0) == {"a": 1, "b": 0}
    assert with_share({"a": 1.0, "b": 2.0}, ["b"], 1) == {"a": 0, "b": 2}
    with pytest.raises(ImpossibleWeights, match="No source of that kind"):
        with_share({"a": 1.0}, ["z"], 0.5)
    with pytest.raises(ImpossibleWeights, match="its share is 1"):
        with_share({"a": 1.0}, ["a"], 0.5)
    with pytest.raises(ImpossibleWeights, match="between 0 and 1"):
        with_share({"a": 1.0, "b": 1.0}, ["a"], 20)


@given(WEIGHTS, st.floats(0, 2000), st.sets(st.sampled_from("abcdef")))
def test_moving_a_weight_keeps_the_sum_and_the_locked_ones(weights, weight, locked):
    name = min(weights)
    made = moved(weights, name, weight, locked)
    free = [other for other in weights if other != name and other not in locked]
    assert all(made[other] == weights[other] for other in weights if other in locked and other != name)
    assert all(value >= 0 for value in made.values())
    if free and sum(weights.values()):
        assert sum(made.values()) == pytest.approx(sum(weights.values()), rel=1e-6)
        assert made[name] <= weight
        left, before = sum(made[other] for other in free), sum(weights[other] for other in free)
        if before:
            assert all(made[other] == pytest.approx(weights[other] * left / before, rel=1e-6, abs=1e-9) for other in free)
    else:
        assert made[name] == weight


def test_weights_like_those_of_another_recipe():
    assert like(["a", "b"], {"b": 2.0, "c": 1.0}) == {"a": 0, "b": 2}
    with pytest.raises(ImpossibleWeights, match="add its sources"):
        like(["a"], {"c": 1.0})
    with pytest.raises(ImpossibleWeights, match="0 or more"):
        moved({"a": 1.0}, "a", -1)
