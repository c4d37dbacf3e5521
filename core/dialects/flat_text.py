"""Whole conversations in one text: Glaive's marked transcript, and text already formatted for a known template."""

import re

from core.dialects.dialect import Dialect
from core.dialects.draft import Draft, RawRecord
from core.dialects.handling import Handling, Quarantined
from core.dialects.message_lists import tools_of_row
from core.dialects.messages import read_turns

_MARK = re.compile(r"(?:\A|(?<=\n)|(?<=\|>))[ \t]*(SYSTEM|USER|ASSISTANT|FUNCTION RESPONSE):[ ]?")
_END = "<|endoftext|>"

_TEXT_COLUMNS = ("text", "formatted", "formatted_text", "conversation", "content")
_BEGINNINGS = ("<s>", "<bos>", "<|begin_of_text|>", _END)
_FORMATS = (
    ("<|im_start|>", re.compile(r"<\|im_start\|>([^\n<]{1,40})\n"), ("<|im_end|>",)),
    ("<|start_header_id|>", re.compile(r"<\|start_header_id\|>([^<]{1,40})<\|end_header_id\|>\n*"), ("<|eot_id|>", "<|eom_id|>")),
    ("<start_of_turn>", re.compile(r"<start_of_turn>([^\n<]{1,40})\n"), ("<end_of_turn>",)),
    ("<|user|>", re.compile(r"<\|(system|user|assistant|tool|observation)\|>\n?"), ("<|end|>", "</s>", _END)),
    # openassistant-guanaco writes the next mark right behind the text before it.
    ("### Human:", re.compile(r"### (Human|Assistant):[ ]?"), ()),
)
_QUESTIONS = ("prompt", "input", "question", "query", "instruction")
_ANSWERS = ("completion", "response", "output", "answer")
_UNANSWERED = re.compile(r"\s*(?:<think>\s*(?:</think>\s*)?)?\Z")
"""What a generation prompt ends on behind the assistant's header."""
_HEADERS = ("[INST]", "<<SYS>>", "[SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "<|start|>", "<|message|>", "<｜User｜>")
_INSTRUCTED = re.compile(r"\[INST\](.*?)(?:\[/INST\](.*?))?(?=\[INST\]|\Z)", re.DOTALL)
_INNER_SYSTEM = re.compile(r"\s*<<SYS>>(.*?)<</SYS>>", re.DOTALL)
_OUTER_SYSTEM = re.compile(r"(?:\s*<s>)?\s*\[SYSTEM_PROMPT\](.*?)\[/SYSTEM_PROMPT\]", re.DOTALL)
_MISTRAL_TOOLS = ("[AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]")


def _read_glaive(record: RawRecord, handling: Handling) -> Draft:
    items: list[dict[str, str]] = []
    system = record.get("system")
    if isinstance(system, str):
        items.append({"role": "system", "content": system.strip().removeprefix("SYSTEM:").strip()})
    chat = record.get("chat")
    if not isinstance(chat, str):
        raise Quarantined("no_messages", f"a chat of type {type(chat).__name__}", "chat")
    marks = [mark for mark in _MARK.finditer(chat) if _at_break(chat, mark.start())]
    for index, mark in enumerate(marks):
        end = marks[index + 1].start() if index + 1 < len(marks) else len(chat)
        text = chat[mark.end() : end].strip().removesuffix(_END).rstrip()
        items.append({"role": mark[1], "content": text})
    turns = read_turns(items, handling, "chat")
    for turn in turns:
        turn.native = True
    tools = tools_of_row(record, handling)
    return Draft(turns, tools.tools, padded=tools.padded)


def _at_break(text: str, position: int) -> bool:
    """Whether a mark stands after an empty line or an end token, not on a line inside somebody's text."""
    before = text[max(0, position - 64) : position].rstrip(" \t")
    return not before.strip() or before.endswith(("\n\n", _END, "\n\r\n")) or before.rstrip().endswith(_END)


def _formatted(record: RawRecord) -> tuple[str, str] | None:
    """The column that begins with a template's header, and the text; of a prompt column with the answer behind it."""
    for key in (*_TEXT_COLUMNS, *_QUESTIONS):
        value = record.get(key)
        if isinstance(value, str) and _has_header(value):
            answers = (record.get(name) for name in _ANSWERS) if key in _QUESTIONS else ()
            return key, value + next((answer for answer in answers if isinstance(answer, str)), "")
    return None


def _has_header(text: str) -> bool:
    lead = text[:200].lstrip()
    for beginning in _BEGINNINGS:
        lead = lead.removeprefix(beginning).lstrip()
    return lead.startswith(_HEADERS) or any(header.match(lead) for _, header, _ in _FORMATS)


def _read_formatted(record: RawRecord, handling: Handling) -> Draft:
    key, text = _formatted(record) or ("text", "")
    if "[INST]" in text and (items := _instructed_items(text)):
        return Draft(read_turns(items, handling, key))
    for sign, header, endings in _FORMATS:
        if sign in text:
            items = _formatted_items(text, header, endings)
            if items:
                return Draft(read_turns(items, handling, key))
    raise Quarantined("unknown_template_text", text, key)


def _instructed_items(text: str) -> list[dict[str, str]]:
    """Llama 2 and Mistral: `[INST] question [/INST] answer</s>`, the system text before or inside the first question.

    Nothing for texts with Mistral's tool marks, or with words between a start of text and its first mark: no piece may get lost.
    """
    outer = _OUTER_SYSTEM.match(text)
    rest = text[outer.end() :] if outer else text
    first = rest.find("[INST]")
    if any(mark in text for mark in _MISTRAL_TOOLS) or rest[:first].replace("<s>", "").strip():
        return []
    items = [{"role": "system", "content": outer[1].strip()}] if outer else []
    for found in _INSTRUCTED.finditer(rest, first):
        asked, said = found[1], found[2]
        if inner := _INNER_SYSTEM.match(asked):
            items.append({"role": "system", "content": inner[1].strip()})
            asked = asked[inner.end() :]
        items.append({"role": "user", "content": asked.strip()})
        answer = _without_ends(said or "")
        if answer or (said is not None and found.end() < len(rest)):
            items.append({"role": "assistant", "content": answer})
    return items


def _without_ends(text: str) -> str:
    """An answer without the marks that end it and begin the next exchange."""
    text = text.strip()
    while text != (shorter := text.removesuffix("<s>").rstrip().removesuffix("</s>").rstrip()):
        text = shorter
    return text


def _formatted_items(text: str, header: re.Pattern[str], endings: tuple[str, ...]) -> list[dict[str, str]]:
    headers = list(header.finditer(text))
    items: list[dict[str, str]] = []
    for index, found in enumerate(headers):
        end = headers[index + 1].start() if index + 1 < len(headers) else len(text)
        body = text[found.end() : end]
        if items and end == len(text) and _UNANSWERED.match(body):
            break  # the prompt for an answer that was never given
        for ending in endings:
            body = body.partition(ending)[0]
        items.append({"role": found[1].strip(), "content": body.removesuffix("\n") if endings else body.strip()})
    return items


GLAIVE = Dialect(
    "glaive_flat",
    "Glaive transcript",
    "a chat text with USER:, ASSISTANT: and FUNCTION RESPONSE:, and a system text",
    lambda keys: "chat" in keys,
    lambda row: row.is_text("chat") and ("USER:" in row.record["chat"] or "ASSISTANT:" in row.record["chat"]),
    _read_glaive,
)
PREFORMATTED = Dialect(
    "preformatted_text",
    "Text formatted for a template",
    "one text with a template's header tokens, such as <|im_start|>",
    lambda keys: any(key in keys for key in (*_TEXT_COLUMNS, *_QUESTIONS)),
    lambda row: row.turns_key is None and _formatted(row.record) is not None,
    _read_formatted,
)
