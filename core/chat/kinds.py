"""The kind of a conversation: all of its shape that a template can act on, and whether its words are ordinary.

Conversations of one kind are printed alike and differ in their words only. It does not know tokens or masks.
"""

import re
from collections.abc import Iterable

import jinja2.nodes

from core.chat.choices import Supervision
from core.chat.encoding import UnencodableText, checked
from core.chat.target import Target
from core.conversation import Stored

MessageKind = tuple[str, int, int, bool | None]
"""Role; how much content and reasoning there is in one number; how many tool calls; its training flag where that is a choice."""

Kind = tuple[bool, tuple[MessageKind, ...]]
"""Whether there are tools, and the kind of every message."""

REASONS = 9
"""A shape of at least this much has reasoning to print."""

_TEXT_METHODS = frozenset({"startswith", "endswith", "split", "rsplit", "replace", "find", "index", "count", "partition", "rpartition"})
_MADE_BY_NFC = frozenset("K;`")
"""The ASCII characters that NFC makes of others (U+212A, U+037E, U+1FEF); all other ASCII in its output stood in its input."""


_WRITTEN_OTHERWISE = ('"', "\\", *map(chr, range(0x20)))
"""Characters that JSON escapes."""


class KindReader:
    """Reads kinds for one target and one set of choices."""

    def __init__(self, target: Target, supervision: Supervision) -> None:
        self._encoder = target.encoder
        self._flags = supervision.turns == "flagged"
        self._answers = not supervision.reasoning
        guarded = target.forgeries.guarded
        self._words = tuple(sorted(set(_needles(guarded)) | set(_looked_for(target)), key=lambda word: (len(word), word)))
        self._plain_normalizer = self._encoder.normalizers <= {"NFC"} and not any(_MADE_BY_NFC & set(word) for word in self._words)
        as_written = self._plain_normalizer and not any(mark in word for word in self._words for mark in _WRITTEN_OTHERWISE)
        self._written = re.compile(b"|".join(re.escape(word.encode()) for word in self._words)) if as_written and self._words else None
        """The words as they stand in JSON text; a search for all of them at once takes a sixth of one for each."""

    def of(self, stored: Stored) -> Kind | None:
        """Its kind; None where a word in it could be a special token, or something that the template looks for."""
        if not self._is_ordinary(stored):
            return None
        kinds: list[MessageKind] = []
        for message in stored.messages:
            content = message["content"]
            shape = 0 if not content else 2 if content.isspace() else 1
            if len(message) == 2:  # role and content
                kinds.append((message["role"], shape, 0, None))
                continue
            reasoning = message.get("reasoning_content")
            if self._answers and reasoning and content[:1].isspace():
                return None  # where the answer begins depends on how its blanks are merged with what stands before
            if reasoning is not None:
                shape += 3 if not reasoning else 6 if reasoning.isspace() else REASONS
            calls = len(message.get("tool_calls") or ())
            kinds.append((message["role"], shape, calls, message.get("train") if self._flags else None))
        return bool(stored.tools), tuple(kinds)

    def _is_ordinary(self, stored: Stored) -> bool:
        messages, tools = stored.written
        if self._written is not None and messages and not self._written.search(messages) and not (tools and self._written.search(tools)):
            return True
        text = "\n".join(_strings(stored))
        if any(word in text for word in self._words):
            return False
        if text.isascii():
            return True
        try:  # minijinja would print a lone surrogate as something else
            text = checked(text) if self._plain_normalizer else self._encoder.normalize(text)
        except UnencodableText:
            return False
        return self._plain_normalizer or not any(word in text for word in self._words)


def _strings(stored: Stored) -> list[str]:
    """Every text of a conversation that a template may print, but for roles."""
    strings: list[str] = []
    for message in stored.messages:
        texts = map(message.get, ("content", "reasoning_content", "tool_call_id", "name"))
        strings += (text for text in texts if text is not None)
        for call in message.get("tool_calls") or ():
            strings += (call["id"], call["function"]["name"])
            _collect(call["function"]["arguments"], strings)
    _collect(stored.tools, strings)
    return strings


def _collect(value: object, strings: list[str]) -> None:
    """Add every string of a JSON value, keys too."""
    if type(value) is str:
        strings.append(value)
    elif type(value) is dict:
        for key, item in value.items():
            strings.append(str(key))
            _collect(item, strings)
    elif type(value) is list or type(value) is tuple:
        for item in value:
            _collect(item, strings)


def _needles(tokens: Iterable[str]) -> list[str]:
    """For each token a short ASCII part of it: text without any of these parts holds none of the tokens."""
    needles: set[str] = set()
    for token in sorted(tokens, key=len):
        runs = "".join(character if character.isascii() else " " for character in token).split() or [token]
        run = max(runs, key=len)
        if not any(needle in token for needle in needles):
            needles.add(run[:2] if len(run) > 2 and not run[:2].isalnum() else run)
    return sorted(needles)


def _looked_for(target: Target) -> list[str]:
    """Words that the template compares text with ("</think>", "<tool_response>"), from its `in` and its text methods."""
    words: set[str] = set()
    for tree in target.template.trees():
        for compare in tree.find_all(jinja2.nodes.Compare):
            if any(operand.op in ("in", "notin") for operand in compare.ops):
                words |= {const.value for const in compare.find_all(jinja2.nodes.Const) if isinstance(const.value, str)}
        for call in tree.find_all(jinja2.nodes.Call):
            if isinstance(call.node, jinja2.nodes.Getattr) and call.node.attr in _TEXT_METHODS:
                words |= {const.value for const in call.find_all(jinja2.nodes.Const) if isinstance(const.value, str)}
    return [word for word in words if word.strip() and word not in _FIELDS]


_FIELDS = frozenset(
    {"text", "image", "image_url", "video", "audio", "content", "role", "name", "function", "type", "tool_calls", "arguments"}
)
"""Keys that templates look for in objects; as words in text they mean nothing to them."""
