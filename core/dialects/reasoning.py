"""Takes reasoning out of an assistant's text: `<think>…</think>` goes to its own field, since templates print it there.

Tags inside code are text that talks about tags, and tags inside a call are its arguments. It does not know roles or templates.
"""

import re
from dataclasses import dataclass

_TAG = r"<(?P<close>/?)think>"
_CODE = r"```.*?(?:```|\Z)|^~~~.*?(?:^~~~|\Z)|`[^`\n]*`"
_CALL = (
    r"<tool_call>(?=\s*[\[{<]).*?(?:</tool_call>|\Z)|<functioncall>(?=\s*\{).*?(?:<\|endoftext\|>|\Z)"
    r"|<function=[^<>\n]{1,256}>(?=\s*(?:<parameter=|</function>|\{)).*?(?:</function>|\Z)"
)
_INSIDE = re.compile(f"{_TAG}|{_CODE}", re.DOTALL | re.MULTILINE)
_OUTSIDE = re.compile(f"{_TAG}|{_CODE}|{_CALL}", re.DOTALL | re.MULTILINE)
_GAP = re.compile(r"(?:[ \t]*\r?\n)+|[ \t]+")
_OTHER = (("<thinking>", "</thinking>"), ("<|begin_of_thought|>", "<|end_of_thought|>"))
_SOLUTION = ("<|begin_of_solution|>", "<|end_of_solution|>")


class Unbalanced(ValueError):
    """A tag without its partner."""


@dataclass(frozen=True, slots=True)
class Split:
    """The text without its reasoning, and the pieces of reasoning in order."""

    content: str
    reasoning: tuple[str, ...]


def split_reasoning(text: str) -> Split:
    """Both parts of an assistant's text. Raises `Unbalanced` for a `<think>` or `</think>` outside code without its partner."""
    if "think" not in text and "_of_thought|>" not in text:
        return Split(text, ())
    for opening, closing in _OTHER:
        if text.lstrip().startswith(opening) and closing in text:
            reasoning, _, rest = text.lstrip()[len(opening) :].partition(closing)
            return _split(reasoning, _without_solution_tags(rest))
    if "<think>" not in text and "</think>" not in text:
        return Split(text, ())
    lead = text.lstrip()
    if not lead.startswith("<think>"):
        return _take_blocks(text)
    reasoning, closing, rest = lead.removeprefix("<think>").partition("</think>")
    if not closing or _tags(reasoning):
        raise Unbalanced("<think>")
    later = _take_blocks(_after(rest))
    return Split(later.content, tuple(piece for piece in (reasoning.strip(), *later.reasoning) if piece))


def without_tags(reasoning: str) -> str:
    """Reasoning from a field of its own, without the tags around it that some sets leave there."""
    inner = reasoning.strip()
    if not inner.startswith("<think>") and not inner.endswith("</think>"):
        return reasoning
    inner = inner.removeprefix("<think>").removesuffix("</think>")
    return inner.strip() if "<think>" not in inner and "</think>" not in inner and inner.strip() else reasoning


def split_one_sided(text: str) -> Split:
    """The best guess for an unbalanced text: before a lone `</think>`, or after a lone `<think>`, all is reasoning."""
    before, closing, after = text.rpartition("</think>")
    if closing:
        return _split(before.replace("<think>", "").replace("</think>", ""), _after(after))
    before, _, after = text.partition("<think>")
    return _split(after.replace("<think>", ""), before.strip())


def _split(reasoning: str, content: str) -> Split:
    return Split(content, (reasoning.strip(),) if reasoning.strip() else ())


def _without_solution_tags(text: str) -> str:
    answer = text.strip()
    if not answer.startswith(_SOLUTION[0]):
        return _after(text)
    return answer.removeprefix(_SOLUTION[0]).removesuffix(_SOLUTION[1]).strip("\n")


def _take_blocks(text: str) -> Split:
    tags = _tags(text)
    if not tags:
        return Split(text, ())
    kept: list[str] = []
    taken: list[str] = []
    position = 0
    for index in range(0, len(tags), 2):
        pair = tags[index : index + 2]
        if len(pair) < 2 or pair[0]["close"] or not pair[1]["close"]:
            raise Unbalanced(text[pair[0].start() : pair[0].end()])
        kept.append(text[position : pair[0].start()].rstrip())
        taken.append(text[pair[0].end() : pair[1].start()].strip())
        position = pair[1].end()
    kept.append(_after(text[position:]))
    return Split("\n\n".join(piece for piece in kept if piece), tuple(piece for piece in taken if piece))


def _tags(text: str) -> list[re.Match[str]]:
    """The tags outside code and calls, in order; what looks like a call within reasoning is reasoning."""
    tags: list[re.Match[str]] = []
    position = 0
    within = False
    while found := (_INSIDE if within else _OUTSIDE).search(text, position):
        if found["close"] is not None:
            tags.append(found)
            within = not found["close"]
        position = found.end()
    return tags


def _after(text: str) -> str:
    """What follows a closing tag, without the gap in front of it; the first line keeps its indentation."""
    gap = _GAP.match(text)
    return text[gap.end() :] if gap else text
