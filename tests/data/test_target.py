"""The demo target: its template is strict and stable under growth, its tokenizer large and lossless, its answers right."""

import itertools
import json
from typing import Any

import jinja2
import pytest
from tokenizers import Tokenizer

from core.conversation import Conversation, Message
from data.generator import check_target
from data.generator.corpus import conversations
from data.generator.rendering import TARGET, prompt, render, served_rows, template

USER = {"role": "user", "content": "Hi"}
REFUSED: list[tuple[str, list[dict[str, Any]]]] = [
    ("No messages provided.", []),
    ("No user query found in messages.", [{"role": "system", "content": "s"}, {"role": "assistant", "content": "b"}]),
    ("No user query found in messages.", [{"role": "user", "content": "<tool_response>\n1\n</tool_response>"}]),
    ("System message must be at the beginning.", [USER, {"role": "system", "content": "s"}]),
    ("Unexpected message role.", [{"role": "developer", "content": "s"}, USER]),
    ("Unexpected message role.", [USER, {"role": "function", "content": "s"}]),
    ("Unexpected content type.", [{"role": "user", "content": {"text": "a"}}]),
    ("Unexpected item type in content.", [{"role": "user", "content": [{"type": "audio"}]}]),
    ("Unexpected item type in content.", [{"role": "user", "content": [{"type": "image", "image": "x"}]}]),
    ("System message cannot contain images.", [{"role": "system", "content": [{"type": "image", "image": "x"}]}, USER]),
    ("System message cannot contain videos.", [{"role": "system", "content": [{"type": "video", "video": "x"}]}, USER]),
    *(
        ("Tool call arguments must be an object.", [USER, {"role": "assistant", "content": "", "tool_calls": [{"function": call}]}])
        for call in ({"name": "f", "arguments": '{"x": 1}'}, {"name": "f", "arguments": None}, {"name": "f", "arguments": [1]})
    ),
]


@pytest.mark.parametrize(("words", "messages"), REFUSED)
def test_the_template_refuses_in_its_own_words(words: str, messages: list[dict[str, Any]]) -> None:
    with pytest.raises(jinja2.exceptions.TemplateError) as refusal:
        template().render(messages=messages)
    assert str(refusal.value) == words


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "assistant", "content": "x"}, USER],
        [USER, USER],
        [{"role": "tool", "content": "1"}, USER],
        [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        [USER, {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}],
        [USER, {"role": "assistant", "content": "", "tool_calls": [{"name": "f"}]}],
    ],
)
def test_the_template_accepts_what_qwens_accepts(messages: list[dict[str, Any]]) -> None:
    assert "<|im_start|>" in template().render(messages=messages)


def test_a_tool_call_is_written_as_xml_with_plain_strings_and_json_values() -> None:
    arguments = {"city": "Brest", "days": 3, "exact": True, "names": ["Ä", "b"], "note": None}
    call = {"role": "assistant", "content": "Look.", "tool_calls": [{"function": {"name": "get_tide", "arguments": arguments}}]}
    text = template().render(messages=[USER, call])
    assert text.endswith(
        "Look.\n\n<tool_call>\n<function=get_tide>\n<parameter=city>\nBrest\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
        '<parameter=exact>\ntrue\n</parameter>\n<parameter=names>\n["Ä", "b"]\n</parameter>\n<parameter=note>\nnull\n</parameter>\n'
        "</function>\n</tool_call><|im_end|>\n"
    )


def test_reasoning_before_the_last_query_is_left_out_unless_it_is_to_be_preserved() -> None:
    messages = [
        USER,
        {"role": "assistant", "content": "a", "reasoning_content": "old"},
        USER,
        {"role": "assistant", "content": "b", "reasoning_content": "new"},
    ]
    text = template().render(messages=messages)
    assert "old" not in text
    assert text.endswith("<|im_start|>assistant\n<think>\nnew\n</think>\n\nb<|im_end|>\n")
    assert "<think>\nold\n</think>\n\na" in template().render(messages=messages, preserve_thinking=True)


def test_the_generation_prompt_opens_the_thinking_block_or_closes_it_at_once() -> None:
    assert template().render(messages=[USER], add_generation_prompt=True).endswith("<|im_start|>assistant\n<think>\n")
    closed = template().render(messages=[USER], add_generation_prompt=True, enable_thinking=False)
    assert closed.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")


def test_each_generation_prompt_is_a_prefix_of_the_conversation_with_its_answer() -> None:
    for talk in itertools.islice(conversations("prefix"), 250):
        for turn, message in enumerate(talk.messages):
            if message.role == "assistant":
                whole = render(talk, turn + 1)
                assert whole.startswith(prompt(talk, turn))
                assert whole.endswith("<|im_end|>\n")


def test_served_rows_hold_every_answer_once() -> None:
    for talk in itertools.islice(conversations("rows"), 150):
        rows = served_rows(talk)
        answers = [row.text[a:b] for row in rows for a, b in row.answers]
        assert len(answers) == sum(m.role == "assistant" for m in talk.messages)
        assert all(answer.endswith("<|im_end|>") for answer in answers)


def test_transformers_renders_the_same_bytes() -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(TARGET)
    for talk in itertools.islice(conversations("bytes"), 40):
        value = talk.to_json()
        theirs = tokenizer.apply_chat_template(value["messages"], tools=value.get("tools"), tokenize=False)
        assert theirs == render(talk)


def test_the_tokenizer_is_large_and_gives_any_text_back() -> None:
    tokenizer = Tokenizer.from_file(str(TARGET / "tokenizer.json"))
    assert 3_800 <= tokenizer.get_vocab_size() <= 4_200
    for text in ("Grüße, 你好, שלום, नमस्ते 👩‍👩‍👧 \x00\t\r\n  é", "x  y\n\n\n z", "a<|im_start|>b<think>c", "1234567890", "﻿"):
        assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False).ids, skip_special_tokens=False) == text


def test_markers_are_single_tokens_and_digits_stand_alone() -> None:
    tokenizer = Tokenizer.from_file(str(TARGET / "tokenizer.json"))
    controls = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|mask|>"]
    pairs = [marker for name in ("think", "tool_call", "tool_response") for marker in (f"<{name}>", f"</{name}>")]
    for marker in controls + pairs:
        assert tokenizer.encode(marker, add_special_tokens=False).tokens == [marker]
    assert tokenizer.encode("2026", add_special_tokens=False).tokens == ["2", "0", "2", "6"]


def test_a_name_is_the_same_tokens_wherever_it_stands() -> None:
    tokenizer = Tokenizer.from_file(str(TARGET / "tokenizer.json"))
    for name in ("Theo", "Velmora", "Zaishu Fraidal"):
        alone = tokenizer.encode(name, add_special_tokens=False).ids
        inside = tokenizer.encode(f"Where is {name}?", add_special_tokens=False).ids
        assert inside[-len(alone) - 1 : -1] == alone


def test_the_weights_fit_in_six_megabytes() -> None:
    assert (TARGET / "model.safetensors").stat().st_size <= 6_000_000


def test_the_report_meets_what_is_promised() -> None:
    report = json.loads((TARGET / "report.json").read_text(encoding="utf-8"))
    assert report["tools"]["share"] >= 0.8
    assert report["sums"]["share"] >= 0.6
    assert min(report["tools"]["prompts"], report["sums"]["prompts"]) >= 200


@pytest.mark.slow
def test_a_fresh_sample_of_prompts_is_answered_as_the_report_says() -> None:
    target = check_target.Target.load()
    assert check_target.measure(target, "tools", 30, seed="test")["share"] >= 0.7
    assert check_target.measure(target, "sums", 30, seed="test")["share"] >= 0.5


def test_the_written_calls_are_read_back_as_they_were_meant() -> None:
    text = "<tool_call>\n<function=f>\n<parameter=a>\nx\ny\n</parameter>\n</function>\n</tool_call>"
    assert check_target.written_calls(text) == [("f", {"a": "x\ny"})]
    talk = Conversation((Message("user", "q"),))
    assert render(talk).startswith("<|im_start|>user\nq")
