"""The small conversations a template is probed with, each with the question it answers and the repair if it is refused.

Only data: what happens when they are rendered is `core.chat.probe`'s business.
"""

from dataclasses import dataclass

from core.conversation import JSONObject, Tool

USER, USER_2, ANSWER, ANSWER_2, REASON = "Uzqa", "Uzqb", "Azqa", "Azqb", "Rzqa"
SYSTEM, RESULT, RESULT_2, VALUE, VALUE_2 = "Szqa", "Tzqa", "Tzqb", "Vzqa", "Vzqb"
FUNCTION = "fzqa"

TOOL: Tool = {
    "type": "function",
    "function": {
        "name": FUNCTION,
        "description": "Looks a word up.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string", "description": "A word."}}, "required": ["word"]},
    },
}


@dataclass(frozen=True)
class ProbeCase:
    """One conversation. `expect`: marker words that must be printed, or the template takes the row and loses a part of it."""

    name: str
    question: str
    messages: tuple[JSONObject, ...]
    expect: tuple[str, ...]
    tools: tuple[Tool, ...] = ()
    repair: str = ""


def user(content: object = USER) -> JSONObject:
    """A user message."""
    return {"role": "user", "content": content}


def answer(content: object = ANSWER, reasoning: str | None = None) -> JSONObject:
    """An assistant message, with reasoning or without."""
    message: JSONObject = {"role": "assistant", "content": content}
    return message if reasoning is None else {**message, "reasoning_content": reasoning}


def calling(*arguments: object, content: object = "", reasoning: str | None = None) -> JSONObject:
    """An assistant message with one call per `arguments`."""
    calls = [
        {"id": f"call_{place}", "type": "function", "function": {"name": FUNCTION, "arguments": value}}
        for place, value in enumerate(arguments)
    ]
    return {**answer(content, reasoning), "tool_calls": calls}


def result(content: str = RESULT, place: int = 0) -> JSONObject:
    """The result of the call `place`."""
    return {"role": "tool", "tool_call_id": f"call_{place}", "name": FUNCTION, "content": content}


def named(role: str, content: object = SYSTEM) -> JSONObject:
    """A message of any role."""
    return {"role": role, "content": content}


_CALL = {"word": VALUE}
_CHAIN = (user(), calling(_CALL), result(), answer())

CASES: tuple[ProbeCase, ...] = (
    ProbeCase("user_assistant", "A user message and an answer", (user(), answer()), (USER, ANSWER)),
    ProbeCase("system_first", "A system message first", (named("system"), user(), answer()), (SYSTEM, USER, ANSWER),
              repair="put the system text in front of the first user message"),
    ProbeCase("several_turns", "Several turns", (user(), answer(), user(USER_2), answer(ANSWER_2)), (USER, ANSWER, USER_2, ANSWER_2)),
    ProbeCase("no_messages", "No message at all", (), (), repair="quarantine the row"),
    ProbeCase("no_user", "No user message", (named("system"), answer()), (SYSTEM, ANSWER), repair="quarantine the row"),
    ProbeCase("only_tool_response_users", "Only user messages that are <tool_response> blocks",
              (user(f"<tool_response>\n{RESULT}\n</tool_response>"), answer()), (RESULT, ANSWER),
              repair="convert the blocks to tool messages, or quarantine the row"),
    ProbeCase("late_system", "A system message later on", (user(), named("system"), user(USER_2), answer()), (USER, SYSTEM, ANSWER),
              repair="merge it into the first system message"),
    ProbeCase("leading_assistant", "An assistant message first", (answer(), user(), answer(ANSWER_2)), (ANSWER, USER, ANSWER_2),
              repair="drop what stands before the first user message"),
    ProbeCase("two_users", "Two user messages in a row", (user(), user(USER_2), answer()), (USER, USER_2, ANSWER),
              repair="merge them into one"),
    ProbeCase("two_assistants", "Two assistant messages in a row", (user(), answer(), answer(ANSWER_2)), (ANSWER, ANSWER_2),
              repair="merge them into one"),
    ProbeCase("trailing_user", "A user message last", (user(), answer(), user(USER_2)), (USER, ANSWER, USER_2),
              repair="drop it, or keep the row for regeneration"),
    ProbeCase("orphan_tool", "A tool result without a call", (user(), result(), answer()), (USER, RESULT, ANSWER),
              repair="quarantine the row"),
    ProbeCase("leading_tool", "A tool result first", (result(), user(), answer()), (RESULT, USER, ANSWER), repair="quarantine the row"),
    ProbeCase("developer", "The role developer", (named("developer"), user(), answer()), (SYSTEM, USER, ANSWER),
              repair="rename the role to system"),
    ProbeCase("function", "The role function", (user(), calling(_CALL), named("function", RESULT), answer()), (RESULT, ANSWER), (TOOL,),
              repair="rename the role to tool"),
    ProbeCase("tools", "Tools offered", (user(), answer()), (FUNCTION, USER, ANSWER), (TOOL,),
              repair="choose another target: the tools would be invisible to this one"),
    ProbeCase("tool_call", "A tool call and its result", _CHAIN, (FUNCTION, VALUE, RESULT, ANSWER), (TOOL,),
              repair="choose another target, or leave tool sources out of the mix"),
    ProbeCase("parallel_calls", "Two calls in one turn",
              (user(), calling(_CALL, {"word": VALUE_2}), result(), result(RESULT_2, 1), answer()),
              (VALUE, VALUE_2, RESULT, RESULT_2, ANSWER), (TOOL,), repair="split them into turns of one call"),
    ProbeCase("arguments_string", "Arguments as JSON text", (user(), calling(f'{{"word": "{VALUE}"}}'), result(), answer()),
              (VALUE, RESULT, ANSWER), (TOOL,), repair="parse them into an object (done on import)"),
    ProbeCase("null_content", "A tool call with null content", (user(), calling(_CALL, content=None), result(), answer()),
              (VALUE, RESULT, ANSWER), (TOOL,), repair="make it empty text (done on import)"),
    ProbeCase("list_content", "Content as a list of text parts", (user([{"type": "text", "text": USER}]), answer()), (USER, ANSWER),
              repair="join the parts into text (done on import)"),
    ProbeCase("object_content", "Content as an object", (user({"text": USER}), answer()), (USER, ANSWER), repair="quarantine the row"),
    ProbeCase("unknown_part", "Content with a part of unknown type", (user([{"type": "hologram", "hologram": USER}]), answer()), (ANSWER,),
              repair="quarantine the row"),
    ProbeCase("image_in_system", "An image in the system message", (named("system", [{"type": "image"}]), user(), answer()), (USER, ANSWER),
              repair="quarantine the row: only text can be trained on"),
    ProbeCase("video_in_system", "A video in the system message", (named("system", [{"type": "video"}]), user(), answer()), (USER, ANSWER),
              repair="quarantine the row: only text can be trained on"),
    ProbeCase("reasoning", "Reasoning in an answer", (user(), answer(reasoning=REASON)), (REASON, ANSWER),
              repair="leave reasoning sources out of the mix, or train on the answers only"),
)  # fmt: skip
