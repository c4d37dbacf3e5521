"""Conversations with tools: one call, two at once, a follow-up, none needed, or an argument that is missing.

It knows how such talks go. The tools and what is said around each stand in the files that `toolbox` reads.
"""

import json
import random

from core.conversation import Conversation, Message, ToolCall
from data.generator import arithmetic, facts
from data.generator.phrasing import OFFERS, asked, settled
from data.generator.toolbox import TOOLS, Tool, Value
from data.generator.words import lowered, pick

SYSTEMS = (
    "",
    "",
    "",
    "You are a helpful assistant with tools.",
    "Use the tools when they help.",
    "You are an office assistant.",
    "Call a tool when you need one, else answer yourself.",
)

_ANNOUNCED = (
    "I will look that up for you with one of my tools.",
    "Let me call the right tool for this request.",
    "I can do that for you. One moment, please.",
)
"""What is said before a call that was not thought about."""
_THOUGHTS = (
    "The user wants something that {name} can do. I will call it with the values from the request.",
    "I should use {name} here. The request has all the values that it needs.",
    "This needs the tool {name}. I will take the values from what the user said.",
)
_DONE = (
    "The result is there. I can answer the user now.",
    "I have what I need. Now I can tell the user.",
    "The tool gave me the result. I will tell the user what it says.",
)
_FOUND = ("I have looked it up for you.", "Here is what I found.", "It is done.")


def offered(rng: random.Random, used: list[Tool], extra: int = 2) -> list[Tool]:
    """The used tools among up to `extra` others, in drawn order."""
    others = rng.sample([t for t in TOOLS if t not in used], rng.randint(0, extra))
    tools = list(dict.fromkeys(used)) + others
    rng.shuffle(tools)
    return tools


def _thought(tool: Tool) -> str:
    return settled(tool.name, _THOUGHTS).format(name=tool.name)


def _calling(thought: str | None, *calls: ToolCall) -> Message:
    """The turn that calls: thought about, or announced as the first tool always is."""
    spoken = "" if thought else settled(calls[0].name, _ANNOUNCED)
    return Message("assistant", spoken, reasoning_content=thought, tool_calls=calls)


def _told(*answered: tuple[Tool, dict[str, Value], dict[str, Value]]) -> str:
    """What the tools returned, opened and closed as the first of them always is."""
    name = answered[0][0].name
    return " ".join([settled(name, _FOUND), *(tool.told(arguments, result) for tool, arguments, result in answered), settled(name, OFFERS)])


def _result(result: dict[str, Value]) -> str:
    return json.dumps(result, ensure_ascii=False)


def _head(rng: random.Random) -> list[Message]:
    system = pick(rng, SYSTEMS)
    return [Message("system", system)] if system else []


def _round(rng: random.Random, tool: Tool, ask: str, arguments: dict[str, Value], *, number: int, think: bool) -> list[Message]:
    call = ToolCall(f"call_{number}", tool.name, dict(arguments))
    result = tool.returned(rng, arguments)
    return [
        Message("user", ask),
        _calling(_thought(tool) if think else None, call),
        Message("tool", _result(result), tool_call_id=call.id, name=tool.name),
        Message(
            "assistant",
            _told((tool, arguments, result)),
            reasoning_content=settled(tool.name, _DONE) if think and rng.random() < 0.6 else None,
        ),
    ]


def single(rng: random.Random, think_share: float = 0.15) -> Conversation:
    """One request, one call, its result, the answer."""
    tool = pick(rng, TOOLS)
    ask, arguments = tool.request(rng)
    messages = _round(rng, tool, asked(rng, ask), arguments, number=0, think=rng.random() < think_share)
    return Conversation(tuple(_head(rng) + messages), tuple(t.schema() for t in offered(rng, [tool])))


def parallel(rng: random.Random, think_share: float = 0.1) -> Conversation:
    """Two requests in one turn, answered by two calls at once."""
    first = pick(rng, TOOLS)
    second = first if rng.random() < 0.4 else pick(rng, TOOLS)
    (ask_a, args_a), (ask_b, args_b) = first.request(rng), second.request(rng)
    ask = pick(rng, ("{a} And {b}", "{a} Also, {b}", "Two things: {a} Then {b}", "{A} {B}")).format(
        a=ask_a, b=lowered(ask_b), A=ask_a, B=ask_b
    )
    result_a, result_b = first.returned(rng, args_a), second.returned(rng, args_b)
    think = rng.random() < think_share
    calls = (ToolCall("call_0", first.name, dict(args_a)), ToolCall("call_1", second.name, dict(args_b)))
    messages = [
        Message("user", ask),
        _calling(f"The user wants two things. Two calls are needed: {first.name} and {second.name}." if think else None, *calls),
        Message("tool", _result(result_a), tool_call_id="call_0", name=first.name),
        Message("tool", _result(result_b), tool_call_id="call_1", name=second.name),
        Message("assistant", _told((first, args_a, result_a), (second, args_b, result_b))),
    ]
    return Conversation(tuple(_head(rng) + messages), tuple(t.schema() for t in offered(rng, [first, second], 1)))


def several(rng: random.Random, think_share: float = 0.12) -> Conversation:
    """Two or three requests one after the other, each with its call."""
    tools = [pick(rng, TOOLS) for _ in range(rng.choice((2, 2, 3)))]
    if rng.random() < 0.4:
        tools = [tools[0]] * len(tools)
    messages: list[Message] = []
    think = rng.random() < think_share
    for number, tool in enumerate(tools):
        ask, arguments = tool.request(rng)
        follow = pick(rng, ("{}", "Thanks. {}", "Good. {}", "And now: {}")).format(ask) if number else asked(rng, ask)
        messages += _round(rng, tool, follow, arguments, number=number, think=think)
    return Conversation(tuple(_head(rng) + messages), tuple(t.schema() for t in offered(rng, tools, 1)))


def unneeded(rng: random.Random) -> Conversation:
    """Tools are offered, but the question needs none."""
    tools = rng.sample(TOOLS, rng.randint(1, 2))
    if rng.random() < 0.6:
        ask, answer = facts.question(rng)
    else:
        item = arithmetic.problem(rng)
        ask, answer = item.question, arithmetic.solution(random.Random(0), item).content
    return Conversation((*_head(rng), Message("user", asked(rng, ask)), Message("assistant", answer)), tuple(t.schema() for t in tools))


def missing(rng: random.Random) -> Conversation:
    """The request names the tool but not a needed argument; the assistant asks for it, gets it and calls."""
    tool = pick(rng, [t for t in TOOLS if sum(not p.optional for p in t.parameters) == 1 and t.parameters[0].type == "string"])
    needed = next(p for p in tool.parameters if not p.optional)
    _, arguments = tool.request(rng)
    while list(arguments) != [needed.name]:
        _, arguments = tool.request(rng)
    action = tool.description[:1].lower() + tool.description[1:].rstrip(".")
    opening = pick(rng, ("Please {}.", "I would like to {}.", "Can you {}?")).format(action)
    messages = [
        Message("user", opening),
        Message("assistant", f"I can do that for you. Please tell me one thing first: the {needed.name.replace('_', ' ')}."),
        *_round(rng, tool, pick(rng, ("{}", "It is {}.", "Take {}.")).format(arguments[needed.name]), arguments, number=0, think=False),
    ]
    return Conversation(tuple(_head(rng) + messages), tuple(t.schema() for t in offered(rng, [tool], 1)))


def any_talk(rng: random.Random) -> Conversation:
    """One of all these, single calls most often."""
    roll = rng.random()
    if roll < 0.52:
        return single(rng)
    if roll < 0.68:
        return parallel(rng)
    if roll < 0.82:
        return several(rng)
    return unneeded(rng) if roll < 0.93 else missing(rng)
