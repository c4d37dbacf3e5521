"""Broken rows of every kind, in this project's own words: repaired by name or quarantined with a reason."""

from typing import Any

import pytest

from core.dialects import CODES, BadPolicy, Outcome, Policy, RawRow, convert


def outcome(row: Any, **switches: Any) -> Outcome:
    return next(convert([RawRow(0, row)], policy=Policy(switches)))


def chat(*turns: Any, **columns: Any) -> dict[str, Any]:
    """Turns are (role, content) or whole objects."""
    return {"messages": [turn if isinstance(turn, dict) else {"role": turn[0], "content": turn[1]} for turn in turns], **columns}


def calling(arguments: Any, **call: Any) -> dict[str, Any]:
    made = {"id": "c", "function": {"name": "find", "arguments": arguments}, **call}
    return chat(("user", "Where is it?"), {"role": "assistant", "content": "", "tool_calls": [made]})


def said(found: Outcome) -> list[tuple[str, str]]:
    assert found.conversation is not None, found
    return [(message.role, message.content) for message in found.conversation.messages]


def arguments(found: Outcome) -> Any:
    assert found.conversation is not None, found
    return found.conversation.messages[1].tool_calls[0].arguments


@pytest.mark.parametrize(
    ("given", "wanted", "repair"),
    [
        ('{"n": [1, {"m": null}]}', {"n": [1, {"m": None}]}, "arguments_from_json"),
        ("{'who': \"Ada's\", 'ok': True}", {"who": "Ada's", "ok": True}, "arguments_from_python"),
        ("{'ok': true, 'no': null}", {"ok": True, "no": None}, "arguments_from_python"),
        ('"{\\"n\\": 2}"', {"n": 2}, "arguments_decoded_twice"),
        ("null", {}, "missing_arguments_emptied"),
        ("", {}, "missing_arguments_emptied"),
        (None, {}, "missing_arguments_emptied"),
        ("\"{'n': 2}\"", {"n": 2}, "arguments_decoded_twice"),
        ('\ufeff{"n": 2}', {"n": 2}, "arguments_from_json"),
        ('{"n": NaN}', {"n": None}, "non_finite_number_nulled"),
        ("{'n': inf}", {"n": None}, "non_finite_number_nulled"),
        ({"t": "\ud83d"}, {"t": "\ufffd"}, "lone_surrogate_replaced"),
        ({"t": "a\x00b"}, {"t": "ab"}, "nul_removed"),
        ({"t": float("nan")}, {"t": None}, "non_finite_number_nulled"),
    ],
)
def test_arguments_of_any_type_become_an_object(given: Any, wanted: Any, repair: str):
    found = outcome(calling(given))
    assert (arguments(found), repair in found.repairs) == (wanted, True)


@pytest.mark.parametrize("given", ['{"n": [1, 2', "[1]", [1], 5, "5", "just words", True])
def test_arguments_that_are_no_object_are_quarantined_and_never_emptied(given: Any):
    assert outcome(calling(given)).reason == "bad_tool_arguments"


@pytest.mark.parametrize(
    ("row", "wanted", "repair"),
    [
        (
            chat(("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", " ")),
            [("user", "a"), ("assistant", "b")],
            "empty_turn_dropped",
        ),
        (chat(("user", "a"), ("assistant", "b"), ("user", "c")), [("user", "a"), ("assistant", "b")], "trailing_user_dropped"),
        (chat(("user", "a"), ("user", "b"), ("assistant", "c")), [("user", "a\n\nb"), ("assistant", "c")], "adjacent_users_merged"),
        (chat(("user", "a"), ("user", "a"), ("assistant", "c")), [("user", "a"), ("assistant", "c")], "repeated_turn_dropped"),
        (
            chat(("user", "a"), ("system", "s"), ("assistant", "b")),
            [("system", "s"), ("user", "a"), ("assistant", "b")],
            "late_system_moved",
        ),
        (
            chat(("system", "s"), ("system", "t"), ("user", "a"), ("assistant", "b")),
            [("system", "s\n\nt"), ("user", "a"), ("assistant", "b")],
            "systems_merged",
        ),
        (chat(("tool", "x"), ("user", "a"), ("assistant", "b")), [("user", "a"), ("assistant", "b")], "leading_turn_dropped"),
        (chat(("user", 7), ("assistant", "b")), [("user", "7"), ("assistant", "b")], "number_content_written"),
        (
            chat(("user", ["a", {"type": "text", "text": "b"}]), ("assistant", "b")),
            [("user", "ab"), ("assistant", "b")],
            "content_parts_joined",
        ),
        (
            {"messages": [{"from": "human", "value": "a"}, {"role": "assistant", "content": "b"}]},
            [("user", "a"), ("assistant", "b")],
            "mixed_keys",
        ),
        (
            '{"messages": [{"role": "user", "content": "a"}, {"role": "ai", "content": "b"}]}',
            [("user", "a"), ("assistant", "b")],
            "row_decoded",
        ),
        ({"\ufeffinstruction": "a", "output": "b"}, [("user", "a"), ("assistant", "b")], "bom_removed"),
    ],
)
def test_turns_are_put_right_by_name(row: Any, wanted: list[tuple[str, str]], repair: str):
    found = outcome(row)
    assert (said(found), repair in found.repairs) == (wanted, True)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (chat(("user", "a"), ("narrator", "b")), "unknown_role"),
        (chat(("user", "a"), ("gpt-9", "b")), "unknown_role"),
        (chat(("user", "a"), {"role": None, "content": "b"}), "missing_role"),
        (chat(("user", "a"), {"role": "assistant"}), "bad_message"),
        ({"messages": [{"role": "user", "content": "a"}, "b"]}, "bad_message"),
        ({"messages": []}, "no_messages"),
        ({"messages": None}, "no_messages"),
        ({"messages_json": '[{"role": "user"'}, "bad_messages"),
        (chat(("user", "a"), ("assistant", {"x": 1})), "bad_content"),
        (chat(("user", [{"type": "image_url", "image_url": {"url": "x"}}]), ("assistant", "b")), "non_text_content"),
        (chat(("user", "a"), ("assistant", "r</think>b")), "unbalanced_think"),
        (chat(("user", "a"), ("assistant", "b"), ("tool", "x"), ("assistant", "c")), "orphan_tool_result"),
        (chat(("user", "a"), ("assistant", '<tool_call>\n{"name": "f", "argu')), "bad_call_text"),
        (chat(("user", "a"), {"role": "assistant", "content": "", "tool_calls": "[{"}), "bad_tool_calls"),
        (chat(("user", "a"), {"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": {}}}]}), "bad_tool_calls"),
        (chat(("user", "a"), ("assistant", "b"), tools='[{"name": '), "bad_tools"),
        (chat(("user", "a"), ("assistant", "b"), tools=[{"description": "nameless"}]), "bad_tools"),
        ({"instruction": "", "output": "b"}, "no_user"),
        ({"instruction": "a", "output": None}, "empty_assistant"),
        ({"one": 1, "two": 2}, "unknown_dialect"),
        ({"text": "[AVAILABLE_TOOLS] [][/AVAILABLE_TOOLS][INST] a [/INST] b"}, "unknown_template_text"),
        (12, "not_an_object"),
    ],
)
def test_what_cannot_be_used_is_quarantined_with_its_reason(row: Any, reason: str):
    found = outcome(row)
    assert (found.status, found.reason) == ("quarantined", reason)


def test_arguments_beside_the_function_object_are_not_lost():
    call = {"id": "c", "function": {"name": "find"}, "arguments": {"n": 1}}
    assert arguments(outcome(chat(("user", "a"), {"role": "assistant", "content": "", "tool_calls": [call]}))) == {"n": 1}


def test_a_call_made_of_nulls_is_no_call():
    padding = {"id": None, "function": {"name": None, "arguments": None}}
    assert said(outcome(chat(("user", "a"), {"role": "assistant", "content": "b", "tool_calls": [padding], "function_call": padding})))
    assert outcome(chat(("user", "a"), {"role": "assistant", "content": "b", "tool_calls": {}})).status == "kept"


@pytest.mark.parametrize("role", ["user", "system", "tool"])
def test_calls_in_a_turn_that_is_not_the_assistants_are_quarantined_and_never_dropped(role: str):
    calls = [{"id": "c", "function": {"name": "find", "arguments": {}}}]
    found = outcome(chat({"role": role, "content": "a", "tool_calls": calls}, ("user", "a"), ("assistant", "b")))
    assert found.reason == "bad_tool_calls"
    assert outcome(chat({"role": "user", "content": "a", "tool_calls": []}, ("assistant", "b"))).status == "kept"


def test_a_tool_whose_function_is_json_text_is_read():
    tools = [{"type": "function", "function": '{"name": "f", "parameters": {}}'}]
    found = outcome(chat(("user", "a"), ("assistant", "b"), tools=tools))
    assert found.conversation is not None
    assert found.conversation.tools[0]["function"]["name"] == "f"


def test_metadata_that_only_mentions_tools_is_left_alone():
    assert outcome(chat(("user", "a"), ("assistant", "b"), metadata='about "tools" and more')).status == "kept"
    assert outcome(chat(("user", "a"), ("assistant", "b"), metadata='{"tools": [')).reason == "bad_tools"


def test_an_empty_text_part_of_a_column_store_is_no_fault() -> None:
    parts = [{"type": "text", "text": None}, {"type": "text", "text": "a"}]
    assert said(outcome(chat(("user", parts), ("assistant", "b"))))[0] == ("user", "a")


def test_a_turn_whose_first_content_column_is_null_says_what_the_next_one_says():
    turns = [{"from": "human", "value": None, "text": "a"}, {"from": "gpt", "value": None, "markdown": "b"}]
    assert said(outcome({"conversations": turns})) == [("user", "a"), ("assistant", "b")]


def test_messages_inside_events_of_a_log_are_read():
    events = [{"type": "user", "message": {"role": "user", "content": "a"}}, {"message": {"role": "assistant", "content": "b"}}]
    assert said(outcome({"messages": events})) == [("user", "a"), ("assistant", "b")]


def test_a_think_tag_inside_code_is_text_about_tags():
    found = outcome(chat(("user", "a"), ("assistant", "Write `<think>` before it.")))
    assert said(found)[1] == ("assistant", "Write `<think>` before it.")


def test_ids_that_are_missing_doubled_or_dangling_are_given_by_position():
    calls = [{"id": "x", "function": {"name": "f", "arguments": {}}}, {"id": "x", "function": {"name": "g", "arguments": {}}}]
    results = [{"role": "tool", "tool_call_id": "x", "content": "1"}, {"role": "tool", "tool_call_id": "zz", "content": "2"}]
    found = outcome(chat(("user", "a"), {"role": "assistant", "content": None, "tool_calls": calls}, *results))
    assert found.conversation is not None
    _, calling, first, second = found.conversation.messages
    assert [call.id for call in calling.tool_calls] == [first.tool_call_id, second.tool_call_id]
    assert len({call.id for call in calling.tool_calls}) == 2
    assert {"duplicate_call_id_renamed", "dangling_call_id_relinked"} <= set(found.repairs)


def test_nulls_of_a_column_store_leave_tools_but_null_defaults_and_enums_stay():
    schema = {
        "type": "object",
        "properties": {"port": {"type": "string", "default": None, "enum": ["a", None], "items": None}, "city": None},
    }
    found = outcome(chat(("user", "a"), ("assistant", "b"), tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}]))
    assert found.conversation is not None
    assert found.conversation.tools[0]["function"]["parameters"]["properties"] == {
        "port": {"type": "string", "default": None, "enum": ["a", None]}
    }
    assert found.repairs == ("null_padding_removed",)


def test_code_that_holds_tags_is_not_taken_for_a_saved_page():
    row = {"conversations": [{"from": "human", "value": "Which HTML tag makes a paragraph?"}, {"from": "gpt", "value": "<p>text</p>"}]}
    assert said(outcome(row))[1] == ("assistant", "<p>text</p>")


def test_a_saved_page_keeps_its_code_and_language():
    page = (
        '<p>Try:</p><pre><div><span>python</span><button>Copy code</button></div><code class="hljs language-python">a &lt; b\n</code></pre>'
    )
    row = {"conversations": [{"from": "human", "value": "Compare them"}, {"from": "gpt", "value": page}]}
    assert said(outcome(row))[1] == ("assistant", "Try:\n\n```python\na < b\n```")


def test_a_saved_page_is_known_by_one_plain_answer_and_its_counters_go():
    turns = [("human", "a"), ("gpt", '<div class="markdown prose"><p>b</p></div>1 / 2'), ("human", "c"), ("gpt", "d")]
    row = {"conversations": [{"from": role, "value": value} for role, value in turns]}
    assert said(outcome(row)) == [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")]


def test_the_policy_turns_repairs_into_quarantine_or_leaves_things_as_they_are():
    trailing = chat(("user", "a"), ("assistant", "b"), ("user", "c"))
    assert outcome(trailing, trailing_user_dropped="quarantine").reason == "trailing_user_dropped"
    assert outcome(trailing, trailing_user_dropped="keep").status == "prompt_only"
    bing = {"conversations": [{"from": "human", "value": "a"}, {"from": "bing", "value": "b"}]}
    assert outcome(bing, product_role_as_assistant="quarantine").status == "quarantined"
    open_think = chat(("user", "a"), ("assistant", "<think>\nr"))
    repaired = outcome(open_think, unbalanced_think="repair")
    assert repaired.conversation is not None
    assert repaired.conversation.messages[1].reasoning_content == "r"
    assert said(outcome(open_think, unbalanced_think="keep"))[1] == ("assistant", "<think>\nr")
    gold = {"question": "a", "answer": "b"}
    assert (outcome(gold).status, outcome(gold, gold_answer_left_out="keep").status) == ("prompt_only", "kept")


def test_a_policy_that_cannot_be_followed_says_so():
    assert Policy.parse(["trailing_user_dropped=keep"]).action("trailing_user_dropped") == "keep"
    for wrong in ("nonsense=repair", "trailing_user_dropped", "trailing_user_dropped=drop", "bad_json=keep"):
        with pytest.raises(BadPolicy):
            Policy.parse([wrong])


def test_every_code_is_one_documented_sentence():
    for code in CODES.values():
        assert code.sentence.endswith(".")
        assert code.default in code.actions
