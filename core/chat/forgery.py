"""Finds conversations whose text would turn into the target's special tokens: a user could end a turn, or speak as the model.

Two ways: a string holds a special token literally, or a string and what the template writes beside it form one together.
It knows strings and tokens, not masks.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jinja2.nodes

from core.chat.attribution import MessagesAndTools
from core.chat.encoding import TokenizerEncoder
from core.chat.frame import TurnFrame
from core.chat.template import ChatTemplate, TemplateRefused
from core.chat.trace import unused_mark
from core.conversation import ROLES, JSONObject


@dataclass(frozen=True)
class Forgery:
    """Where a special token would come from text: `field` as a path ("messages[2].content"), `token` its text."""

    field: str
    token: str

    def __str__(self) -> str:
        return f"{self.field} would become the special token {self.token}"


class Marked(NamedTuple):
    """A conversation with the character `mark` inside every special token that its text holds: no special token is left in it."""

    chat: MessagesAndTools
    mark: str


class ForgeryCheck:
    """The check for one target; make it once and use it for every conversation."""

    def __init__(self, encoder: TokenizerEncoder, template: ChatTemplate, frame: TurnFrame, stop_ids: Sequence[int]) -> None:
        self._encoder, self._template = encoder, template
        header = {text for text in encoder.added.values() if text in frame.header}
        header_ids = {token_id for token_id, text in encoder.added.items() if text in header}
        self.guarded_ids: frozenset[int] = encoder.special_ids | header_ids | set(frame.end_ids) | set(stop_ids)
        self.guarded: tuple[str, ...] = tuple(
            sorted(
                {encoder.added[token_id] for token_id in self.guarded_ids if token_id in encoder.added}, key=lambda text: (-len(text), text)
            )
        )
        self._pattern = re.compile("|".join(map(re.escape, self.guarded)) or "(?!)")
        self._marks = frozenset(
            character for text in self.guarded for character in text if not (character.isalnum() or character in "_ \n")
        )

    def literal(self, chat: MessagesAndTools) -> Forgery | None:
        """The first string that holds a special token as it is, or once the tokenizer has normalized it. Raises `UnencodableText`."""
        for path, text in _strings(chat):
            found = self._pattern.search(text)
            if found is None and not text.isascii():
                found = self._pattern.search(self._encoder.normalize(text))
            if found is not None:
                return Forgery(path, found.group())
        return None

    def marked(self, chat: MessagesAndTools) -> Marked | None:
        """The conversation with its special tokens marked; None where one would remain (it forms when the text is normalized)."""
        strings = "".join(text for _, text in _strings(chat))
        mark = unused_mark(strings + "".join(self._template.sources.values()))

        def change(text: str) -> str:
            while self._pattern.search(text):  # marking one token can leave another that overlapped it
                text = self._pattern.sub(lambda found: mark.join(found.group()), text)
            return text

        messages, tools = chat
        changed = [_mapped_message(message, change) for message in messages], _mapped(list(tools), change) if tools else None
        return None if self.literal(changed) is not None else Marked(changed, mark)

    def composed(self, chat: MessagesAndTools, ids: Sequence[int], args: dict[str, Any]) -> Forgery | None:
        """A special token that forms only in the render, whose token ids are `ids`.

        The conversation is rendered once more with every character that could be part of a special token made harmless; then
        the template alone writes special tokens, and there must be as many of them.
        """
        if not any(not self._marks.isdisjoint(text) for _, text in _strings(chat)):
            return None
        messages, tools = chat
        harmless = ([_mapped_message(message, self._harmless) for message in messages], _mapped(list(tools or []), self._harmless))
        try:
            expected = self._guarded_in(self._encoder.encode(self._template.render(harmless, **args)))
        except TemplateRefused:
            return Forgery("the conversation's text", "that cannot be ruled out")
        found = self._guarded_in(ids)
        if len(found) == len(expected):
            return None
        more = next((token_id for token_id in found if found.count(token_id) > expected.count(token_id)), None)
        return None if more is None else Forgery("text beside what the template writes", self._encoder.token(more))

    def _guarded_in(self, ids: Sequence[int]) -> list[int]:
        return [token_id for token_id in ids if token_id in self.guarded_ids]

    def _harmless(self, text: str) -> str:
        return self._harmful.sub(lambda found: found.group() if len(found.group()) > 1 else "x", text)

    @cached_property
    def _harmful(self) -> re.Pattern[str]:
        """Single characters of special tokens; longer matches are words the template looks for ("</think>") and stay."""
        words = {text.strip() for text in self._template_texts() if not self._marks.isdisjoint(text)}
        kept = sorted((word for word in words if len(word) > 2 and not self._pattern.search(word)), key=lambda word: (-len(word), word))
        return re.compile("|".join([*map(re.escape, kept), "[" + re.escape("".join(sorted(self._marks))) + "]"]))

    def _template_texts(self) -> Iterator[str]:
        for tree in self._template.trees():
            for constant in tree.find_all(jinja2.nodes.Const):
                if isinstance(constant.value, str):
                    yield constant.value


def _strings(chat: MessagesAndTools) -> Iterator[tuple[str, str]]:
    messages, tools = chat
    for place, message in enumerate(messages):
        for key, value in message.items():
            if key != "role" or value not in ROLES:
                yield from _deep(f"messages[{place}].{key}", value)
    yield from _deep("tools", list(tools or []))


def _deep(path: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield f"{path} key", str(key)
            yield from _deep(f"{path}.{key}", item)
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _deep(f"{path}[{place}]", item)


def _mapped_message(message: JSONObject, change: Callable[[str], str]) -> JSONObject:
    return {key: value if key == "role" else _mapped(value, change) for key, value in message.items()}


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(str(key)) if key not in _SHAPE else key: _mapped(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(item, change) for item in value]
    return value


_SHAPE = frozenset({"type", "function", "name", "arguments", "description", "parameters", "id", "text"})
