"""JSON text in the library, hashes and search keys."""

from hypothesis import given
from hypothesis import strategies as st

from core.conversation import Conversation, Message, ToolCall
from core.sources.text import content_hash, dumps, loads, readable_text, search_key

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_any_json_value_survives_being_stored(value: object) -> None:
    text = dumps(value)
    text.encode("utf-8")
    assert loads(text) == value


def test_lone_surrogates_and_long_numbers_survive_being_stored() -> None:
    value = {"x": "a\ud800b\udc80", "n": 2**90, "deep": ["\udfff"]}
    text = dumps(value)
    text.encode("utf-8")
    assert loads(text) == value


def test_what_is_no_number_is_stored_as_null() -> None:
    assert loads(dumps({"x": float("nan")})) == {"x": None}
    assert loads(dumps({"x": [float("inf"), "\ud800"]})) == {"x": [None, "\ud800"]}


def test_equal_conversations_have_equal_hashes_and_others_do_not() -> None:
    def asked(arguments: dict[str, object], answer: str = "yes") -> Conversation:
        call = ToolCall("c", "f", arguments)
        return Conversation((Message("user", "hi"), Message("assistant", answer, tool_calls=(call,))), source="s", row_id="s:1")

    assert content_hash(asked({"a": 1, "b": 2})) == content_hash(asked({"b": 2, "a": 1}))
    assert len({content_hash(asked(arguments, answer)) for arguments in ({}, {"a": 1}) for answer in ("yes", "no", "\ud800")}) == 6


def test_what_can_be_read_are_contents_reasoning_and_calls() -> None:
    call = ToolCall("c1", "get_tide", {"port": "Brest", "days": [1, None]})
    conversation = Conversation(
        (
            Message("user", "Tide?"),
            Message("assistant", "Wait.", reasoning_content="Need the tool.", tool_calls=(call,)),
            Message("tool", "4.2", tool_call_id="c1"),
        )
    )
    assert readable_text(conversation).split("\n") == [
        "Tide?",
        "Need the tool.",
        "Wait.",
        "get_tide",
        "port",
        "Brest",
        "days",
        "1",
        "null",
        "4.2",
    ]


def test_search_keys_ignore_case_and_can_be_stored() -> None:
    assert search_key("ÉTÉ \ud800") == "été ?"
