"""xLAM's form: a query, the calls that answer it and the tools, each as the JSON text of a list."""

from core.dialects.content import text_of
from core.dialects.dialect import Dialect
from core.dialects.draft import Call, Draft, RawRecord, Turn
from core.dialects.handling import Handling, Quarantined
from core.dialects.literals import NotALiteral, decoded_again
from core.dialects.message_lists import tools_of_row, with_system
from core.dialects.tool_calls import read_calls


def _read(record: RawRecord, handling: Handling) -> Draft:
    tools = tools_of_row(record, handling)
    turns = [Turn("user", text_of(record.get("query"), handling, "query"), field="query")]
    calls = _calls(record.get("answers"), handling)
    turns.append(Turn("assistant", calls=calls, field="answers"))
    return Draft(with_system(record, turns, handling), tools.tools, padded=tools.padded)


def _calls(answers: object, handling: Handling) -> list[Call]:
    if isinstance(answers, str) and answers.strip():
        try:
            answers = decoded_again(answers)
        except NotALiteral:
            raise Quarantined("bad_tool_calls", f"answers that do not parse: {answers}", "answers") from None
    if isinstance(answers, str):
        answers = None
    if isinstance(answers, dict):
        answers = [answers]
    if isinstance(answers, list):
        # A bare name and arguments is how this set writes a call, not a fault of the row.
        answers = [{"function": item} if isinstance(item, dict) and "function" not in item else item for item in answers]
    calls = read_calls(answers, handling, "answers")
    for call in calls:
        call.native = True
    return calls


XLAM = Dialect(
    "xlam_json_strings",
    "xLAM queries and calls",
    "columns query, answers and tools, the last two JSON text of lists",
    lambda keys: {"query", "answers", "tools"} <= keys,
    lambda row: isinstance(row.record["answers"], str | list | dict) or row.record["answers"] is None,
    _read,
)
