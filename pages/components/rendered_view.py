"""The rendered text, tinted by the message that each part was printed for, and named beside it. One escaped HTML string."""

from collections.abc import Sequence

from core.chat import RenderedPart
from pages.components.visible import escaped, visible

LONGEST = 60_000
"""Characters drawn at once; a longer render is cut into pages of this size."""


def pages_of(parts: Sequence[RenderedPart]) -> list[list[RenderedPart]]:
    """The parts in groups of at most `LONGEST` characters; a part that is longer is split."""
    pages: list[list[RenderedPart]] = [[]]
    room = LONGEST
    for part in parts:
        rest = part.text
        while rest:
            if not room:
                pages.append([])
                room = LONGEST
            piece, rest = rest[:room], rest[room:]
            pages[-1].append(RenderedPart(piece, part.message, part.role, part.name))
            room -= len(piece)
    return pages


def rendered_view(parts: Sequence[RenderedPart]) -> str:
    """HTML of the parts in order, one block each."""
    blocks = "".join(
        f'<div class="md-part {part.role}" role="listitem"><div class="code">{visible(part.text)}</div>'
        f'<div class="why"><b>{escaped(part.name)}</b><br>{len(part.text):,} characters</div></div>'
        for part in parts
    )
    return f'<div class="md-tokens" role="list">{blocks}</div>'
