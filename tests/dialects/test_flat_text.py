"""Texts that are already formatted for a template, read back into turns."""

from typing import Any

import pytest

from core.dialects import Outcome, RawRow, convert

ASKED = "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n"


def outcome(row: Any) -> Outcome:
    return next(convert([RawRow(0, row)]))


def said(found: Outcome) -> list[tuple[str, str]]:
    assert found.conversation is not None, found
    return [(message.role, message.content) for message in found.conversation.messages]


@pytest.mark.parametrize(
    "row",
    [
        {"text": ASKED + "b<|im_end|>\n"},
        {"text": ASKED + "b", **{f"column{number}": number for number in range(9)}},
        {"prompt": ASKED, "completion": "b<|im_end|>\n"},
        {"text": "<|user|>\na</s>\n<|assistant|>\nb</s>\n"},
        {"text": "### Human: a### Assistant: b"},
        {"text": "### Human: a\n### Assistant: b"},
        {"text": "<bos><start_of_turn>user\na<end_of_turn>\n<start_of_turn>model\nb<end_of_turn>\n"},
    ],
)
def test_formatted_text_is_read_back_whatever_column_it_stands_in(row: Any):
    assert said(outcome(row)) == [("user", "a"), ("assistant", "b")]


def test_a_text_may_begin_with_any_of_its_templates_headers():
    row = {"text": "<|system|>\ns</s>\n<|user|>\na</s>\n<|assistant|>\nb</s>"}
    assert said(outcome(row)) == [("system", "s"), ("user", "a"), ("assistant", "b")]


@pytest.mark.parametrize("opened", ["", "<think>\n", "<think>\n\n</think>\n\n"])
def test_a_text_that_ends_on_the_generation_prompt_is_a_prompt(opened: str):
    found = outcome({"text": ASKED + opened})
    assert (found.status, said(found)) == ("prompt_only", [("user", "a")])


def test_an_answer_that_was_given_and_is_empty_is_no_prompt():
    assert outcome({"text": ASKED + "<|im_end|>\n"}).reason == "empty_assistant"
