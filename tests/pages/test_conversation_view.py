from core.conversation import Conversation, Message, ToolCall
from pages.components.conversation_view import conversation_view


def test_reasoning_is_folded_and_calls_show_their_arguments():
    shown = conversation_view(
        Conversation(
            (
                Message("user", "Weather in Oslo?"),
                Message(
                    "assistant",
                    "",
                    reasoning_content="look it up",
                    tool_calls=(ToolCall("call_1", "weather", {"city": "Oslo", "days": 3}),),
                ),
                Message("tool", '{"sky": "clear"}', tool_call_id="call_1", name="weather"),
            ),
            (
                {
                    "type": "function",
                    "function": {"name": "weather", "description": "Weather of a city", "parameters": {"properties": {"city": {}}}},
                },
            ),
        )
    )
    assert "<details><summary>reasoning" in shown
    assert "calls weather" in shown
    assert "<td>city</td>" in shown
    assert "Oslo" in shown
    assert "1 tool offered" in shown


def test_every_field_of_a_hostile_row_is_text():
    evil = "<img src=x onerror=alert(1)>"
    shown = conversation_view(
        Conversation(
            (
                Message("user", evil, name=evil),
                Message("assistant", evil, reasoning_content=evil, tool_calls=(ToolCall(evil, evil, {evil: evil, "deep": [evil]}),)),
                Message("tool", evil, tool_call_id=evil, name=evil),
            ),
            ({"type": "function", "function": {"name": evil, "description": evil, "parameters": {"properties": {evil: {}}}}},),
            pending_user_turns=(evil,),
        )
    )
    assert "<img" not in shown


def test_odd_tools_do_not_break_the_view():
    shown = conversation_view(
        Conversation((Message("user", "hi"),), ({"type": "function"}, {"function": {"name": 3, "parameters": {"properties": []}}}))
    )
    assert "2 tools offered" in shown
