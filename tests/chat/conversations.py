"""Conversations of every shape, made by hypothesis: tools, parallel calls, reasoning, odd whitespace, every Unicode plane."""

from typing import Any

from hypothesis import strategies as st

from core.conversation import Conversation, Message, Tool, ToolCall
from tests.chat.targets import CHATML, OTHERS

_characters = st.one_of(
    st.characters(codec="utf-8"),
    st.characters(min_codepoint=0x10000, exclude_categories=("Cs",)),
    st.sampled_from(" \n\t<>|/{}\"'\\_=[]:.é世🙂\u200d\u202e\u0301"),
)
_phrases = st.sampled_from(
    [
        "", " ", "\n", "\n\n", " \n ", "\nfoo", "  \n\nfoo\n", "Hello there.", "The answer is 42.", "<b>bold</b>", "</span><script>",
        "<tool_response>\nx\n</tool_response>", "<tool_call>", "a < b and b > c",
        "def f(x):\n    return x\n", "👩‍👩‍👧‍👦", "e\u0301", "'", '"',
        "no </think> tag", "null", "\x1b[31mred", "line\r\nline", "\x00", "İ", "ﬁ",
    ]
)  # fmt: skip


def texts(max_size: int = 24) -> st.SearchStrategy[str]:
    """Text without the target's special tokens."""
    free = st.text(_characters, max_size=max_size)
    joined = st.lists(st.one_of(_phrases, free), max_size=3).map("".join)
    return joined.filter(lambda text: not any(special in text for special in [*CHATML, *OTHERS]))


_names = st.sampled_from(["get_weather", "add", "Find It", "a.b"])
_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9999, 9999), st.floats(allow_nan=False, allow_infinity=False), texts(8)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(texts(6), inner, max_size=2)),
    max_leaves=4,
)
_arguments = st.dictionaries(st.one_of(st.sampled_from(["city", "n"]), texts(6)), _json, max_size=3)


@st.composite
def tools(draw: st.DrawFn) -> Tool:
    properties = draw(st.dictionaries(st.sampled_from(["city", "n", "o'k"]), st.just({"type": "string"}), max_size=2))
    parameters: dict[str, Any] = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": draw(_names), "description": draw(texts(12)), "parameters": parameters}}


@st.composite
def conversations(draw: st.DrawFn, *, with_tools: bool = True, with_reasoning: bool = True, ragged: bool = True) -> Conversation:
    """`ragged`: a leading assistant or a trailing user message may occur."""
    messages: list[Message] = []
    if draw(st.booleans()):
        messages.append(Message("system", draw(texts())))
    if ragged and draw(st.integers(0, 9)) == 0:
        messages.append(Message("assistant", draw(texts())))
    reasoning = st.one_of(st.none(), texts(12)) if with_reasoning else st.none()
    for _ in range(draw(st.integers(1, 3))):
        messages.append(Message("user", draw(texts())))
        for _ in range(draw(st.integers(0, 2)) if with_tools else 0):
            calls = tuple(ToolCall(f"call_{place}", draw(_names), draw(_arguments)) for place in range(draw(st.integers(1, 2))))
            messages.append(Message("assistant", draw(texts(8)), draw(reasoning), calls))
            messages += [Message("tool", draw(texts(8)), tool_call_id=call.id, name=call.name) for call in calls]
        messages.append(Message("assistant", draw(texts()), draw(reasoning)))
    if ragged and draw(st.integers(0, 9)) == 0:
        messages.append(Message("user", draw(texts())))
    offered = tuple(draw(st.lists(tools(), max_size=2))) if with_tools else ()
    return Conversation(tuple(messages), offered, source="made", row_id="made:0")
