"""Conversations out of the library's columns, with what is written there."""

import pytest

from core.conversation import Conversation, Message, Stored, ToolCall
from core.sources.stored import stored_of
from core.sources.text import dumps

TOOL = {"type": "function", "function": {"name": "f", "description": "é", "parameters": {"type": "object", "properties": {}}}}


def stored(conversation: Conversation) -> Stored:
    value = conversation.to_json()
    tools = dumps(value["tools"]).encode() if "tools" in value else None
    return stored_of(dumps(value["messages"]).encode(), tools, None, conversation.source, conversation.row_id)


@pytest.mark.parametrize(
    "arguments, tools, written",
    [
        ({"a": 1, "b": [1.5, None]}, (), True),
        ({"long": 2**90, "float": 0.5, "text": "世"}, (TOOL,), True),
        ({"lone": "\ud800"}, (TOOL,), False),
        ({"a": "b"}, ({"type": "function", "function": {"name": "\ud800"}},), False),
    ],
)
def test_a_conversation_comes_back_and_is_written_where_every_text_has_a_utf8_form(arguments, tools, written):
    call = ToolCall("c", "f", arguments)
    conversation = Conversation((Message("user", "q"), Message("assistant", "", None, (call,))), tools, "source", "source:1")
    found = stored(conversation)
    assert found.conversation == conversation
    assert [bool(text) for text in found.written] == ([True, bool(tools)] if written else [False, False])
    if "long" not in arguments:  # which orjson refuses to write, so a conversation that was never stored is not looked at by its bytes
        assert [bool(text) for text in Stored.of(conversation).written] == [bool(text) for text in found.written]


def test_long_lists_of_tools_are_not_kept():
    long = {"type": "function", "function": {"name": "f", "description": "x" * 20_000}}
    one, other = (stored(Conversation((Message("user", text),), (long,))) for text in "ab")
    assert one.tools == other.tools and one.tools is not other.tools


def test_rows_that_offer_the_same_tools_share_them():
    one, other = (stored(Conversation((Message("user", text),), (TOOL,))) for text in "ab")
    assert one.tools is other.tools and one.tools == [TOOL]
