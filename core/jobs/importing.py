"""Import sources into the library: files and folders, one after the other, each whole or not at all."""

from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from core.jobs.job import Job
from core.watch import Watcher, stop_if_cancelled
from core.workspace import Workspace


class ImportItem(BaseModel):
    """One source to import: the name it gets, where its files are, and what the user settled by hand."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    origin: Path
    dialect: str | None = None
    policy: dict[str, str] = Field(default_factory=dict)
    domain: str | None = None
    licence: str | None = None


class ImportJob(Job):
    """Import some sources."""

    kind: ClassVar[str] = "import"
    items: tuple[ImportItem, ...]

    @property
    def title(self) -> str:
        """The one source, or how many."""
        return f"import {self.items[0].name}" if len(self.items) == 1 else f"import {len(self.items)} sources"

    def owns(self) -> list[Path]:
        """The sources' folders in the library."""
        return [self.workspace.source(item.name) for item in self.items]

    def perform(self, watcher: Watcher) -> dict[str, Any]:
        """Returns `{"sources": {name: ledger}}`. A source that fails stops the job; those before it stay imported."""
        from core.dialects import Policy
        from core.sources import import_source

        ledgers = {}
        for item in self.items:
            stop_if_cancelled(watcher)
            source = import_source(
                self.workspace,
                item.name,
                item.origin,
                dialect=item.dialect,
                policy=Policy.parse([f"{code}={choice}" for code, choice in item.policy.items()]),
                domain=item.domain,
                licence=item.licence,
                watcher=watcher,
            )
            ledgers[item.name] = source.ledger.to_json()
        return {"sources": ledgers}


def bundled_items(workspace: Workspace) -> tuple[ImportItem, ...]:
    """The sources that ship with Mixdown, as the catalogue describes them."""
    from core.sources import Catalogue

    entries = [entry for entry in Catalogue.load(workspace).entries() if entry.bundled is not None]
    return tuple(
        ImportItem(name=entry.name, origin=entry.bundled, dialect=entry.dialect, domain=entry.domain, licence=entry.licence)
        for entry in entries
        if entry.bundled is not None
    )
