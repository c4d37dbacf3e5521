"""The loss mask, defined once more: slow, obvious, straight from `apply_chat_template` and transformers' tokenizer.

For ChatML templates only (a turn is what stands between "<|im_start|>assistant\\n" and "<|im_end|>").
"""

import re
from typing import Any

from transformers import PreTrainedTokenizerFast

from core.conversation import Conversation, messages_json

HEADER, END = "<|im_start|>assistant\n", "<|im_end|>"
_TURN = re.compile(re.escape(HEADER) + "(.*?)" + re.escape(END), re.DOTALL)


class Definition:
    """Rows as `(turn, ids, mask)` by the words of the design, for one tokenizer and template."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, takes_thinking: bool) -> None:
        self.tokenizer, self.takes_thinking = tokenizer, takes_thinking
        self.end = tokenizer.convert_tokens_to_ids(END)

    def text(self, conversation: Conversation, count: int, prompt: bool, args: dict[str, Any]) -> str:
        messages = messages_json(conversation.messages[:count])
        tools = list(conversation.tools) or None
        return self.tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=prompt, **args)

    def ids(self, text: str) -> list[int]:
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def args(self, conversation: Conversation, turn: int, thinking: str) -> dict[str, Any]:
        if not self.takes_thinking or thinking == "default":
            return {}
        reasons = bool(conversation.messages[turn].reasoning_content)
        return {"enable_thinking": reasons if thinking == "auto" else thinking == "on"}

    def rows(
        self, conversation: Conversation, supervise: str, thinking: str, layout: str
    ) -> list[tuple[int | None, list[int], list[bool]]]:
        roles = [message.role for message in conversation.messages]
        turns = [place for place, role in enumerate(roles) if role == "assistant" and "user" in roles[:place]]
        whole_text = self.text(conversation, len(roles), False, self.args(conversation, turns[-1], thinking))
        whole = self.ids(whole_text)
        rows, unstable, prefixes = [], [], {}
        for turn in turns:
            args = self.args(conversation, turn, thinking)
            text = self.text(conversation, turn + 1, False, args)
            full, prompt = self.ids(text), self.ids(self.text(conversation, turn, True, args))
            history = self.ids(self.text(conversation, turn, False, args))
            boundary = shared(prompt, full)
            prompt_text = self.text(conversation, turn, True, args)
            if boundary < len(prompt) and text.startswith(prompt_text):
                boundary = min(place for place, (_, right) in enumerate(self.offsets(text)) if right > len(prompt_text))
            elif boundary < len(prompt) and (full[: len(history)] != history or boundary < len(history)):
                unstable.append(turn)
                continue
            prefixes[turn] = (full, boundary)
            start, stop = [match.span(1) for match in _TURN.finditer(text)][-1]
            rows.append((turn, full, self.mask(text, full, boundary, len(full), start, stop, supervise)))
        stable = not unstable and all(whole[: len(full)] == full for full, _ in prefixes.values())
        if layout == "turn" or (layout == "auto" and not stable):
            return rows
        mask = [False] * len(whole)
        matches = list(_TURN.finditer(whole_text))
        leading = sum(1 for place, role in enumerate(roles) if role == "assistant" and place < turns[0])
        for match, turn in zip(matches[leading:], turns, strict=True):
            full, boundary = prefixes.get(turn, ([], 0))
            stop = len(full)
            if not full or whole[: len(full)] != full:
                boundary = len(self.ids(whole_text[: match.start()]))
                stop = len(self.ids(whole_text[: match.end() + 1]))
                if turn in prefixes:
                    args = self.args(conversation, turn, thinking)
                    prompt = self.ids(self.text(conversation, turn, True, args))
                    history = self.ids(self.text(conversation, turn, False, args))
                    boundary += shared(prompt[len(history) :], whole[boundary:])
            part = self.mask(whole_text, whole, boundary, stop, *match.span(1), supervise)
            mask = [old or new for old, new in zip(mask, part, strict=True)]
        return [(None, whole, mask)]

    def mask(self, text: str, ids: list[int], boundary: int, end: int, start: int, stop: int, supervise: str) -> list[bool]:
        if supervise == "boundary":
            return [boundary <= place < end for place in range(len(ids))]
        if supervise == "sampled":
            last = max(place for place in range(end) if ids[place] == self.end)
            return [boundary <= place <= last for place in range(len(ids))]
        return [right > start and left < stop for left, right in self.offsets(text)]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]


def shared(first: list[int], second: list[int]) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count
