"""Differences between two rows: what is left when the marked tokens are taken out is the same on both sides."""

from hypothesis import given
from hypothesis import strategies as st

from core.chat import ExplainedToken
from pages.components import token_differences
from pages.components.token_differences import differences


def row(ids, trained=()):
    return [
        ExplainedToken(number, chr(97 + number), bytes([97 + number]), place in trained, 0, "user", "") for place, number in enumerate(ids)
    ]


def test_another_mask_is_a_difference():
    assert differences(row([1, 2, 3], {1, 2}), row([1, 2, 3], {2}), same_tokenizer=True) == ({1}, {1})


def test_inserted_tokens_are_the_only_difference():
    assert differences(row([1, 2, 3]), row([1, 5, 6, 2, 3]), same_tokenizer=True) == (set(), {1, 2})


def test_a_row_against_nothing_differs_as_a_whole():
    assert differences(row([1, 2]), [], same_tokenizer=True) == ({0, 1}, set())


def test_tokens_of_another_tokenizer_are_compared_by_their_bytes():
    ours, theirs = row([1, 2]), [ExplainedToken(90, "b", b"b", False, 0, "user", ""), ExplainedToken(91, "c", b"c", False, 0, "user", "")]
    assert differences(ours, theirs, same_tokenizer=False) == (set(), set())
    assert differences(ours, theirs, same_tokenizer=True) == ({0, 1}, {0, 1})


IDS = st.lists(st.integers(0, 3), max_size=14)


@given(IDS, IDS, st.sets(st.integers(0, 13)), st.sets(st.integers(0, 13)))
def test_what_is_not_marked_is_equal_on_both_sides(ours, theirs, trained, others):
    left, right = row(ours, trained), row(theirs, others)
    first, second = differences(left, right, same_tokenizer=True)
    rest = [(token.id, token.trainable) for place, token in enumerate(left) if place not in first]
    assert rest == [(token.id, token.trainable) for place, token in enumerate(right) if place not in second]


def test_rows_too_long_to_align_are_marked_between_their_common_ends(monkeypatch):
    monkeypatch.setattr(token_differences, "_LARGEST", 3)
    assert differences(row([1, 2, 3, 1, 9]), row([1, 3, 2, 2, 9]), same_tokenizer=True) == ({1, 2, 3}, {1, 2, 3})
