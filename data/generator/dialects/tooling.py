"""Raw rows of the tool-calling sets: Glaive, Hermes (both), Qwen3.5 tool calling, ToolMind, xLAM."""

import json
import random
from collections.abc import Iterable

from core.conversation import Conversation, JSONObject, Message, Tool, ToolCall
from data.generator.dialects.chat import uuid
from data.generator.words import pick

_PYTHON_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "List[str]"}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _functions(tools: Iterable[Tool]) -> list[JSONObject]:
    return [tool["function"] for tool in tools]


def glaive(_: random.Random, conversation: Conversation) -> JSONObject:
    """`system, chat`: flat text with markers; arguments are JSON inside single quotes inside what only looks like JSON."""
    if conversation.tools:
        listed = "\n\n".join(json.dumps(f, indent=4, ensure_ascii=False) for f in _functions(conversation.tools))
        system = f"SYSTEM: You are a helpful assistant with access to the following functions. Use them if required -\n{listed}\n"
    else:
        system = "SYSTEM: You are a helpful assistant, with no access to external functions."
    parts: list[str] = []
    for message in conversation.messages:
        if message.role == "user":
            parts.append(f"USER: {message.content}")
        elif message.role == "tool":
            parts.append(f"FUNCTION RESPONSE: {message.content}")
        elif message.tool_calls:
            call, spoken = message.tool_calls[0], f"{message.content} " if message.content else ""
            parts.append(
                f'ASSISTANT: {spoken}<functioncall> {{"name": "{call.name}", "arguments": \'{_json(call.arguments)}\'}} <|endoftext|>'
            )
        elif message.role == "assistant":
            parts.append(f"ASSISTANT: {message.content} <|endoftext|>")
    return {"system": system, "chat": "\n\n\n".join(parts) + "\n\n\n"}


_HERMES_SYSTEM = (
    "You are a function calling AI model. <tools> {tools} </tools> "
    "For each function call return a json object within <tool_call></tool_call> tags."
)
_SPOKEN_SYSTEMS = ("You are a helpful assistant with tools.", "Use the tools when they help.", "You are an office assistant.")


def _python_call(call: ToolCall) -> str:
    return f"<tool_call>\n{ {'arguments': call.arguments, 'name': call.name}!r}\n</tool_call>"


def _json_call(call: ToolCall) -> str:
    return f"<tool_call>\n{_json({'name': call.name, 'arguments': call.arguments})}\n</tool_call>"


def _merged_results(messages: Iterable[Message]) -> list[Message | list[Message]]:
    merged: list[Message | list[Message]] = []
    for message in messages:
        if message.role != "tool":
            merged.append(message)
        elif merged and isinstance(merged[-1], list):
            merged[-1].append(message)
        else:
            merged.append([message])
    return merged


def hermes(rng: random.Random, conversation: Conversation, *, single: bool = False) -> JSONObject:
    """`id, conversations, tools, category, subcategory, task`; call bodies are Python dicts; single-turn rows end on the call."""
    rows = [{"from": "system", "value": _HERMES_SYSTEM.format(tools=_json(list(conversation.tools)))}]
    for item in _merged_results(m for m in conversation.messages if m.role != "system"):
        if isinstance(item, list):
            if single:
                break
            bodies = (f'<tool_response>\n{{"name": "{m.name}", "content": {m.content}}}\n</tool_response>' for m in item)
            rows.append({"from": "tool", "value": "\n".join(bodies)})
        elif item.role == "user":
            rows.append({"from": "human", "value": item.content})
        else:
            rows.append({"from": "gpt", "value": "\n".join(filter(None, (item.content, *map(_python_call, item.tool_calls))))})
    name = conversation.tools[0]["function"]["name"]
    return {
        "id": uuid(rng),
        "conversations": rows,
        "tools": _json(list(conversation.tools)),
        "category": pick(rng, ("Daily Life", "Office Work", "Travel and Transport")),
        "subcategory": name.replace("_", " ").title(),
        "task": f"Use of {name}",
    }


def hermes_single(rng: random.Random, conversation: Conversation) -> JSONObject:
    """A Hermes row that ends on the call."""
    return hermes(rng, conversation, single=True)


def qwen35_tools(rng: random.Random, conversation: Conversation) -> JSONObject:
    """`messages` alone: tools stand in the system text; half the rows split reasoning, calls and answers into roles of their own."""
    listed = "\n".join(_json(t) for t in conversation.tools)
    system = f"{pick(rng, _SPOKEN_SYSTEMS)}\n<tools>\n{listed}\n</tools>"
    rows: list[JSONObject] = [{"role": "system", "content": system}]
    apart = rng.random() < 0.6
    for message in conversation.messages:
        if message.role == "system":
            continue
        if message.role == "user":
            rows.append({"role": "user", "content": message.content})
        elif message.role == "tool":
            content = message.content if apart else f"<tool_response>\n{message.content}\n</tool_response>"
            rows.append({"role": "tool_output" if apart else "tool", "content": content})
        elif apart:
            if message.reasoning_content is not None:
                rows.append({"role": "reasoning", "content": message.reasoning_content})
            rows += [{"role": "tool_call", "content": _json({"name": c.name, "arguments": c.arguments})} for c in message.tool_calls]
            if message.content and not message.tool_calls:
                rows.append({"role": "answer", "content": message.content})
        else:
            thought = f"<think>\n{message.reasoning_content}\n</think>\n\n" if message.reasoning_content is not None else ""
            rows.append(
                {"role": "assistant", "content": thought + "\n".join(filter(None, (message.content, *map(_json_call, message.tool_calls))))}
            )
    return {"messages": rows}


def toolmind(rng: random.Random, conversation: Conversation) -> JSONObject:
    """`conversations` with OpenAI keys and `tools`; `<think>` inline, arguments as object or string, a few results encoded twice."""
    as_text = rng.random() < 0.4
    rows: list[JSONObject] = []
    for message in conversation.messages:
        content = message.content
        if message.reasoning_content is not None:
            content = f"<think>\n{message.reasoning_content}\n</think>\n{content}"
        if message.role == "tool" and rng.random() < 0.02:
            content = _json(content)
        row: JSONObject = {"role": message.role, "content": content}
        if message.tool_calls:
            row["tool_calls"] = [
                {"type": "function", "function": {"name": c.name, "arguments": _json(c.arguments) if as_text else c.arguments}}
                for c in message.tool_calls
            ]
        rows.append(row)
    return {"conversations": rows, "tools": list(conversation.tools)}


def _xlam_tool(function: JSONObject) -> JSONObject:
    parameters: JSONObject = {}
    required = function["parameters"]["required"]
    for name, schema in function["parameters"]["properties"].items():
        kind = _PYTHON_TYPES[schema["type"]] + ("" if name in required else ", optional")
        parameters[name] = {"description": schema["description"], "type": kind, **({} if name in required else {"default": ""})}
    return {"name": function["name"], "description": function["description"], "parameters": parameters}


def xlam(number: int, conversation: Conversation) -> JSONObject:
    """`id, query, answers, tools`: JSON arrays as strings, parameters with Python type names, no results."""
    ask = next(m for m in conversation.messages if m.role == "user")
    calls = next(m.tool_calls for m in conversation.messages if m.role == "assistant")
    answers = [{"name": c.name, "arguments": c.arguments} for c in calls]
    tools = [_xlam_tool(f) for f in _functions(conversation.tools)]
    return {"id": number, "query": ask.content, "answers": _json(answers), "tools": _json(tools)}
