"""Which message each character of a render came from.

A traced template prints a mark wherever a loop takes up one of the conversation's messages, and where the loop ends;
cutting the marks out gives back the plain render and the span of every message. It knows Jinja's tree, not any template.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jinja2 import nodes

from core.conversation import JSONObject

BEGIN, END = "mixdown_begin_message", "mixdown_end_messages"
"""Names of the two functions a traced template calls."""

_CANDIDATES = range(0xF0000, 0xF1000)  # private use: no template prints these; a conversation might hold some


class Span(NamedTuple):
    """Characters `[start, end)` printed for one message, or for none (`message` None: before, between or after the messages)."""

    message: int | None
    start: int
    end: int


@dataclass
class Trace:
    """Collects the marks of one render. `mark` is a character that occurs nowhere else in it."""

    messages: Sequence[JSONObject]
    mark: str
    _open: list[tuple[int, int]] = field(default_factory=list)  # (loop, message), innermost last

    def __post_init__(self) -> None:
        self._places = {id(message): place for place, message in enumerate(self.messages)}

    def begin(self, loop: int, targets: Sequence[object]) -> str:
        """The mark for a loop that turns to `targets`; empty when none of them is a message."""
        place = next((self._places[id(target)] for target in targets if id(target) in self._places), None)
        if place is None:
            return ""
        if self._open and self._open[-1][0] == loop:
            self._open.pop()
        self._open.append((loop, place))
        return self._mark(place)

    def end(self, loop: int) -> str:
        """The mark for a loop that is over: back to the message around it, if it was over messages itself."""
        if not self._open or self._open[-1][0] != loop:
            return ""
        self._open.pop()
        return self._mark(self._open[-1][1] if self._open else None)

    def generated(self, text: str) -> str:
        """The body of a `{% generation %}` block between its own marks."""
        return f"{self.mark}<{self.mark}{text}{self.mark}>{self.mark}"

    def read(self, traced: str) -> tuple[str, list[Span], list[tuple[int, int]]]:
        """Take the marks out: the plain text, the spans that cover it in order, and the spans of generation blocks."""
        parts = re.split(f"{self.mark}(\\d*|<|>){self.mark}", traced)
        text, length, message = [parts[0]], len(parts[0]), None
        spans = [Span(None, 0, length)]
        generations: list[tuple[int, int]] = []
        opened: list[int] = []
        for event, piece in zip(parts[1::2], parts[2::2], strict=True):
            if event == "<":
                opened.append(length)
            elif event == ">":
                generations.append((opened.pop() if opened else 0, length))
            else:
                message = int(event) if event else None
            spans.append(Span(message, length, length + len(piece)))
            text.append(piece)
            length += len(piece)
        return "".join(text), [span for span in _joined(spans) if span.start < span.end], generations

    def _mark(self, place: int | None) -> str:
        return f"{self.mark}{'' if place is None else place}{self.mark}"


def unused_mark(text: str) -> str:
    """A private-use character that `text` does not hold."""
    return next(chr(code) for code in _CANDIDATES if chr(code) not in text)


def mark_loops(tree: nodes.Template) -> None:
    """Change the tree: every loop body begins with a call of `BEGIN`, and after every loop stands a call of `END`."""
    loops: list[nodes.For] = list(tree.find_all(nodes.For))
    numbers = {id(loop): number for number, loop in enumerate(loops)}
    for parent in [tree, *tree.find_all(nodes.Node)]:
        for name in parent.fields:
            children = getattr(parent, name, None)
            if isinstance(children, list) and any(isinstance(child, nodes.For) for child in children):
                setattr(parent, name, list(_with_ends(children, numbers)))
    for loop in loops:
        names = [loop.target] if isinstance(loop.target, nodes.Name) else list(loop.target.find_all(nodes.Name))
        targets: list[nodes.Expr] = [nodes.Name(name.name, "load", lineno=loop.lineno) for name in names]
        loop.body.insert(0, _call(BEGIN, [nodes.Const(numbers[id(loop)], lineno=loop.lineno), *targets], loop.lineno))


def _with_ends(children: list[nodes.Node], numbers: dict[int, int]) -> Iterator[nodes.Node]:
    for child in children:
        yield child
        if isinstance(child, nodes.For):
            yield _call(END, [nodes.Const(numbers[id(child)], lineno=child.lineno)], child.lineno)


def _call(function: str, arguments: list[nodes.Expr], line: int) -> nodes.Output:
    call = nodes.Call(nodes.Name(function, "load", lineno=line), arguments, [], None, None, lineno=line)
    return nodes.Output([call], lineno=line)


def _joined(spans: list[Span]) -> list[Span]:
    """Neighbours of one message as one span (generation marks cut them)."""
    joined: list[Span] = []
    for span in spans:
        if joined and joined[-1].message == span.message:
            joined[-1] = Span(span.message, joined[-1].start, span.end)
        else:
            joined.append(span)
    return joined
