"""Reads a list of turns, whatever its keys are called: `role`/`content`, `from`/`value`, question-and-answer pairs, blocks.

It yields turns as they stand; text calls, reasoning tags, order and ids are put right later.
"""

from collections.abc import Mapping
from typing import Any

from core.dialects.blocks import has_blocks, read_blocks
from core.dialects.content import result_text, text_of
from core.dialects.draft import Turn
from core.dialects.handling import Handling, Quarantined
from core.dialects.literals import NotALiteral, parse
from core.dialects.reasoning import without_tags
from core.dialects.roles import Meaning, meaning
from core.dialects.tool_calls import calls_in_text, read_calls

ROLE_KEYS = ("role", "from", "speaker", "author", "sender")
CONTENT_KEYS = ("content", "value", "text", "message", "markdown")
_PAIRS = (
    ("input", "output"),
    ("user", "assistant"),
    ("human", "assistant"),
    ("question", "answer"),
    ("prompt", "response"),
    ("instruction", "output"),
)
_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
_FLAGS = ("train", "trainable", "weight", "loss")
"""Whether a turn is trained on, as a boolean or 0 and 1: `train` (axolotl), `weight` (OpenAI, Mistral), `loss` (ms-swift)."""
_CALL_IDS = ("tool_call_id", "tool_use_id", "call_id")


def read_turns(items: object, handling: Handling, field: str) -> list[Turn]:
    """The turns of a list of raw ones; `field` is its name in the row. Raises `Quarantined`."""
    if not isinstance(items, list):
        raise Quarantined("bad_messages", f"turns of type {type(items).__name__}", field)
    turns: list[Turn] = []
    styles: set[tuple[str | None, str | None]] = set()
    for index, item in enumerate(items):
        where = f"{field}[{index}]"
        if item is None:
            handling.repair("empty_turn_dropped", field=where)
            continue
        if not isinstance(item, dict):
            raise Quarantined("bad_message", f"a turn of type {type(item).__name__}", where)
        read = _read(item, styles, handling, where)
        for turn in read:
            turn.train = _flag(item) if turn.role == "assistant" else None
        turns += read
    if len({role for role, _ in styles}) > 1 or len({content for _, content in styles if content}) > 1:
        handling.repair("mixed_keys", field=field)
    return join_parts(turns)


def turns_in_text(text: str) -> list[Any] | None:
    """The raw turns that a text is the JSON of; None for any other text."""
    if not text.lstrip().startswith("[") or "{" not in text:
        return None
    try:
        value, _ = parse(text)
    except NotALiteral:
        return None
    return value if isinstance(value, list) and are_turns(value) else None


def are_turns(items: list[Any]) -> bool:
    """Whether every item of a list looks like a turn: an object with a role and a content."""
    return bool(items) and all(isinstance(item, dict) and item.keys() & {*ROLE_KEYS} and _content_key(item) for item in items)


def turns_in_columns(value: object) -> list[dict[str, Any]] | None:
    """The raw turns of an object of equally long lists, one for the roles and one for each other key; None for anything else."""
    if not isinstance(value, dict) or not any(key in value for key in ROLE_KEYS) or _content_key(value) is None:
        return None
    columns = {key: item for key, item in value.items() if item is not None}
    if not all(isinstance(item, list) for item in columns.values()) or len({len(item) for item in columns.values()}) != 1:
        return None
    return [dict(zip(columns, items, strict=True)) for items in zip(*columns.values(), strict=True)]


def join_parts(turns: list[Turn]) -> list[Turn]:
    """Turns that are only pieces of an assistant's (its reasoning, its call, its answer, by their role's name) put together."""
    if all(turn.part is None for turn in turns):
        return turns
    joined: list[Turn] = []
    for turn in turns:
        last = joined[-1] if joined else None
        if last is None or last.role != "assistant" or turn.role != "assistant" or not _continues(last, turn):
            joined.append(turn)
            continue
        last.content = "\n\n".join(text for text in (last.content, turn.content) if text)
        last.reasoning = "\n\n".join(text for text in (last.reasoning, turn.reasoning) if text) or None
        last.calls += turn.calls
        last.take_flag(turn)
        last.part = turn.part
    return joined


def _continues(last: Turn, turn: Turn) -> bool:
    """Whether the piece belongs to the turn before: reasoning begins a turn, calls end one."""
    if turn.part == "reasoning":
        return last.part == "reasoning"
    if turn.part == "call":
        return True
    return last.part == "reasoning"


def _read(item: Mapping[str, Any], styles: set[tuple[str | None, str | None]], handling: Handling, where: str) -> list[Turn]:
    role_key = "role" if item.get("role") is not None else next((key for key in ROLE_KEYS[1:] if item.get(key) is not None), None)
    if role_key is None:
        inner = item.get("message")
        if isinstance(inner, dict) and "role" in inner:  # an event of a log around its message
            return _read(inner, styles, handling, f"{where}.message")
        return _read_pair(item, handling, where)
    name = item[role_key]
    if isinstance(name, dict) and isinstance(name.get("role"), str):
        name = name["role"]
    content_key = _content_key(item)
    styles.add((role_key, content_key))
    if not isinstance(name, str) or not name.strip():
        raise Quarantined("missing_role", f"a role of type {type(name).__name__}: {name!r:.80}", f"{where}.{role_key}")
    role = meaning(name)
    if role is None:
        handling.refuse("unknown_role", name, f"{where}.{role_key}")
        return []
    if role.repair:
        handling.repair(role.repair, name, f"{where}.{role_key}")
    content = item[content_key] if content_key else None
    if content_key is None and not any(item.get(key) for key in ("tool_calls", "function_call", *_REASONING_KEYS)):
        raise Quarantined("bad_message", "a turn without content", where)
    content_field = f"{where}.{content_key}" if content_key else where
    if isinstance(content, list) and has_blocks(content):
        return read_blocks(content, role.role, handling, content_field)
    if role.role == "assistant":
        return [_read_assistant(item, role, content, handling, where, content_field)]
    if read_calls(item.get("tool_calls"), handling, f"{where}.tool_calls"):
        raise Quarantined("bad_tool_calls", f"tool calls in a turn of the {role.role}", f"{where}.tool_calls")
    if role.role == "tool":
        return [_read_result(item, role, content, handling, content_field)]
    return [Turn(role.role, text_of(content, handling, content_field), name=_text(item.get("name")), field=content_field)]


def _content_key(item: Mapping[str, Any]) -> str | None:
    """The key of what was said: the first with something in it, else the first that is there."""
    if item.get("content") is not None:
        return "content"
    present = [key for key in CONTENT_KEYS if key in item]
    return next((key for key in present if item[key] is not None), present[0] if present else None)


def _read_pair(item: Mapping[str, Any], handling: Handling, where: str) -> list[Turn]:
    for asked, said in _PAIRS:
        if asked in item and said in item:
            system = item.get("system")
            return [
                *([Turn("system", system, field=f"{where}.system")] if isinstance(system, str) else []),
                Turn("user", text_of(item[asked], handling, f"{where}.{asked}"), field=f"{where}.{asked}"),
                Turn("assistant", text_of(item[said], handling, f"{where}.{said}"), field=f"{where}.{said}"),
            ]
    raise Quarantined("missing_role", "a turn with the keys " + ", ".join(map(str, item)), where)


def _read_assistant(item: Mapping[str, Any], role: Meaning, content: Any, handling: Handling, where: str, field: str) -> Turn:
    if role.part == "call":
        return _read_call_turn(item, content, handling, field)
    text = text_of(content, handling, field)
    if role.part == "reasoning":
        return Turn("assistant", reasoning=text.strip() or None, part="reasoning", field=field)
    calls = read_calls(item.get("tool_calls"), handling, f"{where}.tool_calls")
    if not calls and item.get("function_call"):
        calls = read_calls({"function": item["function_call"]}, handling, f"{where}.function_call")
        for call in calls:
            call.native = True
    return Turn(
        "assistant",
        text,
        reasoning=_reasoning(item, text, handling, where),
        calls=calls,
        name=_text(item.get("name")),
        part=role.part,
        field=field,
    )


def _reasoning(item: Mapping[str, Any], text: str, handling: Handling, where: str) -> str | None:
    """Reasoning in a field of its own; SWE-agent's `thought` repeats what the content says and is none then."""
    found: dict[str, None] = {}
    for key in _REASONING_KEYS:
        value = item.get(key)
        if value is None or isinstance(value, bool):
            continue
        written = text_of(value, handling, f"{where}.{key}")
        if written.strip():
            found[without_tags(written)] = None
    thought = item.get("thought")
    if isinstance(thought, str) and thought.strip() and "action" not in item and thought.strip() not in text:
        found[thought] = None
    if len(found) > 1:
        handling.repair("reasoning_merged", field=where)
    return "\n\n".join(found) or None


def _read_call_turn(item: Mapping[str, Any], content: Any, handling: Handling, field: str) -> Turn:
    """A turn whose role says that it is a call: its content is one or several, as JSON, a literal or tagged text."""
    calls = read_calls(item.get("tool_calls"), handling, field)
    if calls:
        return Turn("assistant", text_of(content, handling, field), calls=calls, part="call", field=field)
    if isinstance(content, dict | list):
        calls = read_calls(content, handling, field)
        for call in calls:
            call.native = True
        return Turn("assistant", calls=calls, part="call", field=field)
    text = text_of(content, handling, field)
    found = calls_in_text(text, handling, field)
    return Turn("assistant", "" if found else text, calls=found or [], part="call", field=field)


def _read_result(item: Mapping[str, Any], role: Meaning, content: Any, handling: Handling, field: str) -> Turn:
    if role.either:
        value = content if isinstance(content, str) else ""
        calls = calls_in_text(value, handling, field) if value.lstrip()[:1] in ("{", "[") and '"arguments"' in value else None
        if calls:
            return Turn("assistant", calls=calls, part="call", field=field)
    call_id = next((found for key in _CALL_IDS if (found := _id(item.get(key))) is not None), None)
    several = item.get("tool_call_ids")
    if call_id is None and isinstance(several, list) and several:
        call_id = _id(several[0])
    # A name beside a legacy function result is how it says which call it answers; beside an id it is kept as it stands.
    return Turn(
        "tool",
        result_text(content, handling, field),
        call_id=call_id,
        name=_text(item.get("name")),
        field=field,
        native=role.either or "from" in item,
    )


def _flag(item: Mapping[str, Any]) -> bool | None:
    """What a raw turn says about training on it; False wherever one of its flags does."""
    found = [bool(item[key]) for key in _FLAGS if isinstance(item.get(key), bool | int | float) and item[key] in (0, 1)]
    return all(found) if found else None


def _id(value: Any) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
