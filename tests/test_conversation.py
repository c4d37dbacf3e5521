"""The one shape and its JSON form."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.conversation import Conversation, Message, ToolCall

texts = st.text(max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
calls = st.builds(ToolCall, id=texts, name=texts, arguments=st.dictionaries(texts, json_values, max_size=3))
messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=texts.filter(lambda text: "<think>" not in text),
    reasoning_content=st.none() | texts,
    tool_calls=st.lists(calls, max_size=2).map(tuple),
    tool_call_id=st.none() | texts,
    name=st.none() | texts,
)
conversations = st.builds(
    Conversation,
    messages=st.lists(messages, max_size=4).map(tuple),
    tools=st.lists(st.dictionaries(texts, json_values, max_size=2), max_size=2).map(tuple),
    pending_user_turns=st.lists(texts, max_size=2).map(tuple),
)


@given(conversations)
def test_a_conversation_survives_its_json_form(conversation: Conversation) -> None:
    assert Conversation.from_json(conversation.to_json()) == conversation
    assert Conversation.parse(conversation.to_json()) == conversation


@given(json_values | st.dictionaries(st.sampled_from(["messages", "tools", "pending_user_turns"]), json_values))
def test_no_json_value_makes_parsing_raise(value: Any) -> None:
    parsed = Conversation.parse(value)
    assert parsed is None or isinstance(parsed, Conversation)


def user(**extra: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Hi", **extra}]}


@pytest.mark.parametrize(
    "raw",
    [
        {"messages": [{"role": "human", "content": "Hi"}]},
        {"messages": [{"role": "user", "content": None}]},
        {"messages": [{"role": "assistant", "content": "<think>\nwhy\n</think>\nyes"}]},
        {"messages": [{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}]},
        {
            "messages": [
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
                }
            ]
        },
        user(thought="hm"),
        user() | {"id": "7"},
        {"conversations": []},
        [],
        "text",
        None,
    ],
)
def test_what_still_needs_converting_is_not_taken_for_canonical(raw: Any) -> None:
    assert Conversation.parse(raw) is None
