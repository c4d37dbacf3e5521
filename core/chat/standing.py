"""Where each message of a conversation stands: all that a template is believed to look at when it prints it.

Two messages that stand alike are printed alike, up to their words; the fast path learns that per standing and checks it. It does not know
tokens.
"""

from collections.abc import Sequence

from core.chat.choices import Dropped, Supervision
from core.chat.drafts import trained_turns
from core.chat.kinds import REASONS, Kind, MessageKind
from core.chat.template import ChatTemplate
from core.conversation import Conversation

Standing = tuple[object, ...]
Neighbour = tuple[str, bool]
"""Role, and whether there are tool calls."""


class Shape:
    """One kind of conversation under one set of choices: its trained turns, their thinking settings, and where its messages stand."""

    def __init__(
        self, kind: Kind, conversation: Conversation, template: ChatTemplate, supervision: Supervision, settings: "SeenSettings"
    ) -> None:
        """`conversation`: any one of that kind."""
        self.tools, self.kinds = kind
        self.count = len(self.kinds)
        self.turns: list[int]
        self.dropped: list[Dropped]
        self.turns, self.dropped = trained_turns(conversation, supervision.turns)
        chooses = template.takes_thinking and "enable_thinking" not in template.args
        self.expected: dict[int, bool | None] = {turn: _setting(self.kinds[turn], supervision, chooses) for turn in self.turns}
        """The thinking setting that a turn's reasoning asks for; `settings` has the one that its template is seen to take."""
        self.settings: dict[int, bool | None] = {
            turn: not expected if expected is not None and settings.contrary(self.kinds[turn]) else expected
            for turn, expected in self.expected.items()
        }
        self.whole: bool | None = self.settings[self.turns[-1]] if self.turns else None
        roles = [role for role, *_ in self.kinds]
        self._first_user = roles.index("user") if "user" in roles else -1
        self._neighbours: list[Neighbour] = [(role, calls > 0) for role, _, calls, _ in self.kinds]
        self.last_user: list[int] = []
        """For every message the last user message up to it, -1 for none."""
        for place, role in enumerate(roles):
            self.last_user.append(place if role == "user" else self.last_user[-1] if place else -1)
        self.precise = False
        self._leads = roles[:1] == ["system"]

    def standing(self, place: int, count: int, setting: bool | None, mark: str = "") -> Standing:
        """Where message `place` stands in the render of the first `count` ones under `setting`; `mark` tells trained turns apart.

        The thinking setting counts for trained turns and the last message, a system message for the two first ones, unless `precise`.
        """
        near, last = self.precise or place < 2, self.precise or bool(mark) or place + 1 == count
        return (
            self.kinds[place],
            self._neighbours[place - 1] if place else None,
            self._neighbours[place + 1] if place + 1 < count else None,
            place > self.last_user[count - 1],
            place == self._first_user,
            self.tools,
            self._leads and near,
            setting if last else None,
            mark,
        )

    def unlike(self, turn: int) -> Sequence[int]:
        """The messages up to `turn` that stand otherwise in the turn's own render than in the whole one, in order."""
        if self.settings[turn] is not self.whole:
            return range(turn + 1)
        ends = self.turn_end(turn)
        return [*ends, turn] if turn + 1 < self.count else ends

    def turn_end(self, turn: int) -> Sequence[int]:
        """The messages of the turn's exchange that stand before it, where a later user message makes them past."""
        mine, last = self.last_user[turn], self.last_user[-1]
        return range(mine + 1, turn) if last > mine else range(0)


class SeenSettings:
    """Which thinking setting turns of each kind took: the one that their reasoning asks for, or the other, because its prompt fits.

    A template that prints no empty scaffold in its answers makes every turn without reasoning take the thinking prompt.
    """

    def __init__(self) -> None:
        self._seen: dict[MessageKind, list[int]] = {}

    def contrary(self, kind: MessageKind) -> bool:
        """Whether turns of this kind always took the other setting, twice at least."""
        as_expected, otherwise = self._seen.get(kind, (0, 0))
        return otherwise >= ENOUGH and not as_expected

    def see(self, kind: MessageKind, as_expected: bool) -> bool:
        """Take note of one turn; whether that changes what is to be expected of its kind."""
        before = self.contrary(kind)
        self._seen.setdefault(kind, [0, 0])[not as_expected] += 1
        return self.contrary(kind) is not before


ENOUGH = 2


def _setting(kind: MessageKind, supervision: Supervision, chooses: bool) -> bool | None:
    if not chooses or supervision.thinking == "default":
        return None
    return kind[1] >= REASONS if supervision.thinking == "auto" else supervision.thinking == "on"
