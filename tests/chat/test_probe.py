"""The probe finds out by rendering what a template takes, refuses, rewrites and adds."""

import json

import pytest

from core.chat import Target, probe, refusal_of
from core.conversation import Conversation, Message
from tests.chat.conftest import ALL
from tests.chat.targets import make_target

STRICT = {
    "no_messages": "No messages provided.",
    "no_user": "No user query found in messages.",
    "only_tool_response_users": "No user query found in messages.",
    "late_system": "System message must be at the beginning.",
    "developer": "Unexpected message role.",
    "function": "Unexpected message role.",
    "object_content": "Unexpected content type.",
    "unknown_part": "Unexpected item type in content.",
    "image_in_system": "System message cannot contain images.",
    "video_in_system": "System message cannot contain videos.",
}


@pytest.mark.parametrize("name", ["qwen3.6", "demo"])
def test_a_strict_template_shows_its_refusals_in_its_own_words_with_a_repair_for_each(name, targets):
    report = probe(targets(name))
    assert STRICT.items() <= report.refusals.items()
    assert set(report.refusals) == {*STRICT, "arguments_string"}
    assert set(report.refusals) <= set(report.repairs)
    assert report.drops_reasoning
    assert report.rewrites_history
    assert report.prefix_stable["tool calls"]
    assert report.generation_prompts == {
        "default": "<|im_start|>assistant\n<think>\n",
        "on": "<|im_start|>assistant\n<think>\n",
        "off": "<|im_start|>assistant\n<think>\n\n</think>\n\n",
    }
    assert "\nflag" not in report.arguments["an object"]
    assert "<parameter=flag>\ntrue\n</parameter>" in report.arguments["an object"]


def test_a_lenient_template_shows_what_it_loses_and_writes_by_itself(targets):
    report = probe(targets("qwen2.5"))
    lost = {case.name for case in report.cases if case.lost}
    assert lost == {"developer", "function", "reasoning"}
    assert "You are Qwen" in report.preamble
    assert not report.rewrites_history
    assert not report.takes_thinking
    assert report.generation_prompts == {"default": "<|im_start|>assistant\n"}
    assert '"arguments": "{\\"word\\"' in report.arguments["JSON text"]


def test_each_family_shows_how_its_turns_end(targets):
    ends = {name: probe(targets(name)).turn_end for name in ("llama3", "mistral", "gemma", "deepseek", "harmony", "generation")}
    assert ends == {
        "llama3": "<|eot_id|>",
        "mistral": "</s>",
        "gemma": "<end_of_turn>",
        "deepseek": "<｜end▁of▁sentence｜>",
        "harmony": "<|return|>",
        "generation": "<|im_end|>",
    }


def test_headers_are_what_every_turn_and_every_generation_prompt_begin_with(targets):
    headers = {name: probe(targets(name)).header for name in ("llama3", "mistral", "gemma", "deepseek", "harmony", "qwen3")}
    assert headers == {
        "llama3": "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "mistral": "",
        "gemma": "<start_of_turn>model\n",
        "deepseek": "<｜Assistant｜>",
        "harmony": "<|start|>assistant",
        "qwen3": "<|im_start|>assistant\n",
    }


def test_generation_tags_are_found_and_tried(targets, tmp_path):
    assert probe(targets("generation")).generation_tags == "working"
    assert probe(targets("qwen3")).generation_tags == "none"
    source = "{% for m in messages %}{% generation %}{{ m.role }}{% endgeneration %}{{ m.content }}{% endfor %}"
    assert probe(Target.load(make_target(tmp_path, source))).generation_tags == "broken"


def test_a_printed_date_is_noticed(targets):
    assert [name for name in ("llama3", "harmony", "qwen3", "gemma") if probe(targets(name)).prints_date] == ["llama3", "harmony"]


def test_unread_arguments_are_named(tmp_path):
    target = Target.load(
        make_target(tmp_path, "{% for m in messages %}{{ m.content }}{{ style }}{% endfor %}"), args={"style": "x", "stile": "y"}
    )
    report = probe(target)
    assert report.unread_args == ("stile",)
    assert ["Arguments given that it never reads", "stile"] in report.findings()


@pytest.mark.parametrize("name", ALL)
def test_every_report_is_json_and_a_table_of_plain_sentences(name, targets):
    report = probe(targets(name))
    value = json.loads(json.dumps(report.to_json()))
    assert value["refusals"] == report.refusals
    assert all(len(row) == 2 and all(isinstance(cell, str) and "\n" not in cell for cell in row) for row in report.findings())
    assert report.special_tokens_forge


def test_one_conversation_can_be_asked_about(targets):
    fine, bad = Conversation((Message("user", "Hi"),)), Conversation((Message("system", "x"),))
    assert refusal_of(fine, targets("qwen3.6")) is None
    assert refusal_of(bad, targets("qwen3.6")) == "No user query found in messages."


def test_a_template_that_refuses_everything_still_gives_a_report(tmp_path):
    report = probe(Target.load(make_target(tmp_path, "{{ raise_exception('Never.') }}")))
    assert set(report.refusals.values()) == {"Never."}
    assert report.header == ""
