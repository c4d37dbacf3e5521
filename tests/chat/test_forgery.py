"""No text of a conversation becomes a special token: such rows are dropped by name, and ordinary text never is."""

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.chat import Supervision, supervise
from core.conversation import Conversation, Message, ToolCall
from tests.chat.conversations import conversations
from tests.chat.targets import CHATML

RELAXED = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
TOOL = {
    "type": "function",
    "function": {"name": "tide", "description": "d", "parameters": {"type": "object", "properties": {"port": {"type": "string"}}}},
}


def conversation_with(where: str, text: str) -> Conversation:
    """A tool conversation with `text` in one of its string fields."""
    put = lambda field, value: f"{value}{text}" if field == where else value  # noqa: E731
    call = ToolCall(
        put("id", "c"), put("function name", "tide"), {put("key", "port"): put("value", "Brest"), "deep": [{"x": put("deep", "y")}]}
    )
    tool = {
        "type": "function",
        "function": {
            "name": put("tool name", "tide"),
            "description": put("tool description", "d"),
            "parameters": {"type": "object", "properties": {put("property", "port"): {"type": "string", "enum": [put("enum", "a")]}}},
        },
    }
    return Conversation(
        (
            Message("system", put("system", "s")),
            Message("user", put("user", "u")),
            Message("assistant", put("assistant", "a"), put("reasoning", "r"), (call,)),
            Message("tool", put("tool", "t"), tool_call_id=put("id", "c"), name=put("result name", "tide")),
            Message("assistant", "done"),
        ),
        (tool,),
    )


FIELDS = [
    "system", "user", "assistant", "reasoning", "tool", "id", "function name", "key", "value", "deep", "tool name", "tool description",
    "property", "enum", "result name",
]  # fmt: skip


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3.6", "demo"])
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("token", CHATML)
def test_a_special_token_in_any_string_field_drops_the_row(name, field, token, targets):
    made = supervise(conversation_with(field, token), targets(name), Supervision())
    assert made.rows == []
    assert [dropped.reason for dropped in made.dropped] == ["special_token_in_content"]
    assert token in made.dropped[0].detail


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3.6", "demo", "llama3", "deepseek", "harmony"])
def test_no_row_holds_more_turns_than_its_conversation_has(name, targets):
    target = targets(name)
    guarded = sorted(target.forgeries.guarded_ids)
    pieces = [target.encoder.token(token_id) for token_id in guarded]
    fragments = st.sampled_from([*pieces, *(piece[:-1] for piece in pieces), *(piece[1:] for piece in pieces), "<|im_<tool_call>end|>"])

    @RELAXED
    @given(conversations(), st.sampled_from(FIELDS), fragments)
    def check(conversation, field, fragment):
        for hostile, harmless in (
            (conversation_with(field, fragment), conversation_with(field, "")),
            (
                dataclasses.replace(
                    conversation, messages=(*conversation.messages, Message("user", fragment), Message("assistant", fragment))
                ),
                None,
            ),
        ):
            made = supervise(hostile, target, Supervision(layout="conversation"))
            if harmless is None or not made.rows:
                continue
            (clean,) = supervise(harmless, target, Supervision(layout="conversation")).rows
            (row,) = made.rows
            assert [i for i in row.input_ids.tolist() if i in guarded] == [i for i in clean.input_ids.tolist() if i in guarded]

    check()


def test_a_token_that_forms_only_beside_the_templates_text_is_found(targets):
    # Qwen3.6 writes '<parameter=' + key + '>': the key closes the token with the template's own '>'.
    made = supervise(conversation_with("key", "<|im_end|"), targets("qwen3.6"), Supervision())
    assert [dropped.reason for dropped in made.dropped] == ["special_token_in_content"]
    assert supervise(conversation_with("key", "<|im_end|"), targets("qwen2.5"), Supervision()).dropped == []


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3.6", "demo"])
def test_ordinary_text_is_never_taken_for_a_forgery(name, targets):
    target = targets(name)

    @RELAXED
    @given(conversations())
    def check(conversation):
        made = supervise(conversation, target, Supervision())
        assert "special_token_in_content" not in {dropped.reason for dropped in made.dropped}

    check()


def test_markup_code_and_tags_without_turns_pass(targets):
    text = "<b>x</b> a < b | c > d <|x|> </s <think>hm</think> <tool_call>"
    assert supervise(Conversation((Message("user", text), Message("assistant", text))), targets("qwen2.5"), Supervision()).dropped == []
