"""Calls and tools that stand in text, in this project's own words."""

from typing import Any

from core.conversation import Conversation
from core.dialects import RawRow, convert


def converted(row: Any) -> Conversation:
    found = next(convert([RawRow(0, row)]))
    assert found.conversation is not None, found
    return found.conversation


def calls(conversation: Conversation, message: int) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.arguments) for call in conversation.messages[message].tool_calls]


def test_bracket_calls_have_names_with_spaces_dots_and_slashes_and_nested_values():
    system = (
        "You are an expert in composing functions. Today is Monday. Here is a list of functions in JSON format that you can invoke:\n"
        '[{"name": "v2/Find Route.now", "description": "Route", "parameters": {"type": "dict", "properties": {"via": {"type": "list"}}}}]\n'
        "Should you decide to return the function call(s), put it in the format of [func1(params_name=params_value), func2(params)]\n"
        "NO other text MUST be included."
    )
    said = "[v2/Find Route.now(via=['Rome, (old)', {\"stop\": True}], n=-2), Driver's Log(day='it\\'s')]"
    found = converted({"system": system, "conversations": [{"from": "user", "value": "Go"}, {"from": "assistant", "value": said}]})
    assert found.messages[0].content == "Today is Monday."
    assert calls(found, 2) == [
        ("v2/Find Route.now", {"via": ["Rome, (old)", {"stop": True}], "n": -2}),
        ("Driver's Log", {"day": "it's"}),
    ]
    assert found.tools[0]["function"]["parameters"] == {"type": "object", "properties": {"via": {"type": "array"}}}


def test_hermes_text_holds_parallel_calls_and_their_results():
    system = (
        "You are Ada's aide. You are provided with function signatures within <tools> </tools> XML tags.\n"
        "<tools>\n[{'type': 'function', 'function': {'name': 'add', 'parameters': {'type': 'object', 'properties': {}}}}]"
        "\n</tools>\nFor each function call return a JSON object within <tool_call></tool_call> tags."
    )
    said = "Both.\n<tool_call>\n{'name': 'add', 'arguments': {'a': 1}}\n</tool_call>\n"
    said += '<tool_call>\n{"name": "add", "arguments": {"a": 2}}\n</tool_call>'
    results = '<tool_response>\n{"name": "add", "content": 3}\n</tool_response>\n<tool_response>\nfour\n</tool_response>'
    turns = [("system", system), ("human", "Add"), ("gpt", said), ("tool", results), ("gpt", "Done.")]
    found = converted({"conversations": [{"from": role, "value": value} for role, value in turns]})
    assert found.messages[0].content == "You are Ada's aide."
    assert (found.messages[2].content, calls(found, 2)) == ("Both.", [("add", {"a": 1}), ("add", {"a": 2})])
    assert [(message.content, message.tool_call_id) for message in found.messages[3:5]] == [("3", "call_0"), ("four", "call_1")]


def test_tools_in_system_text_that_do_not_parse_leave_the_text_whole():
    system = "You may use <tools> [{'name': 'add', ] </tools> today."
    found = converted({"messages": [{"role": r, "content": c} for r, c in (("system", system), ("user", "a"), ("assistant", "b"))]})
    assert (found.messages[0].content, found.tools) == (system, ())


def test_xml_calls_are_typed_by_the_schema_of_their_tool():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "deep": {"type": "object"}, "text": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "edit", "description": "", "parameters": schema}}]
    body = (
        '<function=edit>\n<parameter=n>\n3\n</parameter>\n<parameter=deep>\n{"a": [1]}\n</parameter>\n<parameter=text>\n  5\n</parameter>\n'
    )
    for said in (f"<tool_call>\n{body}</function>\n</tool_call>", f"{body}</function>", body):
        found = converted({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": said}], "tools": tools})
        assert calls(found, 1) == [("edit", {"n": 3, "deep": {"a": [1]}, "text": "  5"})]


def test_glaive_arguments_between_single_quotes_may_hold_apostrophes():
    chat = (
        'USER: Note it\n\n\nASSISTANT: Sure. <functioncall> {"name": "note", "arguments": \'{"text": "it\'s"}\'} <|endoftext|>\n\n\n'
        'FUNCTION RESPONSE: {"ok": true}\n\n\nASSISTANT: Noted.\nUSER: is a word <|endoftext|>'
    )
    found = converted({"system": "SYSTEM: You are terse.", "chat": chat})
    assert [message.role for message in found.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert (found.messages[0].content, found.messages[2].content) == ("You are terse.", "Sure.")
    assert calls(found, 2) == [("note", {"text": "it's"})]
    assert found.messages[4].content == "Noted.\nUSER: is a word"


def test_trees_become_their_best_path_wherever_their_rows_stand():
    def row(name: str, parent: str | None, role: str, **more: Any) -> dict[str, Any]:
        return {"message_id": name, "parent_id": parent, "text": name, "role": role, "message_tree_id": name[0], "rank": None, **more}

    rows = [
        row("b1", "b", "assistant", rank=0, deleted=True),
        row("a2", "a1", "prompter", rank=0),
        row("a", None, "prompter"),
        row("b2", "b", "assistant", rank=2),
        row("a1", "a", "assistant", rank=1),
        row("b", None, "prompter"),
        row("a3", "a1", "prompter", rank=1),
        row("a4", "a3", "assistant"),
        row("x", "gone", "assistant"),
        row("c", None, "prompter", tree_state="growing"),
    ]
    found = list(convert([RawRow(position, value) for position, value in enumerate(rows)]))
    assert [outcome.row for outcome in found] == list(range(len(rows)))
    assert [(outcome.status, outcome.reason) for outcome in found] == [
        ("not_chosen", "deleted"),
        ("not_chosen", "lower_rank"),
        ("kept", None),
        ("used", None),
        ("used", None),
        ("kept", None),
        ("used", None),
        ("used", None),
        ("quarantined", "orphan_message"),
        ("not_chosen", "not_ready"),
    ]
    assert [message.content for message in found[2].conversation.messages] == ["a", "a1", "a3", "a4"]  # type: ignore[union-attr]
