"""Every repair and every quarantine reason by name, and the policy that says what to do about each.

One sentence per code is all the documentation there is: pages, the ledger and the tests read it here. It does not know
rows or dialects.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast, get_args

from core.errors import InputError

Action: TypeAlias = Literal["repair", "quarantine", "keep"]
Kind: TypeAlias = Literal["repair", "quarantine"]


class BadPolicy(InputError):
    """A policy that names an unknown code, or asks of a code what it cannot do."""


@dataclass(frozen=True)
class Code:
    """One thing that can be wrong with a row: what is done about it unless the policy says otherwise, and what else could be."""

    code: str
    kind: Kind
    sentence: str
    default: Action
    actions: tuple[Action, ...]


def _repair(code: str, sentence: str, *, keep: bool = True) -> Code:
    return Code(code, "repair", sentence, "repair", ("repair", "quarantine", "keep") if keep else ("repair", "quarantine"))


def _reason(code: str, sentence: str, *others: Action) -> Code:
    return Code(code, "quarantine", sentence, "quarantine", ("quarantine", *others))


_ALL = (
    # Text
    _repair("lone_surrogate_replaced", "Half of a surrogate pair, which no file can hold, became U+FFFD.", keep=False),
    _repair("nul_removed", "NUL characters were removed."),
    _repair("bom_removed", "A byte order mark at the beginning of a text or a column name was removed."),
    _repair("non_finite_number_nulled", "NaN or an infinity in arguments or tools, which JSON cannot hold, became null.", keep=False),
    _repair("html_to_markdown", "Turns that were HTML became Markdown, without the page's buttons and counters."),
    # Content
    _repair("null_content_emptied", "A turn whose content was null got empty text.", keep=False),
    _repair("number_content_written", "A turn whose content was a number got the number's text.", keep=False),
    _repair("content_parts_joined", "Content given as a list of text parts became one text.", keep=False),
    _repair("tool_result_serialised", "A tool result that was not text became JSON text.", keep=False),
    _repair("reasoning_merged", "Reasoning that stood in several places of one turn was joined."),
    # Rows
    _repair("row_decoded", "A row that was JSON text of an object was decoded once more.", keep=False),
    _repair("row_unwrapped", "A row was taken out of what a service puts around it (row_idx, row, truncated_cells).", keep=False),
    _repair("columns_to_turns", "Turns given as an object of lists, one list for each key, became a list of turns.", keep=False),
    _repair("mixed_keys", "Turns of one row used different key names for role and content; all were read."),
    _repair("developer_as_system", "The role developer became system.", keep=False),
    _repair("product_role_as_assistant", "A product's name as role (bing, bard, chatgpt) became assistant.", keep=False),
    _repair("preference_chosen_only", "Of a preference pair only the chosen answer was taken.", keep=False),
    _repair("first_choice_taken", "Of several answers the first was taken.", keep=False),
    _repair("gold_answer_left_out", "A gold answer is not what a target would say: only the question was taken, as a prompt."),
    # Turns
    _repair("empty_turn_dropped", "A turn without content, reasoning or call was dropped."),
    _repair("repeated_turn_dropped", "A turn that repeated the one before it word for word was dropped."),
    _repair("adjacent_users_merged", "User turns in a row were joined into one."),
    _repair("adjacent_assistants_merged", "Assistant turns in a row, not both with calls, were joined into one."),
    _repair("leading_turn_dropped", "Turns before the first user turn were dropped."),
    _repair("trailing_user_dropped", "A last user turn that nobody answers was dropped; kept, the row is prompt-only."),
    _repair("blank_system_removed", "A system message without text was removed."),
    _repair("systems_merged", "Several system messages at the beginning became one."),
    _repair("late_system_moved", "A system message after the beginning was moved there."),
    # Calls
    _repair("arguments_from_json", "Call arguments given as JSON text became an object.", keep=False),
    _repair("arguments_from_python", "Call arguments given as a Python literal became an object.", keep=False),
    _repair("arguments_decoded_twice", "Call arguments encoded as JSON text twice became an object.", keep=False),
    _repair("missing_arguments_emptied", "A call with null, blank or no arguments got an empty object.", keep=False),
    _repair("tool_calls_decoded", "Tool calls given as JSON text became a list.", keep=False),
    _repair("flat_tool_call_wrapped", "A call without the function object around name and arguments got one.", keep=False),
    _repair("repeated_call_text_dropped", "Calls that stood both in the text and beside it were taken once."),
    _repair("call_ids_assigned", "Calls or results without an id got one by their position.", keep=False),
    _repair("duplicate_call_id_renamed", "A call id that occurred before was replaced by a new one.", keep=False),
    _repair("dangling_call_id_relinked", "A result whose id named no call was given to the unanswered call in its place.", keep=False),
    # Tools
    _repair("tools_decoded_twice", "A list of tools encoded as JSON text twice was decoded.", keep=False),
    _repair("null_padding_removed", "Nulls that a column store adds to tool schemas were removed."),
    _repair("schema_types_renamed", "Type names that are not JSON Schema's (dict, float, str) were replaced."),
    # Reasons
    _reason("bad_json", "The row is not valid JSON."),
    _reason("bad_encoding", "The row is not valid UTF-8."),
    _reason("unreadable", "The reader could not read the row."),
    _reason("not_an_object", "The row is not an object with named fields."),
    _reason("cells_cut", "The service that gave the row cut some of its cells; keep takes what is left.", "keep"),
    _reason("unknown_dialect", "No dialect reads rows of this shape."),
    _reason("dialect_mismatch", "The row does not have the fields of the dialect that was asked for."),
    _reason("too_deeply_nested", "The row is nested too deeply to be read."),
    _reason("unforeseen", "The row broke the conversion in a way nobody foresaw."),
    _reason("pretokenized", "The row holds token ids of one tokenizer, which cannot be mixed with text."),
    _reason("no_messages", "The row has no turns."),
    _reason("bad_messages", "The turns are not a list of objects, or their JSON text does not parse."),
    _reason("bad_message", "One of the turns is not an object with a role and a content."),
    _reason("missing_role", "One of the turns has no role."),
    _reason("unknown_role", "One of the turns has a role that no alias covers; repair drops that turn.", "repair"),
    _reason("bad_content", "The content of a turn is neither text nor a list of text parts."),
    _reason("non_text_content", "A turn holds an image, a sound or a file; repair drops that part.", "repair"),
    _reason("no_user", "No turn is a user's.", "keep"),
    _reason("empty_assistant", "The assistant's turns are all empty."),
    _reason("unbalanced_think", "A <think> tag is not closed or not opened; repair takes all of that side as reasoning.", "repair", "keep"),
    _reason("bad_tool_arguments", "The arguments of a call are not an object and do not parse to one."),
    _reason("bad_tool_calls", "The tool calls are not a list of calls with names."),
    _reason("bad_call_text", "A call written in the text does not parse; keep leaves it as text.", "keep"),
    _reason("orphan_tool_result", "A tool result answers no call; repair drops it.", "repair"),
    _reason("dangling_call_id", "A result's id names no call, and its position does not say which; repair drops it.", "repair"),
    _reason("bad_tools", "The tools are not a list of function schemas; repair leaves them out.", "repair"),
    _reason("unknown_template_text", "The text is formatted for a template that cannot be parsed back."),
    _reason("orphan_message", "The message's parent is not in the source."),
    _reason("duplicate_message", "Another message has the same id."),
)

CODES: Mapping[str, Code] = {code.code: code for code in _ALL}
"""Every code that can stand in `Outcome.repairs` or, for a quarantined row, in `Outcome.reason`."""


@dataclass(frozen=True)
class Policy:
    """What to do about each code; codes that are not named follow their default."""

    switches: Mapping[str, Action] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for code, action in self.switches.items():
            if code not in CODES:
                raise BadPolicy(f"No repair or reason is called {code!r}: see `core.dialects.CODES` for the names.")
            if action not in CODES[code].actions:
                raise BadPolicy(f"{code} cannot be set to {action!r}: choose one of {', '.join(CODES[code].actions)}.")

    @classmethod
    def parse(cls, items: Iterable[str]) -> "Policy":
        """From `code=action` texts, as a command line gives them; raises `BadPolicy`."""
        switches: dict[str, Action] = {}
        for item in items:
            code, separator, action = item.partition("=")
            if not separator or action.strip() not in get_args(Action):
                raise BadPolicy(f"{item!r} is not a policy: write code=repair, code=quarantine or code=keep.")
            switches[code.strip()] = cast(Action, action.strip())
        return cls(switches)

    def action(self, code: str) -> Action:
        """What to do about `code`."""
        return self.switches.get(code) or CODES[code].default
