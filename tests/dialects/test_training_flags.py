"""What raw turns say about being trained on reaches the message, under each name that formats use for it."""

import pytest

from core.dialects import RawRow, convert


def flags(*turns: dict[str, object]) -> list[bool | None]:
    outcome = next(iter(convert([RawRow(0, {"messages": [{"role": "user", "content": "Hi", "weight": 0}, *turns]})])))
    assert outcome.conversation is not None, outcome
    return [message.train for message in outcome.conversation.messages]


@pytest.mark.parametrize("key", ["train", "trainable", "weight", "loss"])
@pytest.mark.parametrize(
    ("value", "flag"), [(0, False), (1, True), (False, False), (True, True), (0.0, False), (None, None), ("no", None), (0.5, None)]
)
def test_a_flag_beside_an_answer_is_kept_and_one_beside_a_question_is_not(key, value, flag):
    assert flags({"role": "assistant", "content": "Hello.", key: value}) == [None, flag]


def test_turns_that_say_nothing_have_no_flag():
    assert flags({"role": "assistant", "content": "Hello."}) == [None, None]


def test_an_answer_joined_from_two_is_not_trained_on_when_one_of_them_is_not():
    answers = ({"role": "assistant", "content": "Hello.", "weight": 1}, {"role": "assistant", "content": "There.", "weight": 0})
    assert flags(*answers) == [None, False]
