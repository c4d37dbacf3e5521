"""The one shape every source is turned into: a conversation in OpenAI form.

It knows the shape and its JSON form. It does not know where a conversation came from, how it was repaired, or how a
template prints it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import orjson

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")

JSONObject: TypeAlias = dict[str, Any]
Tool: TypeAlias = JSONObject
"""A function tool as JSON Schema: `{"type": "function", "function": {"name", "description", "parameters"}}`, key order kept."""


@dataclass(frozen=True)
class ToolCall:
    """One call an assistant makes. `arguments` is always an object, never its JSON text."""

    id: str
    name: str
    arguments: JSONObject

    def to_json(self) -> JSONObject:
        """OpenAI form: `{"id", "type": "function", "function": {"name", "arguments"}}`."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ToolCall":
        """The inverse of `to_json`."""
        function = value["function"]
        return cls(id=value["id"], name=function["name"], arguments=function["arguments"])


@dataclass(frozen=True)
class Message:
    """One turn. Reasoning stands in `reasoning_content`, never inline in `content` (templates would print it twice)."""

    role: Role
    content: str = ""
    reasoning_content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    train: bool | None = None
    """Whether the data say that this turn is to be trained on; None where they say nothing. No template sees it."""

    def to_json(self) -> JSONObject:
        """OpenAI form; optional keys that are unset are absent."""
        value: JSONObject = {"role": self.role, "content": self.content}
        if self.reasoning_content is not None:
            value["reasoning_content"] = self.reasoning_content
        if self.tool_calls:
            value["tool_calls"] = [call.to_json() for call in self.tool_calls]
        if self.tool_call_id is not None:
            value["tool_call_id"] = self.tool_call_id
        if self.name is not None:
            value["name"] = self.name
        if self.train is not None:
            value["train"] = self.train
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Message":
        """The inverse of `to_json`."""
        calls = value.get("tool_calls")
        if calls is None and len(value) == 2:  # most messages: half the time of the call below
            return cls(cast(Role, value["role"]), value["content"])
        return cls(
            role=cast(Role, value["role"]),
            content=value["content"],
            reasoning_content=value.get("reasoning_content"),
            tool_calls=tuple(ToolCall.from_json(call) for call in calls) if calls else (),
            tool_call_id=value.get("tool_call_id"),
            name=value.get("name"),
            train=value.get("train"),
        )


@dataclass(frozen=True)
class Conversation:
    """Messages and the tools offered in them; `source` and `row_id` say where it stands in the library."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    source: str = ""
    row_id: str = ""
    pending_user_turns: tuple[str, ...] = ()
    """User turns a prompt-only row still asks after the first answer (MT-Bench's second turn)."""

    def to_json(self) -> JSONObject:
        """`{"messages", "tools"?, "pending_user_turns"?}`; empty optional parts are absent."""
        value: JSONObject = {"messages": messages_json(self.messages)}
        if self.tools:
            value["tools"] = list(self.tools)
        if self.pending_user_turns:
            value["pending_user_turns"] = list(self.pending_user_turns)
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any], source: str = "", row_id: str = "") -> "Conversation":
        """The inverse of `to_json`, for canonical values only; raw rows go through `core.dialects`."""
        return cls(
            messages=tuple(map(Message.from_json, value["messages"])),
            tools=tuple(value.get("tools") or ()),
            source=source,
            row_id=row_id,
            pending_user_turns=tuple(value.get("pending_user_turns", ())),
        )

    @classmethod
    def parse(cls, value: object) -> "Conversation | None":
        """The conversation that `value` is the JSON form of, exactly; None for anything else (a raw row, a broken one)."""
        if not isinstance(value, dict) or not value.keys() <= _CONVERSATION_KEYS:
            return None
        messages, tools = value.get("messages"), value.get("tools", [])
        pending = value.get("pending_user_turns", [])
        if not (_list_of_objects(messages) and _list_of_objects(tools) and isinstance(pending, list)):
            return None
        if not all(isinstance(turn, str) for turn in pending) or not all(_is_message(message) for message in value["messages"]):
            return None
        return cls.from_json(value)


@dataclass(slots=True)
class Stored:
    """A conversation as the JSON values of `Conversation.to_json`, which a template takes as they are; not to be changed."""

    messages: list[JSONObject]
    tools: list[Tool]
    written: tuple[bytes, bytes]
    """messages and tools (empty for none) as JSON text in UTF-8, for looking whether something stands in them; both empty where that
    could not be written as it stands (a lone surrogate, a long integer)"""
    pending_user_turns: list[str]
    source: str = ""
    row_id: str = ""

    @property
    def conversation(self) -> Conversation:
        """The conversation, made anew at every call."""
        value = {"messages": self.messages, "tools": self.tools, "pending_user_turns": self.pending_user_turns}
        return Conversation.from_json(value, source=self.source, row_id=self.row_id)

    @classmethod
    def of(cls, conversation: Conversation) -> "Stored":
        """The JSON values of a conversation."""
        messages, tools = messages_json(conversation.messages), list(conversation.tools)
        try:
            written = orjson.dumps(messages), orjson.dumps(tools) if tools else b""
        except (TypeError, ValueError, RecursionError):  # a lone surrogate, or an integer that it does not take
            written = b"", b""
        return cls(messages, tools, written, list(conversation.pending_user_turns), conversation.source, conversation.row_id)


def holds_float(value: object) -> bool:
    """Whether a float stands anywhere in a JSON value."""
    waiting = [value]
    for item in waiting:  # grows on the way
        kind = type(item)
        if kind is dict:
            waiting += item.values()  # type: ignore[attr-defined]
        elif kind is list:
            waiting += item  # type: ignore[arg-type]
        elif kind is float:
            return True
    return False


_CONVERSATION_KEYS = {"messages", "tools", "pending_user_turns"}
_MESSAGE_TEXTS = ("reasoning_content", "tool_call_id", "name")
_MESSAGE_KEYS = {"role", "content", "tool_calls", "train", *_MESSAGE_TEXTS}


def _list_of_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _is_message(value: JSONObject) -> bool:
    calls = value.get("tool_calls", [])
    return (
        value.keys() <= _MESSAGE_KEYS
        and value.get("role") in ROLES
        and isinstance(value.get("content"), str)
        and not (value["role"] == "assistant" and "<think>" in value["content"])
        and all(isinstance(value[key], str) for key in _MESSAGE_TEXTS if key in value)
        and isinstance(value.get("train", True), bool)
        and _list_of_objects(calls)
        and all(_is_call(call) for call in calls)
    )


def _is_call(value: JSONObject) -> bool:
    function = value.get("function")
    return (
        value.keys() == {"id", "type", "function"}
        and isinstance(value["id"], str)
        and isinstance(function, dict)
        and function.keys() == {"name", "arguments"}
        and isinstance(function["name"], str)
        and isinstance(function["arguments"], dict)
    )


def messages_json(messages: Sequence[Message]) -> list[JSONObject]:
    """The messages in OpenAI form, as a chat template takes them."""
    return [message.to_json() for message in messages]
