"""The choices that decide which tokens are trained on, and the words for what was not used.

It knows the choices and their names, not how any of them is carried out.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from core.errors import InputError

Supervise = Literal["sampled", "boundary", "content"]
Thinking = Literal["auto", "on", "off", "default"]
Layout = Literal["auto", "turn", "conversation"]
Turns = Literal["after_user", "all", "last", "flagged"]
SpecialTokens = Literal["quarantine", "as_text"]
Overlong = Literal["truncate", "drop", "keep_last_turns"]

REASONS: dict[str, str] = {
    "refused": "the template refuses the conversation (the code after the colon says why, the detail is its own message)",
    "special_token_in_content": "text of the conversation would become a special token of the target and forge a turn",
    "no_assistant_turn": "there is no assistant turn after a user message, so nothing to train on",
    "before_first_user": "an assistant turn before the first user message is context, never trained on",
    "flagged_off": "the data say that this turn is not to be trained on",
    "not_separable": "the template prints reasoning or tool calls in a way that cannot be told from the rest of the turn",
    "too_long": "the row is longer than the sequence limit",
    "boundary_unstable": "the template prints the history otherwise once the answer is there, so no boundary can be drawn",
    "no_supervised_token": "no trained-on token is left within the sequence limit",
    "unencodable_text": "the text is not valid Unicode",
}
"""Every reason a row or turn can be dropped for, in plain words; "refused" is followed by ":" and a code."""


class BadChoice(InputError):
    """A supervision choice that does not exist."""


@dataclass(frozen=True)
class Supervision:
    """How a conversation becomes training rows; recorded in the dataset.

    `supervise`: "sampled" trains exactly what the target samples (from the boundary through the end-of-turn token), "boundary"
    everything past the boundary (speculators 0.8 and later), "content" all between the assistant header and the end-of-turn
    token (speculators up to 0.7). `thinking`: which generation prompt counts as context. `layout`: one row per conversation, per
    turn, or per conversation only where every turn's render is a prefix of the whole. `seq_length`: longest row in tokens.

    `turns`: which assistant turns are trained on: "after_user" all but those before the first user message, "all", "last" the last
    one, "flagged" those that the data do not flag off (`Message.train`). `reasoning`, `tool_calls`: whether these parts of a turn
    are trained on too; without reasoning a turn counts from its answer, without tool calls it ends where they begin.
    `special_tokens`: what to do where text holds a special token literally: drop the row, or encode it as ordinary text.
    `overlong`: rows past `seq_length` are cut at the end, dropped, or lose their earliest exchanges (system message and tools stay).
    """

    supervise: Supervise = "sampled"
    thinking: Thinking = "auto"
    layout: Layout = "auto"
    seq_length: int = 4096
    turns: Turns = "after_user"
    reasoning: bool = True
    tool_calls: bool = True
    special_tokens: SpecialTokens = "quarantine"
    overlong: Overlong = "truncate"

    def __post_init__(self) -> None:
        """Raise `BadChoice` for a value that is none of the choices."""
        for name, value, choices in (
            ("supervise", self.supervise, get_args(Supervise)),
            ("thinking", self.thinking, get_args(Thinking)),
            ("layout", self.layout, get_args(Layout)),
            ("turns", self.turns, get_args(Turns)),
            ("special_tokens", self.special_tokens, get_args(SpecialTokens)),
            ("overlong", self.overlong, get_args(Overlong)),
        ):
            if value not in choices:
                raise BadChoice(f"{name} = {value!r} is not a choice; use one of {', '.join(choices)}.")
        for name, switch in (("reasoning", self.reasoning), ("tool_calls", self.tool_calls)):
            if not isinstance(switch, bool):
                raise BadChoice(f"{name} = {switch!r} is not a choice; use true or false.")
        if isinstance(self.seq_length, bool) or not isinstance(self.seq_length, int) or self.seq_length < 1:
            raise BadChoice(f"seq_length = {self.seq_length!r} is not a row length; give a whole number of tokens.")


@dataclass(frozen=True)
class Dropped:
    """A conversation (`turn` None) or an assistant turn (its message index) that gives no row. `reason`: see `REASONS`."""

    turn: int | None
    reason: str
    detail: str = ""
