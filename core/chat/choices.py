"""The choices that decide which tokens are trained on, and the words for what was not used.

It knows the choices and their names, not how any of them is carried out.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from core.errors import InputError

Supervise = Literal["sampled", "boundary", "content"]
Thinking = Literal["auto", "on", "off", "default"]
Layout = Literal["auto", "turn", "conversation"]

REASONS: dict[str, str] = {
    "refused": "the template refuses the conversation (the code after the colon says why, the detail is its own message)",
    "special_token_in_content": "text of the conversation would become a special token of the target and forge a turn",
    "no_assistant_turn": "there is no assistant turn after a user message, so nothing to train on",
    "before_first_user": "an assistant turn before the first user message is context, never trained on",
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
    """

    supervise: Supervise = "sampled"
    thinking: Thinking = "auto"
    layout: Layout = "auto"
    seq_length: int = 4096

    def __post_init__(self) -> None:
        """Raise `BadChoice` for a value that is none of the choices."""
        for name, value, choices in (
            ("supervise", self.supervise, get_args(Supervise)),
            ("thinking", self.thinking, get_args(Thinking)),
            ("layout", self.layout, get_args(Layout)),
        ):
            if value not in choices:
                raise BadChoice(f"{name} = {value!r} is not a choice; use one of {', '.join(choices)}.")
        if isinstance(self.seq_length, bool) or not isinstance(self.seq_length, int) or self.seq_length < 1:
            raise BadChoice(f"seq_length = {self.seq_length!r} is not a row length; give a whole number of tokens.")


@dataclass(frozen=True)
class Dropped:
    """A conversation (`turn` None) or an assistant turn (its message index) that gives no row. `reason`: see `REASONS`."""

    turn: int | None
    reason: str
    detail: str = ""
