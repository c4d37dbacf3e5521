"""How far an interrupted import got: the account of the rows in a draft's finished parts, and what it must agree with to go on.

It knows when two imports do the same. It does not read rows.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import core.conversation
import core.dialects
from core.sources import shelf
from core.sources.ledger import Ledger
from core.sources.statistics import Statistics


@dataclass
class Account:
    """Everything an import has counted so far. `stored` are the rows of the index, `columns` the raw rows that have each column."""

    ledger: Ledger = field(default_factory=Ledger)
    statistics: Statistics = field(default_factory=Statistics)
    columns: dict[str, int] = field(default_factory=dict)
    stored: int = 0


@dataclass(frozen=True)
class Checkpoint:
    """The account at the end of the finished parts: `kept_parts` and `quarantine_parts` many hold its rows, and no others."""

    account: Account
    kept_parts: int
    quarantine_parts: int

    def write(self, draft: Path) -> None:
        """Record it in the draft's folder, in place of the one before."""
        shelf.write_file(draft / shelf.CHECKPOINT, json.dumps(asdict(self), ensure_ascii=True))

    @classmethod
    def read(cls, draft: Path) -> "Checkpoint | None":
        """The last one of a draft; None for a draft without, or with one that cannot be read."""
        try:
            value = json.loads((draft / shelf.CHECKPOINT).read_bytes())
            account = value["account"]
            return cls(
                Account(Ledger(**account["ledger"]), Statistics(**account["statistics"]), account["columns"], account["stored"]),
                value["kept_parts"],
                value["quarantine_parts"],
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None


def import_key(files: Sequence[tuple[str, int, str]], options: Mapping[str, Any]) -> str:
    """A digest of what an import reads (path, bytes and SHA-256 of each file), how it was asked to, and the code that does it."""
    text = json.dumps([files, options, _code()], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _code() -> str:
    """A digest of the converting code: rows of one source must not be converted half by one version and half by another."""
    packages = [Path(core.dialects.__file__).parent, Path(__file__).parent]
    files = sorted([file for package in packages for file in package.rglob("*.py")] + [Path(core.conversation.__file__)])
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
