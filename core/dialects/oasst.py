"""OpenAssistant's trees: one row for each message, or one row with a nested tree; each becomes its best-ranked path.

Message rows must all be seen before any can be converted, since a tree's rows may stand anywhere in a source.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.dialects.codes import Policy
from core.dialects.content import text_of
from core.dialects.dialect import Dialect, Outline
from core.dialects.draft import Draft, RawRecord, Turn
from core.dialects.handling import Handling, Quarantined, excerpt
from core.dialects.opening import record_of
from core.dialects.roles import meaning
from core.dialects.rows import Outcome, RawRow
from core.dialects.settle import settle
from core.dialects.tree import EXCLUSIONS, Node, best_path, exclusions

_READY = "ready_for_export"


def node_of(value: RawRecord, row: int) -> Node:
    """The node of one raw message. Raises `Quarantined` for a role that is neither asking nor answering."""
    role = value.get("role")
    known = meaning(role) if isinstance(role, str) else None
    if known is None or known.role not in ("user", "assistant"):
        raise Quarantined("unknown_role" if isinstance(role, str) else "missing_role", str(role), "role")
    name = _name(value.get("message_id"))
    if name is None:
        raise Quarantined("bad_message", "a message without an id", "message_id")
    rank = _number(value.get("rank"))
    state = value.get("tree_state")
    return Node(
        id=name,
        asks=known.role == "user",
        text=value.get("text"),
        row=row,
        rank=int(rank) if rank is not None and math.isfinite(rank) else None,
        deleted=_flag(value.get("deleted")) is True,
        approved=_flag(value.get("review_result")) is not False,
        ready=state is None or state in ("", _READY),
    )


# A CSV file has the same columns as text.


def _name(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        return None


def _flag(value: object) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "1": True, "false": False, "0": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def draft_of(path: Sequence[Node], handling: Handling) -> Draft:
    """The turns of a path."""
    turns = []
    for node in path:
        text = text_of(node.text, handling, "text")
        turns.append(Turn("user" if node.asks else "assistant", text, field=f"message {node.id}"))
    return Draft(turns)


def _read_nested(record: RawRecord, handling: Handling) -> Draft:
    return draft_of(_usable_path(_nested_root(record)), handling)


def _usable_path(root: Node) -> list[Node]:
    path = best_path(root)
    if not path:
        raise NotChosen("not_ready" if not root.ready else "deleted" if root.deleted else "review_failed")
    return path


class NotChosen(Exception):
    """The row's tree is not to be used; the reason is one of `tree.EXCLUSIONS`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _nested_root(record: RawRecord) -> Node:
    prompt = record.get("prompt")
    if not isinstance(prompt, dict):
        raise Quarantined("bad_messages", f"a tree whose prompt is a {type(prompt).__name__}", "prompt")
    root = node_of({"tree_state": record.get("tree_state"), **prompt}, 0)
    waiting: list[tuple[Node, Any]] = [(root, prompt.get("replies"))]
    while waiting:
        node, replies = waiting.pop()
        for reply in replies if isinstance(replies, list) else ():
            if isinstance(reply, dict):
                child = node_of(reply, 0)
                node.replies.append(child)
                waiting.append((child, reply.get("replies")))
    return root


def _read_flat(record: RawRecord, handling: Handling) -> Draft:
    """A tree whose message rows came as one list."""
    rows = record["rows"] if isinstance(record.get("rows"), list) else [record]
    forest = _Forest()
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            raise Quarantined("bad_message", f"a message of type {type(row).__name__}", f"[{index}]")
        forest.add(row, index)
    roots = forest.roots()
    if not roots:
        raise Quarantined("orphan_message", "no message without a parent")
    return draft_of(_usable_path(roots[0]), handling)


class _Forest:
    """Message rows by id, joined to trees once all are there."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self._parents: dict[str, str | None] = {}

    def add(self, record: RawRecord, row: int) -> None:
        node = node_of(record, row)
        if node.id in self.nodes:
            raise Quarantined("duplicate_message", node.id, "message_id")
        self.nodes[node.id] = node
        self._parents[node.id] = _name(record.get("parent_id"))

    def roots(self) -> list[Node]:
        roots: list[Node] = []
        for key, node in self.nodes.items():
            parent = self._parents[key]
            if parent is None:
                roots.append(node)
            elif parent in self.nodes:
                self.nodes[parent].replies.append(node)
        return roots


def gather(rows: Iterable[RawRow], policy: Policy) -> list[Outcome]:
    """One outcome for each message row, by position: a path's first row holds the conversation, its others are `used`."""
    forest = _Forest()
    raws = {row.position: row for row in rows}
    outcomes: dict[int, Outcome] = {}
    for position, raw in raws.items():
        try:
            forest.add(record_of(raw.value), position)
        except Quarantined as refusal:
            outcomes[position] = _refused(raw, refusal, ())
    for root in forest.roots():
        path = best_path(root)
        for node, reason in exclusions(root, path):
            outcomes[node.row] = _outcome(raws[node.row], "not_chosen", reason, EXCLUSIONS[reason])
        for node in path[1:]:
            outcomes[node.row] = _outcome(raws[node.row], "used", None, f"in the conversation of row {root.row}")
        if path:
            outcomes |= _converted(path, raws, policy)
    for node in forest.nodes.values():
        if node.row not in outcomes:
            orphan = Quarantined("orphan_message", f"message {node.id}", "parent_id")
            outcomes[node.row] = _refused(raws[node.row], orphan, ())
    return [outcomes[position] for position in sorted(outcomes)]


def _converted(path: list[Node], raws: Mapping[int, RawRow], policy: Policy) -> dict[int, Outcome]:
    """The outcome of the path's first row; all its rows are refused together where it makes no conversation."""
    handling = Handling(policy)
    try:
        settled = settle(draft_of(path, handling), handling)
    except Quarantined as refusal:
        return {node.row: _refused(raws[node.row], refusal, handling.repairs) for node in path}
    raw = raws[path[0].row]
    return {
        raw.position: Outcome(raw.position, settled.ending, settled.conversation, FLAT.name, handling.repairs, None, None, None, raw.value)
    }


def _refused(raw: RawRow, refusal: Quarantined, repairs: tuple[str, ...]) -> Outcome:
    return Outcome(raw.position, "quarantined", None, FLAT.name, repairs, refusal.reason, refusal.field, refusal.detail or None, raw.value)


def _outcome(raw: RawRow, status: Any, reason: str | None, detail: str) -> Outcome:
    return Outcome(raw.position, status, None, FLAT.name, (), reason, None, excerpt(detail), raw.value)


def is_message_row(keys: frozenset[str]) -> bool:
    """Whether the columns are those of one message of a tree."""
    return {"message_id", "parent_id", "role", "text"} <= keys


def _is_flat(row: Outline) -> bool:
    return is_message_row(row.keys)


FLAT = Dialect(
    "oasst_flat_messages",
    "OpenAssistant messages",
    "one row for each message, with message_id, parent_id, role and text",
    is_message_row,
    _is_flat,
    _read_flat,
    gathers=True,
)
NESTED = Dialect(
    "oasst_nested_tree",
    "OpenAssistant trees",
    "message_tree_id and a prompt object with replies",
    lambda keys: "prompt" in keys and bool(keys & {"message_tree_id", "tree_state"}),
    lambda row: isinstance(row.record["prompt"], dict),
    _read_nested,
)
