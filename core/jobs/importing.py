"""Import sources into the library: files, folders and data sets of the hub, one after the other, each whole or not at all."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from core.errors import InputError
from core.jobs.job import Job
from core.sources.hub import HubReference
from core.watch import Watcher, stop_if_cancelled
from core.workspace import Workspace

if TYPE_CHECKING:
    from core.sources import CatalogueEntry


class NoSuchOrigin(InputError):
    """What was asked for is no path, no name of the catalogue and no id of the hub."""


class ImportItem(BaseModel):
    """One source to import: the name it gets, where its files are, and what the user settled by hand.

    `columns` maps parts of a conversation to columns (`core.dialects.ColumnMap`); None takes what was mapped before, {} forgets it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    origin: Path | HubReference
    dialect: str | None = None
    columns: dict[str, str] | None = None
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
        from core.dialects import ColumnMap, Policy
        from core.sources import import_source

        ledgers = {}
        for item in self.items:
            stop_if_cancelled(watcher)
            source = import_source(
                self.workspace,
                item.name,
                item.origin,
                dialect=item.dialect,
                columns=None if item.columns is None else ColumnMap(item.columns),
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
        ImportItem(name=entry.name, origin=entry.bundled, domain=entry.domain, licence=entry.licence)
        for entry in entries
        if entry.bundled is not None
    )


def again_item(
    workspace: Workspace,
    name: str,
    policy: Mapping[str, str] | None = None,
    *,
    dialect: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> ImportItem:
    """The imported source `name` from where it came from, read as last time but for what is given.

    `policy` goes on top of the switches of the last import (one set to its default is forgotten); a dialect or columns take the place
    of both of the last. The files of a hub data set are not fetched again while they are here. Raises `SourceMissing`.
    """
    from core.dialects import CODES
    from core.sources import Source

    source = Source.open(workspace, name)
    info = source.info
    given = dialect is not None or columns is not None
    switches = {**(info.get("policy") or {}), **(policy or {})}
    return ImportItem(
        name=name,
        origin=source.origin.place,
        dialect=dialect if given else info.get("dialect_asked_for"),
        columns=dict(columns) if columns is not None else {} if given else info.get("mapping"),
        policy={code: action for code, action in switches.items() if code not in CODES or action != CODES[code].default},
        domain=source.domain,
        licence=source.licence,
    )


def import_item(
    workspace: Workspace,
    origin: str,
    *,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
    files: tuple[str, ...] = (),
) -> ImportItem:
    """What a person means by `origin`: a path that is there, else a name of the catalogue, else `owner/name` on the hub.

    The other options name a part of a hub data set, and so say that it is one. Raises `NoSuchOrigin`, `NotOnHub`.
    """
    from core.sources import Catalogue, import_name, looks_like_hub_id
    from core.sources.readers.formats import named_format

    part: dict[str, Any] = {"config": config, "split": split, "revision": revision, "files": files or None}
    given = {key: value for key, value in part.items() if value is not None}
    path = Path(origin)
    is_path = os.path.lexists(path) or named_format(path) is not None or (origin != path.name and not looks_like_hub_id(origin))
    if is_path and not given:
        return ImportItem(name=import_name(path), origin=Path(os.path.realpath(path)))  # unlike Path.resolve, no error for a link to itself
    catalogue = Catalogue.load(workspace)
    entry = catalogue.find(origin) or catalogue.on_hub(origin, config, split)
    if entry is not None:
        return _hub_item(entry, given)
    if not looks_like_hub_id(origin):
        raise NoSuchOrigin(f"There is no file or folder {origin!r}, and the catalogue has no source of that name: see `mixdown sources`.")
    wanted = HubReference(origin, **given)
    return ImportItem(name=import_name(wanted), origin=wanted)


def _hub_item(entry: "CatalogueEntry", part: dict[str, Any]) -> ImportItem:
    """A source of the catalogue as the hub has it, or another part of the same data set, which then has a name of its own."""
    from core.sources import import_name

    known = entry.reference()
    if part.get("files") or any(
        part.get(key, known_as) != known_as for key, known_as in (("config", known.config), ("split", known.split))
    ):
        wanted = HubReference(**{"repo": known.repo, "config": known.config, "revision": known.revision, **part})
        return ImportItem(name=import_name(wanted), origin=wanted, domain=entry.domain, licence=entry.licence)
    wanted = replace(known, revision=part.get("revision", known.revision))
    return ImportItem(name=entry.name, origin=wanted, domain=entry.domain, licence=entry.licence)
