"""The definition of what is trained on: the render boundary of an assistant turn, on token ids.

For the assistant turn at message j the target is fed `render(messages[:j], add_generation_prompt=True)`, and what it should
answer is what `render(messages[:j+1])` holds past that. This is the slow, obvious path: two renders and two encodings
per turn. It does not know layouts, truncation or rows.
"""

from dataclasses import dataclass
from typing import Any

from core.chat.attribution import MessagesAndTools
from core.chat.choices import Thinking
from core.chat.encoding import UnencodableText
from core.chat.forgery import Marked
from core.chat.target import Target
from core.chat.template import TemplateRefused
from core.conversation import JSONObject
from core.errors import MixdownError


class BoundaryUnstable(MixdownError):
    """The template prints the history otherwise once the answer is there, so no boundary can be drawn."""


@dataclass(frozen=True)
class Turn:
    """One assistant turn as the server would see it.

    `ids`: the tokens of `render(messages[:message + 1])`. `boundary`: how many of them are context. `prompt_ids`: what the server
    is fed; `ids[:boundary]` unless the tokenizer merges the prompt's last characters with the answer's first ones, or the
    template prints the answer otherwise than its own generation prompt begins it. `enable_thinking`: what was passed, None
    for nothing.
    """

    message: int
    enable_thinking: bool | None
    text: str
    ids: list[int]
    prompt_ids: list[int]
    boundary: int


class Renders:
    """Renders and encodings of the beginnings of one conversation, each made once.

    `literals`: the same conversation with a mark inside every special token that its text holds, and that mark; such tokens are then
    encoded as ordinary text.
    """

    def __init__(self, chat: MessagesAndTools, target: Target, literals: Marked | None = None) -> None:
        self.messages, self.tools = chat
        self.target = target
        self.literals = literals
        self._texts: dict[tuple[int, bool, bool | None], str] = {}
        self._ids: dict[str, list[int]] = {}
        self._offsets: dict[str, list[tuple[int, int]]] = {}
        self._marked: dict[str, str] = {}

    def replaced(self, message: int, other: JSONObject) -> "Renders":
        """Renders of the same conversation with another message in one place (special tokens in its text stay text)."""
        mine = [*self.messages]
        mine[message] = other
        literals = None if self.literals is None else self.target.forgeries.marked((mine, self.tools))
        return Renders((mine, self.tools), self.target, literals)

    def text(self, count: int, prompt: bool, enable_thinking: bool | None) -> str:
        """The render of the first `count` messages. Raises `TemplateRefused`, `UnencodableText`."""
        key = (count, prompt, enable_thinking)
        if key not in self._texts:
            text = self._texts[key] = self._render((self.messages[:count], self.tools), prompt, enable_thinking)
            if self.literals is not None:
                (messages, tools), mark = self.literals
                marked = self._marked[text] = self._render((messages[:count], tools), prompt, enable_thinking)
                if marked.replace(mark, "") != text:
                    raise UnencodableText("The template looks into a special token of the text, so it cannot be read as ordinary text.")
        return self._texts[key]

    def ids(self, count: int, prompt: bool, enable_thinking: bool | None) -> list[int]:
        """Its token ids. Raises `TemplateRefused`, `UnencodableText`."""
        text = self.text(count, prompt, enable_thinking)
        if text not in self._ids:
            if self.literals is None:
                self._ids[text] = self.target.encoder.encode(text)
            else:
                self._ids[text], self._offsets[text] = self.target.encoder.encode_marked(self._marked[text], self.literals.mark)
        return self._ids[text]

    def offsets(self, count: int, prompt: bool, enable_thinking: bool | None) -> list[tuple[int, int]]:
        """Characters `[start, end)` of those tokens. Raises `TemplateRefused`, `UnencodableText`."""
        text = self.text(count, prompt, enable_thinking)
        if self.literals is None:
            return self.target.encoder.encode_with_offsets(text).offsets
        self.ids(count, prompt, enable_thinking)
        return self._offsets[text]

    def _render(self, chat: MessagesAndTools, prompt: bool, enable_thinking: bool | None) -> str:
        return self.target.template.render(chat, add_generation_prompt=prompt, **thinking_args(enable_thinking))


def thinking_args(enable_thinking: bool | None) -> dict[str, Any]:
    """Template arguments for a thinking setting; nothing is passed for None."""
    return {} if enable_thinking is None else {"enable_thinking": enable_thinking}


def measure_turn(renders: Renders, message: int, thinking: Thinking) -> Turn:
    """Where assistant turn `message` begins to be the target's own. Raises `TemplateRefused`, `BoundaryUnstable`, `UnencodableText`.

    1. The prompt's tokens begin the turn's tokens: what follows them is the target's. This is nearly always so.
    2. Only the prompt's text begins the turn's text (the tokenizer merges or splits across the boundary): the target's tokens
       are those with a character past the prompt, so that no token of the prompt alone is ever trained on.
    3. The recorded turn contradicts the prompt's scaffold: from where the tokens part, provided the history before is the
       same. This is the rule of speculators 0.9 (`data_generation/preprocessing.py`), which also applies it to case 2.
    """
    setting = choose_thinking(renders, message, thinking)
    text, ids = renders.text(message + 1, False, setting), renders.ids(message + 1, False, setting)
    prompt, prompt_ids = renders.text(message, True, setting), renders.ids(message, True, setting)
    boundary = common_ids(prompt_ids, ids)
    if boundary < len(prompt_ids):
        if text.startswith(prompt):
            offsets = renders.offsets(message + 1, False, setting)
            boundary = next((place for place, (_, end) in enumerate(offsets) if end > len(prompt)), len(ids))
        else:
            history = renders.ids(message, False, setting)
            if boundary < len(history) or ids[: len(history)] != history:
                raise BoundaryUnstable(
                    f"The template prints the history before message {message} otherwise once that message is there; "
                    "train on other turns, or use --layout conversation."
                )
    return Turn(message, setting, text, ids, prompt_ids, boundary)


def choose_thinking(renders: Renders, message: int, thinking: Thinking) -> bool | None:
    """The `enable_thinking` that turn `message` is rendered with, None for "pass nothing".

    "auto" takes the generation prompt that the turn continues: the thinking one for a turn with reasoning, the other one
    without. Where that one does not fit or is refused (a template that cannot turn thinking off), the other is taken if it fits.
    """
    template = renders.target.template
    if not template.takes_thinking or "enable_thinking" in template.args or thinking == "default":
        return None
    if thinking != "auto":
        return thinking == "on"
    reasons = message < len(renders.messages) and bool(str(renders.messages[message].get("reasoning_content") or "").strip())
    accepted: list[bool] = []
    refusal: TemplateRefused | None = None
    for setting in (reasons, not reasons):
        try:
            prompt = renders.text(message, True, setting)
            if message < len(renders.messages) and renders.text(message + 1, False, setting).startswith(prompt):
                return setting
        except TemplateRefused as error:
            refusal = refusal or error
            continue
        accepted.append(setting)
    if not accepted:
        raise refusal or TemplateRefused("The template refuses every thinking setting.", "thinking")
    return accepted[0]


def common_ids(first: list[int], second: list[int]) -> int:
    """How many leading ids two lists share."""
    limit = min(len(first), len(second))
    if first[:limit] == second[:limit]:
        return limit
    return next(place for place in range(limit) if first[place] != second[place])
