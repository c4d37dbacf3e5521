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
        {"text": "[INST] a [/INST] b"},
        {"text": "<s>[INST] a [/INST] b </s>"},
        {"prompt": "<s>[INST] a [/INST]", "completion": " b</s>"},
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


def test_instruction_marks_give_every_exchange_and_the_system_text():
    text = "<s>[INST] <<SYS>>\ns\n<</SYS>>\n\na [/INST] b </s><s>[INST] c [/INST] d </s><s>[INST] e [/INST]"
    found = outcome({"text": text})
    assert said(found) == [("system", "s"), ("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")]
    assert found.repairs == ("trailing_user_dropped",)
    assert said(outcome({"text": "<s>[SYSTEM_PROMPT]s[/SYSTEM_PROMPT][INST]a[/INST]b</s>"})) == [
        ("system", "s"),
        ("user", "a"),
        ("assistant", "b"),
    ]


@pytest.mark.parametrize("text", ["[INST] a [/INST][TOOL_CALLS] [{}]</s>", "<<SYS>>s<</SYS>> stray [INST] a [/INST] b"])
def test_instruction_marks_that_would_lose_words_are_quarantined(text: str):
    assert outcome({"text": text}).reason == "unknown_template_text"
