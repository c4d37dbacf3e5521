"""Where reasoning ends up, whichever way a row writes it."""

import pytest

from core.conversation import Message
from core.dialects import RawRow, convert


def answer(content: str, **fields: str) -> Message:
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": content, **fields}]
    found = next(convert([RawRow(0, {"messages": turns})]))
    assert found.conversation is not None, found
    return found.conversation.messages[1]


@pytest.mark.parametrize("field", ["r", "<think>\nr\n</think>", "<think>\nr", "r\n</think>"])
def test_reasoning_in_a_field_of_its_own_loses_the_tags_around_it(field: str):
    assert answer("b", reasoning_content=field).reasoning_content == "r"


def test_reasoning_that_stands_in_the_field_and_in_the_text_is_taken_once():
    assert answer("<think>\nr\n</think>\n\nb", reasoning_content="r\n").reasoning_content == "r\n"


@pytest.mark.parametrize("text", ["~~~\n<think>\n~~~\nb", "```\n</think>\n```", "Write `<think>` first."])
def test_tags_in_code_of_either_fence_stay(text: str):
    assert answer(text) == Message("assistant", text)


def test_a_fence_inside_reasoning_does_not_hide_its_end():
    found = answer("Hm. <think>x ```y``` `</think>` z</think> b")
    assert (found.content, found.reasoning_content) == ("Hm.\n\nb", "x ```y``` `</think>` z")
