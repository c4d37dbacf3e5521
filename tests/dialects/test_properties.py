"""Properties: nothing whatever makes a conversion raise, and a canonical conversation comes out as it went in."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from core.conversation import Conversation, JSONObject, Message, Tool, ToolCall
from core.dialects import CODES, DIALECTS, EXCLUSIONS, Outcome, RawRow, convert, detect

ODD_TEXT = st.one_of(
    st.text(st.characters(codec=None), max_size=12),
    st.sampled_from(
        [
            "",
            " ",
            "<think>",
            "</think>a",
            "<think>a</think>b",
            "<tool_call>{",
            '<tool_call>{"name":"f","arguments":{}}</tool_call>',
            "<function=f>",
            "<functioncall> {",
            "[f(a=1)]",
            "[f(a=",
            "```",
            "null",
            "{}",
            "[]",
            '"{}"',
            "{'a': 1}",
            "\ud800",
            "\x00",
            "<p>x</p>",
            "<tools>[{]</tools>",
            "the following functions: {",
            "user",
            "assistant",
            "tool",
            "system",
            "function",
            "<tool_response>x",
        ]
    ),
)
SCALAR = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), ODD_TEXT)
JSON = st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ODD_TEXT, inner, max_size=4), max_leaves=12)

KEYS = [
    "answer",
    "answers",
    "chat",
    "chosen",
    "conversation",
    "conversations",
    "data",
    "input",
    "input_ids",
    "instruction",
    "level",
    "message_id",
    "message_tree_id",
    "messages",
    "messages_json",
    "metadata",
    "output",
    "parent_id",
    "pending_user_turns",
    "problem",
    "prompt",
    "query",
    "question",
    "rejected",
    "response",
    "role",
    "solution",
    "system",
    "system_prompt",
    "text",
    "tools",
    "traj_id",
    "trajectory",
    "turns",
]
ROLES = st.one_of(
    st.sampled_from(
        ["user", "assistant", "system", "tool", "human", "gpt", "function", "function_call", "reasoning", "developer", "narrator"]
    ),
    JSON,
)
CALL = st.one_of(JSON, st.fixed_dictionaries({"id": JSON, "function": st.fixed_dictionaries({"name": JSON, "arguments": JSON})}))
BLOCK = st.one_of(
    JSON,
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                [
                    "text",
                    "tool_use",
                    "tool_result",
                    "thinking",
                    "image",
                ]
            ),
            "text": JSON,
        }
    ),
)
TURN = st.one_of(
    JSON,
    st.fixed_dictionaries(
        {},
        optional={
            "role": ROLES,
            "from": ROLES,
            "content": st.one_of(JSON, st.lists(BLOCK, max_size=3)),
            "value": JSON,
            "text": JSON,
            "tool_calls": st.one_of(JSON, st.lists(CALL, max_size=3)),
            "tool_call_id": JSON,
            "reasoning_content": JSON,
            "name": JSON,
            "replies": JSON,
        },
    ),
)
ROUGH_TEXT = st.one_of(
    ODD_TEXT,
    st.text(max_size=8),
    st.sampled_from(
        [
            "a",
            "b",
            "a",
            "<think>r</think>\n\nanswer",
            '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>',
            "[f(x=1)]",
            "<function=f>\n<parameter=x>1</parameter>\n</function>",
            "OBSERVATION:\nx",
            "DISCUSSION\nx\n```\nls\n```",
            "<p>a</p>",
            '<tool_response>\n{"name": "f", "content": {"m": 1}}\n</tool_response>',
            '{"name": "f", "arguments": {}}',
            "\ufeffa",
            "\x00",
            'Use these functions: {"name": "f", "parameters": {"x": {"type": "int"}}} now',
            "<tools>[{'name': 'f', 'description': ''}]</tools> Go.",
        ]
    ),
)
ROUGH_CALL = st.fixed_dictionaries(
    {
        "function": st.fixed_dictionaries(
            {
                "name": st.sampled_from(["f", "g"]),
                "arguments": st.sampled_from(
                    [
                        "{}",
                        "null",
                        "{'x': 1}",
                        {},
                        None,
                        '"{}"',
                    ]
                ),
            }
        )
    },
    optional={"id": st.sampled_from(["1", "2", "call_0", "call_1", 1, None, ""])},
)
ROUGH_TURN = st.fixed_dictionaries(
    {
        "role": st.sampled_from(
            ["user", "assistant", "user", "assistant", "tool", "system", "developer", "reasoning", "tool_call", "function", "bing"]
        )
    },
    optional={
        "content": ROUGH_TEXT | st.none() | st.integers(),
        "tool_calls": st.lists(ROUGH_CALL, max_size=2),
        "tool_call_id": st.sampled_from(["1", "2", "call_0", "call_1", "9"]),
        "reasoning_content": ROUGH_TEXT,
        "name": st.sampled_from(["f", "g"]),
    },
)
ROUGH_TOOL = st.sampled_from(
    [
        {"name": "f", "parameters": {"x": {"type": "int"}}},
        {"type": "function", "function": {"name": "g", "parameters": {"type": "dict"}}},
        None,
    ]
)
ROUGH_ROW = st.fixed_dictionaries(
    {"messages": st.lists(ROUGH_TURN, min_size=1, max_size=7)},
    optional={"tools": st.lists(ROUGH_TOOL, max_size=2), "system": ROUGH_TEXT, "metadata": ROUGH_TEXT},
) | st.fixed_dictionaries({"instruction": ROUGH_TEXT, "output": ROUGH_TEXT}, optional={"input": ROUGH_TEXT, "system": ROUGH_TEXT})
"""Rows that are nearly right, most of which can be kept or repaired."""

ROW = ROUGH_ROW | st.one_of(
    JSON,
    st.dictionaries(st.sampled_from(KEYS), st.one_of(JSON, st.lists(TURN, max_size=5)), max_size=6),
    st.fixed_dictionaries({"messages": st.lists(TURN, max_size=6), "tools": JSON}),
    st.fixed_dictionaries({"conversations": st.lists(TURN, max_size=6)}),
)


def check(outcomes: list[Outcome], rows: int) -> None:
    assert sorted(outcome.row for outcome in outcomes) == list(range(rows))
    for outcome in outcomes:
        assert (outcome.conversation is not None) == (outcome.status in ("kept", "prompt_only"))
        assert (outcome.reason is not None) == (outcome.status in ("quarantined", "not_chosen"))
        assert outcome.reason is None or outcome.reason in CODES or outcome.reason in EXCLUSIONS
        assert outcome.reason != "unforeseen", outcome
        assert all(repair in CODES for repair in outcome.repairs)
        # What is kept, and what is said about it, fits in any UTF-8 file.
        json.dumps(outcome.to_json(), ensure_ascii=False, allow_nan=False).encode()


@settings(max_examples=400, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=5))
def test_no_raw_value_whatever_makes_conversion_raise(values: list[Any]):
    rows = [RawRow(position, value) for position, value in enumerate(values)]
    check(list(convert(rows)), len(rows))
    assert 0.0 <= detect(rows).score <= 1.0


@settings(max_examples=200, deadline=None)
@given(ROW, st.sampled_from(sorted(DIALECTS)))
def test_no_dialect_asked_for_by_name_makes_conversion_raise(value: Any, dialect: str):
    check(list(convert([RawRow(0, value)], dialect)), 1)


SAID = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ufeff<["), min_size=1, max_size=30).filter(str.strip)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | SAID,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SAID, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(SAID, VALUE, max_size=3)
SCHEMA: st.SearchStrategy[JSONObject] = st.recursive(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "number", "boolean", "null"])},
        optional={"description": SAID, "default": st.none() | SAID, "enum": st.lists(st.none() | SAID, min_size=1, max_size=3)},
    ),
    lambda inner: (
        st.fixed_dictionaries({"type": st.just("array"), "items": inner})
        | st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(SAID, inner, max_size=3), "required": st.lists(SAID, max_size=2)}
        )
    ),
    max_leaves=5,
)


@st.composite
def tools(draw: st.DrawFn) -> Tool:
    parameters = {"type": "object", "properties": draw(st.dictionaries(SAID, SCHEMA, max_size=3))}
    function: JSONObject = {"name": draw(SAID), "description": draw(SAID), "parameters": parameters}
    return {"type": "function", "function": function}


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """A canonical conversation: alternating, answered, with ids of its own for every call."""
    messages: list[Message] = []
    if draw(st.booleans()):
        messages.append(Message("system", draw(SAID)))
    calls = 0
    for _ in range(draw(st.integers(1, 3))):
        messages.append(Message("user", draw(SAID), name=draw(st.none() | SAID)))
        for _ in range(draw(st.integers(0, 2))):
            group = tuple(ToolCall(f"id{calls + index}", draw(SAID), draw(ARGUMENTS)) for index in range(draw(st.integers(1, 2))))
            calls += len(group)
            messages.append(Message("assistant", draw(st.just("") | SAID), draw(st.none() | SAID), group))
            messages += [Message("tool", draw(st.just("") | SAID), tool_call_id=call.id, name=draw(st.none() | SAID)) for call in group]
        messages.append(Message("assistant", draw(SAID), draw(st.none() | SAID)))
    return Conversation(tuple(messages), tuple(draw(st.lists(tools(), max_size=2))))


@settings(max_examples=300, deadline=None)
@given(conversations())
def test_a_canonical_conversation_comes_out_as_it_went_in(conversation: Conversation):
    outcome = next(convert([RawRow(0, conversation.to_json())]))
    assert (outcome.status, outcome.repairs, outcome.reason) == ("kept", (), None)
    assert outcome.conversation == conversation


@settings(max_examples=300, deadline=None)
@given(ROUGH_ROW | ROW)
def test_what_was_converted_once_is_not_changed_again(value: Any):
    first = next(convert([RawRow(0, value)]))
    if first.conversation is None:
        return
    again = next(convert([RawRow(0, first.conversation.to_json())]))
    assert (again.status, again.repairs) == (first.status, ())
    assert again.conversation == first.conversation
