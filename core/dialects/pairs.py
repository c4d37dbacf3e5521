"""A question in one column and its answer in another; prompts without an answer; preference pairs; token ids."""

from typing import Any

from core.dialects.content import text_of
from core.dialects.dialect import Dialect, Outline
from core.dialects.draft import Draft, RawRecord, Turn
from core.dialects.handling import Handling, Quarantined
from core.dialects.message_lists import read_list, tools_of_row, with_system
from core.dialects.messages import read_turns, turns_in_text

SEPARATOR = "\n\n"
"""Between Alpaca's instruction and its input."""

_ASKED = ("instruction", "prompt", "question", "query", "problem", "user", "human", "input", "text")
_SAID = ("output", "response", "completion", "solution", "answer", "assistant", "generation")
_TESTED = frozenset(("canonical_solution", "entry_point", "test_list"))
_GRADED = frozenset(("subject", "type", "unique_id"))
_GOLD = ("canonical_solution", "solution", "answer", "code")
_PROMPTS = ("turns", "prompt", "question", "query", "problem", "instruction", "user", "text")


def _pair(keys: frozenset[str]) -> tuple[str, str] | None:
    asked = next((key for key in _ASKED if key in keys and key != "text"), None)
    said = next((key for key in _SAID if key in keys), None)
    return (asked, said) if asked and said else None


def _is_pair(keys: frozenset[str]) -> bool:
    return _pair(keys) is not None


def _read_pair(record: RawRecord, handling: Handling) -> Draft:
    pair = _pair(frozenset(record))
    if pair is None:
        raise Quarantined("dialect_mismatch", "no question and answer among: " + ", ".join(map(str, list(record)[:12])))
    asked, said = pair
    question = record[asked]
    turns = _earlier(record.get("history"), handling) + _asked(question, handling, asked)
    context = record.get("input") if asked == "instruction" else None
    if context is not None and turns:
        text = text_of(context, handling, "input")
        if text.strip():
            turns[-1].content = SEPARATOR.join(part for part in (turns[-1].content, text) if part.strip())
    answer = record[said]
    if isinstance(answer, list) and answer and all(isinstance(item, dict) for item in answer):
        turns += read_turns(answer, handling, said)
    else:
        turns.append(Turn("assistant", text_of(answer, handling, said), field=said))
    tools = tools_of_row(record, handling)
    return Draft(with_system(record, turns, handling), tools.tools, padded=tools.padded)


def _asked(question: Any, handling: Handling, field: str) -> list[Turn]:
    """The turns of a prompt column: its text, or the turns that it lists."""
    if isinstance(question, str):
        question = turns_in_text(question) or question
    if isinstance(question, list) and any(isinstance(item, dict) for item in question):
        return read_turns(question, handling, field)
    return [Turn("user", text_of(question, handling, field), field=field)]


def _earlier(history: Any, handling: Handling) -> list[Turn]:
    """Alpaca's `history`: earlier questions, each with its answer."""
    pairs = history if isinstance(history, list) else []
    return read_turns(
        [dict(zip(("question", "answer"), pair, strict=True)) if isinstance(pair, list) and len(pair) == 2 else pair for pair in pairs],
        handling,
        "history",
    )


def _read_gold(record: RawRecord, handling: Handling) -> Draft:
    """A benchmark's gold answer carries marks (`<<2+3=5>>`, `####`) that no target should learn to say."""
    prompt = _read_prompt(record, handling)
    gold = next((key for key in _GOLD if isinstance(record.get(key), str)), None)
    if gold and not handling.repair("gold_answer_left_out", field=gold):
        prompt.turns.append(Turn("assistant", record[gold], field=gold))
    return prompt


def _read_prompt(record: RawRecord, handling: Handling) -> Draft:
    key = next((key for key in _PROMPTS if record.get(key) is not None), None)
    if key is None:
        raise Quarantined("no_user", "the prompt is null", next((name for name in _PROMPTS if name in record), None))
    value = record[key]
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        turns = [Turn("user", value[0], field=f"{key}[0]")]
        return Draft(with_system(record, turns, handling), pending=tuple(value[1:]))
    if isinstance(value, list):
        turns = read_turns(value, handling, key)
    else:
        text = text_of(value, handling, key)
        context = record.get("input") if key == "instruction" else None
        if isinstance(context, str) and context.strip():
            text = text + SEPARATOR + context
        turns = [Turn("user", text, field=key)]
    tools = tools_of_row(record, handling)
    return Draft(with_system(record, turns, handling), tools.tools, padded=tools.padded)


def _read_chosen(record: RawRecord, handling: Handling) -> Draft:
    handling.repair("preference_chosen_only", field="rejected")
    chosen: Any = record.get("chosen")
    if isinstance(chosen, str):
        chosen = turns_in_text(chosen) or chosen
    if isinstance(chosen, dict):
        chosen = [chosen]
    if isinstance(chosen, list):
        turns = read_turns(chosen, handling, "chosen")
    else:
        text = text_of(chosen, handling, "chosen")
        turns = _transcript(text) or [Turn("assistant", text, field="chosen")]
    if all(turn.role != "user" for turn in turns):
        if Outline(record).turns_key:
            turns = read_list(record, handling).turns + turns
        elif key := next((key for key in _ASKED if record.get(key) is not None), None):
            turns = _asked(record[key], handling, key) + turns
    return Draft(with_system(record, turns, handling), tools_of_row(record, handling).tools)


def _transcript(text: str) -> list[Turn]:
    """The turns of a `Human: … Assistant: …` text, as preference sets write a whole conversation."""
    if not text.lstrip().startswith("Human:"):
        return []
    turns: list[Turn] = []
    for piece in ("\n\n" + text.lstrip()).split("\n\nHuman:")[1:]:
        asked, *answers = piece.split("\n\nAssistant:")
        turns.append(Turn("user", asked.strip(), field="chosen"))
        turns += [Turn("assistant", answer.strip(), field="chosen") for answer in answers]
    return turns


def _refuse_tokens(record: RawRecord, handling: Handling) -> Draft:  # noqa: ARG001 - every dialect converts by the same call
    raise Quarantined("pretokenized", "columns " + ", ".join(map(str, list(record)[:8])), "input_ids")


def _evaluated(keys: frozenset[str]) -> bool:
    """Whether these are a benchmark's columns: code with its tests, or a mathematics problem with its level and subject."""
    return bool(keys & _TESTED) or ({"problem", "level"} <= keys and bool(keys & _GRADED))


def _integers(row: Outline) -> bool:
    ids = row.record["input_ids"]
    return isinstance(ids, list) and all(isinstance(item, int) for item in ids[:16])


PRETOKENIZED = Dialect(
    "pretokenized",
    "Token ids",
    "a column input_ids of integers",
    lambda keys: "input_ids" in keys,
    _integers,
    _refuse_tokens,
)
PREFERENCE = Dialect(
    "preference_pair",
    "Preference pairs",
    "columns chosen and rejected",
    lambda keys: "chosen" in keys and "rejected" in keys,
    lambda row: row.record["chosen"] is not None,
    _read_chosen,
)
ALPACA = Dialect(
    "alpaca",
    "Alpaca",
    "columns instruction, input and output",
    _is_pair,
    lambda row: "instruction" in row.keys and "input" in row.keys,
    _read_pair,
)
INSTRUCTION = Dialect(
    "instruction_pair",
    "Instruction and answer",
    "columns instruction and output, response or completion, without input",
    _is_pair,
    lambda row: "instruction" in row.keys,
    _read_pair,
)
PROBLEM = Dialect(
    "problem_solution",
    "Problem and solution",
    "columns problem and solution",
    _is_pair,
    lambda row: "problem" in row.keys and "solution" in row.keys,
    _read_pair,
)
SYSTEM_QUESTION = Dialect(
    "system_question_response",
    "System prompt, question and response",
    "columns system_prompt, question and response",
    _is_pair,
    lambda row: {"system_prompt", "question", "response"} <= row.keys,
    _read_pair,
)
QUESTION_ANSWER = Dialect(
    "question_answer",
    "Question and gold answer",
    "columns question (or problem) and answer, the answer being a benchmark's",
    lambda keys: bool(keys & {"question", "problem"}) and "answer" in keys and not keys & {"response", "solution"},
    lambda row: "response" not in row.keys,
    _read_gold,
)
PROMPT_RESPONSE = Dialect(
    "prompt_response",
    "Prompt and response",
    "a column that asks and one that answers",
    _is_pair,
    lambda row: _pair(row.keys) is not None,
    _read_pair,
)
EVALUATION = Dialect(
    "prompt_only",
    "Prompts without an answer",
    "a benchmark's prompt, or a prompt column and none that answers",
    lambda keys: bool(keys & {*_PROMPTS}),
    lambda row: _evaluated(row.keys),
    _read_gold,
)
PROMPT_ONLY = Dialect(
    "prompt_only",
    "Prompts without an answer",
    "a prompt, question, query or turns column and none that answers",
    lambda keys: bool(keys & {*_PROMPTS}) and not (keys <= {"text"}),
    lambda row: _pair(row.keys) is None,
    _read_gold,
)
