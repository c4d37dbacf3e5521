"""How one row's troubles are handled while it is converted: every repair is noted, every refusal names its reason.

It knows the policy and the row's repairs so far, nothing of what is being repaired.
"""

from core.dialects.characters import printable
from core.dialects.codes import Action, Policy

EXCERPT = 200
"""The longest detail of a refusal, in characters."""


class Quarantined(Exception):
    """The row cannot be used: `reason` is a code, `field` where in the row, `detail` what was found there."""

    def __init__(self, reason: str, detail: str = "", field: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = excerpt(detail)
        self.field = field


def excerpt(text: str) -> str:
    """The text, cut to what a table can show, holding only characters that any file can hold."""
    return printable(text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…")


class Handling:
    """The policy applied to one row. Repairs are noted once each, in the order in which they were first needed."""

    __slots__ = ("_noted", "_policy")

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._noted: dict[str, None] = {}

    @property
    def repairs(self) -> tuple[str, ...]:
        """The codes of all repairs made."""
        return tuple(self._noted)

    def repair(self, code: str, detail: str = "", field: str | None = None) -> bool:
        """Whether to repair (then it is noted) or to keep things as they are; raises `Quarantined` where the policy says so."""
        if code in self._noted:
            return True
        action = self._policy.action(code)
        if action == "quarantine":
            raise Quarantined(code, detail, field)
        if action == "keep":
            return False
        self._noted[code] = None
        return True

    def refuse(self, code: str, detail: str = "", field: str | None = None) -> Action:
        """What the policy says about a reason for quarantine: raises `Quarantined`, or returns "repair" (noted) or "keep"."""
        action = self._policy.action(code)
        if action == "quarantine":
            raise Quarantined(code, detail, field)
        if action == "repair":
            self._noted[code] = None
        return action
