"""One tree of messages and its best path: at every node the best-ranked reply that may be used.

It knows nodes, not the rows they came from. Nothing recurses, so a tree may be as deep as it likes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Exclusion: TypeAlias = Literal["not_ready", "deleted", "review_failed", "lower_rank", "other_branch", "unanswered"]

EXCLUSIONS: dict[str, str] = {
    "not_ready": "The tree was not ready for export.",
    "deleted": "The message was deleted.",
    "review_failed": "Reviewers rejected the message.",
    "lower_rank": "Another reply to the same message stands above it.",
    "other_branch": "It follows a message that was not chosen.",
    "unanswered": "Nobody answers it, so the path ends before it.",
}
"""Why a message of a tree stands in no conversation, one sentence each."""


@dataclass(slots=True, eq=False)
class Node:
    """One message. `rank` 0 is best, None where nobody ranked; `row` is the caller's own mark."""

    id: str
    asks: bool
    text: object
    row: int
    rank: int | None = None
    deleted: bool = False
    approved: bool = True
    ready: bool = True
    replies: list["Node"] = field(default_factory=list)

    @property
    def usable(self) -> bool:
        """Whether it may stand on a path."""
        return not self.deleted and self.approved


def best_path(root: Node) -> list[Node]:
    """From the root to the last answer worth having; the root alone where nobody answers it, nothing where it cannot be used."""
    if not root.ready or not root.usable:
        return []
    path = [root]
    while following := _best(path[-1].replies):
        path.append(following)
    while len(path) > 1 and path[-1].asks:
        path.pop()
    return path


def exclusions(root: Node, path: list[Node]) -> Iterator[tuple[Node, Exclusion]]:
    """Every message of the tree that is not on the path, with the reason."""
    chosen = {id(node) for node in path}
    for node, parent in walk(root):
        if id(node) in chosen:
            continue
        if not root.ready:
            yield node, "not_ready"
        elif node.deleted:
            yield node, "deleted"
        elif not node.approved:
            yield node, "review_failed"
        elif parent is None or id(parent) not in chosen:
            yield node, "other_branch"
        else:
            yield node, "lower_rank" if any(id(reply) in chosen for reply in parent.replies) else "unanswered"


def walk(root: Node) -> Iterator[tuple[Node, Node | None]]:
    """Every node with its parent, parents first."""
    waiting: list[tuple[Node, Node | None]] = [(root, None)]
    while waiting:
        node, parent = waiting.pop()
        yield node, parent
        waiting.extend((reply, node) for reply in node.replies)


def _best(replies: Iterable[Node]) -> Node | None:
    """The best-ranked usable reply; of several questions one that is answered. Ties and missing ranks go by order."""
    usable = [node for node in replies if node.usable]
    return min(usable, key=_preference, default=None)


def _preference(node: Node) -> tuple[bool, float]:
    unanswered = node.asks and not any(reply.usable and not reply.asks for reply in node.replies)
    return unanswered, float("inf") if node.rank is None else node.rank
