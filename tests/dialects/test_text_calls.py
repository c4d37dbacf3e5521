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


def assistant(text: str, **columns: Any) -> Conversation:
    return converted({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": text}], **columns})


def refused(row: Any) -> str | None:
    return next(convert([RawRow(0, row)])).reason


def test_tags_inside_the_arguments_of_a_call_are_data():
    said = '<tool_call>\n{"name": "write", "arguments": {"text": "<think>x</think>y"}}\n</tool_call>'
    found = assistant("<think>plan a <tool_call> first</think>\n" + said)
    assert (found.messages[1].reasoning_content, found.messages[1].content) == ("plan a <tool_call> first", "")
    assert calls(found, 1) == [("write", {"text": "<think>x</think>y"})]
    found = assistant("<function=write>\n<parameter=text><think></parameter>\n</function>")
    assert calls(found, 1) == [("write", {"text": "<think>"})]


def test_several_xml_calls_may_stand_in_one_block_and_closing_tags_may_lack():
    one, two = "<function=f>\n<parameter=n>1</parameter>\n</function>", "<function=g>\n<parameter=n>2</parameter>\n"
    found = assistant(f"Both.\n<tool_call>\n{one}\n{two}</tool_call>\nGo.")
    assert (found.messages[1].content, calls(found, 1)) == ("Both.\n\nGo.", [("f", {"n": "1"}), ("g", {"n": "2"})])


def test_xml_values_lose_one_line_break_of_either_kind_and_names_their_quotes():
    found = assistant('<function="f">\r\n<parameter="n">\r\n a\r\n</parameter>\r\n</function>')
    assert calls(found, 1) == [("f", {"n": " a"})]


def test_an_untyped_enum_types_xml_values_and_an_infinite_number_stays_text():
    properties = {"n": {"enum": [1, "2"]}, "x": {"type": "number"}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": properties}}}]
    found = assistant("<function=f>\n<parameter=n>1</parameter>\n<parameter=x>1e999</parameter>\n</function>", tools=tools)
    assert calls(found, 1) == [("f", {"n": 1, "x": "1e999"})]
    found = assistant("<function=f>\n<parameter=n>2</parameter>\n</function>", tools=tools)
    assert calls(found, 1) == [("f", {"n": "2"})]


def test_tags_in_the_middle_of_a_line_are_words_and_on_lines_of_their_own_broken_calls():
    for text in ("It begins with <tool_call> here.", "A <tool_call>x</tool_call> pair.", "Use <function=f> for it."):
        assert assistant(text).messages[1].content == text
    for body in ("", "f(a=1)", "```json\n{}\n```"):
        turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": f"<tool_call>\n{body}\n</tool_call>"}]
        assert refused({"messages": turns}) == "bad_call_text"


def test_glaive_turns_may_hold_several_calls():
    call = '<functioncall> {"name": "add", "arguments": \'{"a": 1}\'} '
    chat = f"USER: a\n\n\nASSISTANT: {call}{call}<|endoftext|>\n\n\nFUNCTION RESPONSE: 1\n\n\nFUNCTION RESPONSE: 2\n\n\n"
    found = converted({"system": "", "chat": chat + "ASSISTANT: b <|endoftext|>"})
    assert calls(found, 1) == [("add", {"a": 1}), ("add", {"a": 1})]
    assert [message.tool_call_id for message in found.messages[2:4]] == ["call_0", "call_1"]


def test_bracket_calls_may_hold_markup_and_broken_ones_are_not_kept_as_text():
    system = 'Here is a list of functions in JSON format that you can invoke:\n[{"name": "Put It", "parameters": {"type": "dict"}}].\n'
    system += "Put it in the format of [func1(params_name=params_value)]\nNO other text MUST be included."

    def row(said: str) -> Any:
        return {"system": system, "conversations": [{"from": "user", "value": "a"}, {"from": "assistant", "value": said}]}

    found = converted(row('[Put It(text="<b>x</b>", tag="<think>")]'))
    assert (found.messages[0].role, calls(found, 1)) == ("user", [("Put It", {"text": "<b>x</b>", "tag": "<think>"})])
    assert [refused(row(said)) for said in ('[Put It(text="x"', '[Put It(text="x")] Done.')] == ["bad_call_text"] * 2
    assert converted(row("[see (1)]")).messages[1].content == "[see (1)]"


def test_of_a_system_text_with_tools_only_what_is_not_about_calling_them_is_left():
    schema = "{'title': 'FunctionCall', 'type': 'object', 'properties': {'name': {'title': 'Name. One', 'type': 'string'}}}"
    system = (
        "You are a function calling AI model. You know ships. Here are the available tools:\n"
        "<tools>\n[{'name': 'add', 'parameters': {}}]\n</tools>\n"
        f"Use the following pydantic model json schema for each tool call you will make: {schema}\n"
        "You must use <scratch_pad> </scratch_pad> XML tags to plan.\nExample:\n<scratch_pad>\nExample Scratch Pad\n</scratch_pad>\n"
        "<tool_call>\n{'arguments': <args-dict>, 'name': <function-name>}\n</tool_call>"
    )
    found = converted({"messages": [{"role": r, "content": c} for r, c in (("system", system), ("user", "a"), ("assistant", "b"))]})
    assert (found.messages[0].content, [tool["function"]["name"] for tool in found.tools]) == ("You know ships.", ["add"])


def test_allowed_values_of_described_functions_have_the_type_of_their_parameter():
    system = (
        "---- BEGIN FUNCTION #1: wait ----\nDescription: Wait.\nParameters:\n  (1) seconds (integer, optional): Time.\n"
        "Allowed values: [`1`, `2`]\n---- END FUNCTION #1 ----"
    )
    found = converted({"messages": [{"role": r, "content": c} for r, c in (("system", system), ("user", "a"), ("assistant", "b"))]})
    assert found.tools[0]["function"]["parameters"]["properties"]["seconds"]["enum"] == [1, 2]


def test_types_of_unions_and_with_defaults_behind_them_are_read():
    kinds = {"a": "str | None", "b": "int | str", "c": "float, optional (default 1.0)", "d": "Union[int, str]", "e": "List[str], optional"}
    tools = [{"name": "f", "parameters": {name: {"type": kind} for name, kind in kinds.items()}}]
    found = converted({"query": "q", "answers": "\"[{'name': 'f', 'arguments': {}}]\"", "tools": tools})
    assert found.tools[0]["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": ["integer", "string"]},
            "c": {"type": "number"},
            "d": {"type": ["integer", "string"]},
            "e": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["b", "d"],
    }
