"""Whether a prompt asks the target to think, told from how it ends, and the same prompt asked the other way.

Templates with a thinking switch differ in the generation prompt: `<think>` left open, or an empty block. It loads no model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from core.chat import Supervision, Target, TemplateRefused, generation_prompt
from core.conversation import Conversation, Message
from core.drafter.heldout import HeldOut
from core.errors import InputError

Thinking = Literal["as-is", "on", "off", "both"]
CHOICES: tuple[Thinking, ...] = ("as-is", "on", "off", "both")

HEADER = 3
"""Tokens before the difference that must match too, such as `<|im_start|>assistant\\n`."""


class NoThinkingSwitch(InputError):
    """The target's template cannot be asked to think or not to, at least not in the generation prompt."""


@dataclass(frozen=True)
class ThinkingSwitch:
    """How prompts end with thinking on and off; both None where the template makes no difference there."""

    on: tuple[int, ...] | None
    off: tuple[int, ...] | None

    @classmethod
    def of(cls, target: Path) -> "ThinkingSwitch":
        """Learn it from the template in a target's folder."""
        try:
            chat = Target.load(target)
            on, off = (_ending(chat, mode) for mode in ("on", "off"))
        except (InputError, TemplateRefused):
            return cls(None, None)
        if on == off:
            return cls(None, None)
        shared = next((place for place, (a, b) in enumerate(zip(on, off, strict=False)) if a != b), min(len(on), len(off)))
        first = max(0, shared - HEADER)
        return cls(on[first:], off[first:])

    def mode(self, ids: Sequence[int]) -> str | None:
        """ "on" or "off"; None where the prompt ends neither way."""
        for name, ending in (("off", self.off), ("on", self.on)):
            if ending and tuple(ids[-len(ending) :]) == ending:
                return name
        return None

    def turned(self, prompt: HeldOut, mode: str) -> HeldOut:
        """The prompt with thinking "on" or "off"; raises `NoThinkingSwitch`."""
        now = self.mode(prompt.prompt_ids)
        old, new = (self.on if name == "on" else self.off for name in (now, mode))
        if now is None or old is None or new is None:
            raise NoThinkingSwitch(
                f"The prompt of row {prompt.row_id} ends with neither generation prompt of the template: measure with thinking as-is."
            )
        ids = (*prompt.prompt_ids[: -len(old)], *new)
        return replace(prompt, prompt_ids=ids, thinking=mode)

    def apply(self, prompts: Sequence[HeldOut], thinking: Thinking) -> list[HeldOut]:
        """The prompts, each with its mode noted; "on", "off" or "both" (every prompt twice) ask them that way."""
        if thinking not in CHOICES:
            raise InputError(f"thinking is {thinking!r}: use one of {', '.join(CHOICES)}.")
        if thinking == "as-is":
            return [replace(prompt, thinking=self.mode(prompt.prompt_ids)) for prompt in prompts]
        modes = ("on", "off") if thinking == "both" else (thinking,)
        return [self.turned(prompt, mode) for prompt in prompts for mode in modes]


def _ending(chat: Target, mode: Literal["on", "off"]) -> tuple[int, ...]:
    """What the prompts of two different questions share at their end."""
    asked = [
        generation_prompt(Conversation((Message("user", text),)), 1, chat, Supervision(thinking=mode)) for text in ("Hi", "What is 7 + 5?")
    ]
    shared = 0
    while shared < min(map(len, asked)) and asked[0][-1 - shared] == asked[1][-1 - shared]:
        shared += 1
    return tuple(asked[0][len(asked[0]) - shared :])
