"""Renders of plain chats, with or without reasoning, put together from their texts, for templates that print every text as it stands.

What stands between the texts is learned per kind of conversation by rendering words of our own, and compared with real renders ever
again. It does not know tokens.
"""

import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jinja2.nodes

from core.chat.template import ChatTemplate
from core.conversation import JSONObject

Printed = Callable[[Sequence[JSONObject], int, bool | None], str | None]
"""Renders the first `count` messages under a thinking setting; None where that is not sure."""

PROVEN = 16
"""Renders of a kind that must come out the same before a glued one is believed."""

EVERY = 48
"""One of so many after that is rendered as well: it costs what seven glued ones do."""

_FILTERS = frozenset(
    {"trim", "tojson", "length", "count", "string", "safe", "list", "items", "join", "default", "d", "first", "last", "map", "select",
     "selectattr", "reject", "rejectattr", "indent", "dictsort", "int"}
)  # fmt: skip
_METHODS = frozenset(
    {"strip", "lstrip", "rstrip", "startswith", "endswith", "split", "rsplit", "partition", "rpartition", "find", "index", "count",
     "items", "keys", "values", "get", "append"}
)  # fmt: skip
"""What does not change a text, or is seen by the probe, or looks for words that the fast path leaves to Jinja2."""

_BETWEEN, _OTHERS = "xq{}jz", "Vk{}Wf"
"""Words of our own that no template prints, and others: what stays the same between both is the template's."""

_TRIMMED: tuple[str | None, ...] = ("", "\n", None)
_BLANKS = ("\n", " ", "\n \n", " \n", "\n ", "\t\n\t", "\n\n\t", "\u00a0", "\r\n")
"""Blanks that stand on both sides of the probe's words."""

_HARD = (
    "one\ntwo", "one\n\n\ntwo  three", "{{ x }}", "{% y %}", "<b>&amp;</b>", "'\"\\\\n", "ÉÜß Ǆ İ", "世界 🙂 e\u0301", "UPPER lower Title",
    "```python\n    x = 1\n```", "1.0", "true", "None", "long text, " * 2000 + "end", "a\r\nb\tc",
)  # fmt: skip


@dataclass(frozen=True)
class Exact:
    """Texts that a template may compare a message's text with, and their lengths."""

    texts: frozenset[str]
    lengths: frozenset[int]

    @classmethod
    def of(cls, template: ChatTemplate) -> "Exact":
        """Every text that stands in the template as a value."""
        values = (const.value for tree in template.trees() for const in tree.find_all(jinja2.nodes.Const))
        texts = frozenset(value for value in values if isinstance(value, str))
        return cls(texts, frozenset(map(len, texts)))


class Trim(NamedTuple):
    """Blanks that are taken from the ends of a text: "" none, "\\n" line ends, None all."""

    left: str | None
    right: str | None

    def __call__(self, text: str) -> str:
        """What is printed of the text."""
        if self.left != "":
            text = text.lstrip(self.left)
        return text if self.right == "" else text.rstrip(self.right)


@dataclass(frozen=True)
class Pieces:
    """One render: `between` has a piece before each printed text and one after the last, `printed` the numbers of these texts.

    `trims` says which blanks of each are not printed.
    """

    between: tuple[str, ...]
    printed: tuple[int, ...]
    trims: tuple[Trim, ...]

    def around(self, texts: Sequence[str]) -> str:
        """The render with these texts."""
        parts = [self.between[0]]
        for number, trim, piece in zip(self.printed, self.trims, self.between[1:], strict=True):
            text = texts[number]
            parts += (text if "!" <= text[0] <= "~" and "!" <= text[-1] <= "~" else trim(text), piece)  # no blank is among these
        return "".join(parts)


@dataclass
class Glue:
    """What a template prints around the texts of one kind: per render what it does to the blanks of each text, and the pieces around them.

    `sizes`: how many values each message has. `uses`: how often it was asked for.
    """

    renders: tuple[Pieces, ...]
    exact: Exact
    sizes: tuple[int, ...]
    uses: int = 0

    def joined(self, messages: Sequence[JSONObject]) -> list[str] | None:
        """The renders of a conversation of the kind; None where it has more than texts, or where the template may know one of them."""
        if tuple(map(len, messages)) != self.sizes:
            return None
        texts = texts_of(messages)
        for text in texts:
            if len(text) in self.exact.lengths and text in self.exact.texts:
                return None
        self.uses += 1
        return [pieces.around(texts) for pieces in self.renders]

    def due(self) -> bool:
        """Whether what was just joined must be compared with the real render."""
        return self.uses <= PROVEN or self.uses % EVERY == 0


def is_plain(messages: Sequence[JSONObject]) -> bool:
    """Whether every message is a role, a text with more than blanks, and at most such a reasoning besides."""
    for message in messages:
        if len(message) > 2 and (len(message) > 3 or not _says(message.get("reasoning_content"))):
            return False
        if not _says(message["content"]):
            return False
    return True


def _says(text: str | None) -> bool:
    return text is not None and bool(text) and not text.isspace()


def texts_of(messages: Sequence[JSONObject]) -> list[str]:
    """The texts of a plain conversation: of every message its reasoning, where it has one, and its content."""
    texts: list[str] = []
    for message in messages:
        if len(message) > 2:
            texts.append(message["reasoning_content"])
        texts.append(message["content"])
    return texts


def with_texts(messages: Sequence[JSONObject], texts: Sequence[str]) -> list[JSONObject]:
    """The same messages with other texts, in the order of `texts_of`."""
    new = iter(texts)
    return [{**message, **({"reasoning_content": next(new)} if len(message) > 2 else {}), "content": next(new)} for message in messages]


def glue_of(messages: Sequence[JSONObject], wanted: Sequence[tuple[int, bool | None]], printed: Printed, exact: Exact) -> Glue | None:
    """The glue of plain conversations with these roles; `wanted`: count and setting of each render. None where it cannot be seen."""
    renders = []
    for count, setting in wanted:
        pieces = _pieces(messages[:count], setting, printed)
        if pieces is None:
            return None
        renders.append(pieces)
    return Glue(tuple(renders), exact, tuple(map(len, messages)))


def _pieces(messages: Sequence[JSONObject], setting: bool | None, printed: Printed) -> Pieces | None:
    """What one render prints around the texts, seen with words of our own; None where it prints one of them twice, or in another order."""
    texts = range(len(texts_of(messages)))

    def render(form: str, blanks: str = "") -> str | None:
        return printed(with_texts(messages, [blanks + form.format(number) + blanks for number in texts]), len(messages), setting)

    first = render(_BETWEEN)
    shown = tuple(number for number in texts if first is not None and _BETWEEN.format(number) in first)

    def between(text: str | None, form: str = _BETWEEN) -> tuple[str, ...] | None:
        return None if text is None else _cut(text, [form.format(number) for number in shown])

    plain, blank = between(first), [between(render(_BETWEEN, blanks)) for blanks in _BLANKS]
    if plain is None or None in blank or plain != between(render(_OTHERS), _OTHERS):
        return None
    ends: list[str | None] = [""]  # what is trimmed behind the text before each piece
    begins: list[str | None] = []
    for place, piece in enumerate(plain):
        last = place == len(shown)
        seen = [(blanks, found[place]) for blanks, found in zip(_BLANKS, blank, strict=True) if found is not None]
        pair = next(
            (
                (end, begin)
                for end in ([""] if place == 0 else _TRIMMED)
                for begin in ([""] if last else _TRIMMED)
                if all(
                    found == ("" if place == 0 else Trim("", end)(blanks)) + piece + ("" if last else Trim(begin, "")(blanks))
                    for blanks, found in seen
                )
            ),
            None,
        )
        if pair is None:
            return None
        ends.append(pair[0])
        begins.append(pair[1])
    return Pieces(plain, shown, tuple(Trim(left, right) for left, right in zip(begins[:-1], ends[2:], strict=True)))


def _cut(text: str, words: Sequence[str]) -> tuple[str, ...] | None:
    """What stands before each word and after the last; None where one of them does not stand there once, in their order."""
    pieces = []
    for word in words:
        if text.count(word) != 1:
            return None
        before, text = text.split(word)
        pieces.append(before)
    return *pieces, text


def prints_texts_as_they_stand(template: ChatTemplate, printed: Printed) -> bool:
    """Whether nothing in the template can change a text, and none of the probe's came out changed."""
    for tree in template.trees():
        if any(used.name not in _FILTERS for used in tree.find_all(jinja2.nodes.Filter)):
            return False
        calls = (call.node for call in tree.find_all(jinja2.nodes.Call))
        if any(isinstance(method, jinja2.nodes.Getattr) and method.attr not in _METHODS for method in calls):
            return False
    return all(found is None or found == wanted for found, wanted in _probe(printed))


def _probe(printed: Printed) -> Iterator[tuple[str | None, str | None]]:
    """Renders that have every hard text in every place, and what they should be."""
    edges = [f"{mark}x" for mark in string.punctuation] + [f"x{mark}" for mark in string.punctuation]
    chats = [[{"role": role, "content": role} for role in ("system", "user", "assistant", "user", "assistant")]]
    chats += [chats[0][1:], [message | ({"reasoning_content": "why"} if message["role"] == "assistant" else {}) for message in chats[0]]]
    texts = [*_HARD, *edges, *string.ascii_letters, *string.digits]
    for chat in chats:
        places = range(len(texts_of(chat)))
        pieces = _pieces(chat, None, printed)
        if pieces is None:
            continue
        for first in range(len(texts)):
            told = [texts[(first + 31 * place) % len(texts)] for place in places]
            yield printed(with_texts(chat, told), len(chat), None), pieces.around(told)
