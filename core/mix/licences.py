"""The licences of a mix, the strictest first, and what they mean for commercial use. It reads what sources declare and gives no advice.

It knows licence names as data cards write them (SPDX ids, hub tags, plain words), not sources or plans.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Commercial = Literal["yes", "conditions", "unclear", "no"]
"""Whether commercial use is allowed: yes (with attribution or share-alike at most), under further conditions, nobody says, or not."""


@dataclass(frozen=True)
class Kind:
    """A kind of licence: how strict it is among the others (0 is the strictest), and what it asks in a few words."""

    rank: int
    name: str
    commercial: Commercial


@dataclass(frozen=True)
class Part:
    """What a source brings into the mix."""

    source: str
    licence: str | None
    rows: int


@dataclass(frozen=True)
class LicenceShare:
    """All sources under one licence: its rows and their share of the mix, 0 to 1."""

    licence: str | None
    kind: Kind
    sources: tuple[str, ...]
    rows: int
    share: float


@dataclass(frozen=True)
class MixLicences:
    """The licences of a mix, the strictest first, and what a person has to know before using it."""

    licences: tuple[LicenceShare, ...]
    warnings: tuple[str, ...]

    @property
    def commercial(self) -> Commercial:
        """What holds for the mix as a whole: what the strictest part allows; "unclear" for an empty mix."""
        order: list[Commercial] = ["no", "unclear", "conditions", "yes"]
        return min((share.kind.commercial for share in self.licences), key=order.index, default="unclear")


_NON_COMMERCIAL = Kind(0, "non-commercial", "no")
_PARTLY = Kind(1, "parts non-commercial", "no")
_UNDECLARED = Kind(2, "no licence declared", "unclear")
_UNKNOWN = Kind(3, "terms of its own", "unclear")
_CONDITIONS = Kind(4, "commercial use under conditions", "conditions")
_NO_DERIVATIVES = Kind(4, "no derivatives", "conditions")
_SHARE_ALIKE = Kind(5, "share alike", "yes")
_ATTRIBUTION = Kind(6, "attribution", "yes")
_PERMISSIVE = Kind(7, "permissive", "yes")
_PUBLIC = Kind(8, "public domain", "yes")

# In this order: the first that is found says the kind.
_PATTERNS: tuple[tuple[str, Kind], ...] = (
    (r"\b(?:parts?|some|partly|mixed)\b.*\b(?:nc|non[- ]?commercial|research)", _PARTLY),
    (r"\bnc\b|non[- ]?commercial|research[- ]?only|academic[- ]use|fair[- ]?noncommercial", _NON_COMMERCIAL),
    (r"\bnd\b|no[- ]?deriv", _NO_DERIVATIVES),
    (r"llama|gemma|openrail|rail\b|openai|deepseek-license|qwen|community licen[cs]e|terms of (?:use|service)", _CONDITIONS),
    (r"\bsa\b|share[- ]?alike|\bl?a?gpl|\bodbl|\bmpl\b|\beupl\b|\bcdla-sharing|\bgfdl", _SHARE_ALIKE),
    (r"\bcc-?0\b|\bcc zero\b|public domain|\bunlicense\b|\bpddl\b|\bwtfpl\b|\b0bsd\b|\bcdla-permissive-2", _PUBLIC),
    (r"\bcc-?by\b|\bcc by\b|creative commons attribution|\bodc-?by\b|\bcdla-permissive", _ATTRIBUTION),
    (r"\bmit\b|\bapache|\bbsd\b|\bisc\b|\bzlib\b|\bbsl-1\.0\b|\bafl\b|\bms-pl\b|\bncsa\b", _PERMISSIVE),
)

_UNSAID = re.compile(r"|none|unknown|unlicensed|not declared|n/?a|-|–", re.IGNORECASE)


def kind_of(licence: str | None) -> Kind:
    """The kind of a licence by its name; what nobody declares counts as stricter than what is merely unknown to this list."""
    said = " ".join((licence or "").replace("_", "-").split())
    if _UNSAID.fullmatch(said):
        return _UNDECLARED
    return next((kind for pattern, kind in _PATTERNS if re.search(pattern, said, re.IGNORECASE)), _UNKNOWN)


def mix_licences(parts: Iterable[Part]) -> MixLicences:
    """The licences of the parts that have rows, the strictest first (then by rows), with a warning for all that excludes or may exclude
    commercial use.
    """
    together: dict[str | None, list[Part]] = {}
    for part in parts:
        if part.rows:
            together.setdefault((part.licence or "").strip() or None, []).append(part)
    total = sum(part.rows for group in together.values() for part in group)
    found = [
        LicenceShare(licence, kind_of(licence), tuple(sorted(p.source for p in group)), rows := sum(p.rows for p in group), rows / total)
        for licence, group in together.items()
    ]
    found.sort(key=lambda share: (share.kind.rank, -share.rows, share.licence or ""))
    return MixLicences(tuple(found), tuple(_warnings(found)))


def _warnings(found: list[LicenceShare]) -> list[str]:
    said = {
        "no": "excludes commercial use, in part at least",
        "unclear": "does not say whether commercial use is allowed: ask its authors",
        "conditions": "allows commercial use under conditions of its own: read it",
    }
    return [
        f"{', '.join(share.sources)} ({share.licence or 'no licence declared'}, {share.share:.1%} of rows) {said[share.kind.commercial]}."
        for share in found
        if share.kind.commercial in said
    ]
