"""What is known of sources before they are loaded: where they live, what they should hold, how they may be used.

The entries that ship stand in `catalogue.toml` beside this module; `catalogue.toml` in a workspace adds entries and changes
keys of theirs. It knows no rows.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.dialects import DIALECTS
from core.errors import InputError
from core.sources.hub import HubReference
from core.workspace import BUNDLED, BadName, Workspace, checked_name

DOMAINS = ("chat", "code", "agentic", "tool calling", "math", "prompt-only", "evaluation", "other")

SHIPPED = Path(__file__).with_name("catalogue.toml")


class BadCatalogue(InputError):
    """A catalogue file that cannot be used; the message names file, entry and key."""


class NotInCatalogue(InputError):
    """No entry has this name."""


class NotOnHub(InputError):
    """The entry has no hub id."""


@dataclass(frozen=True)
class CatalogueEntry:
    """One source as the catalogue knows it. What nobody has checked yet is None or empty, never a guess."""

    name: str
    title: str
    domain: str
    hub_id: str | None = None
    config: str | None = None
    split: str | None = None
    files: tuple[str, ...] = ()
    """Files inside the hub repository, where the repository mixes shapes."""
    revision: str | None = None
    licence: str | None = None
    gated: bool = False
    columns: tuple[str, ...] = ()
    rows: int | None = None
    dialect: str | None = None
    """What its rows are expected to be; each row is still read by what it shows, since sources change and mix."""
    notes: str = ""
    overlaps: Mapping[str, str] = field(default_factory=dict)
    """Entry -> why the two should not be mixed without deduplication."""
    evaluation: bool = False
    """A test set: never train on it."""
    bundled: Path | None = None
    """The sample in the source's own raw shape that ships with Mixdown."""

    def reference(self) -> HubReference:
        """What the hub calls it. Raises `NotOnHub`."""
        if self.hub_id is None:
            raise NotOnHub(f"The catalogue knows no place of {self.name!r} on the hub: give a file or folder.")
        return HubReference(self.hub_id, self.config, self.split, self.revision, self.files)


_KINDS: dict[str, tuple[type, str]] = {
    "title": (str, "a text"),
    "domain": (str, "a text"),
    "hub_id": (str, "a text"),
    "config": (str, "a text"),
    "split": (str, "a text"),
    "files": (list, "a list of texts"),
    "revision": (str, "a text"),
    "licence": (str, "a text"),
    "gated": (bool, "true or false"),
    "columns": (list, "a list of texts"),
    "rows": (int, "a whole number"),
    "dialect": (str, "a text"),
    "notes": (str, "a text"),
    "overlaps": (dict, "a table of texts"),
    "evaluation": (bool, "true or false"),
}


class Catalogue:
    """The entries by name, those that ship first, in the order of their files."""

    def __init__(self, entries: Mapping[str, CatalogueEntry]) -> None:
        self._entries = dict(entries)

    @classmethod
    def load(cls, workspace: Workspace) -> "Catalogue":
        """The shipped entries with the workspace's own on top. Raises `BadCatalogue`."""
        tables = _read(SHIPPED)
        own = workspace.home / "catalogue.toml"
        changed: dict[str, Path] = {}
        if own.is_file():
            for name, keys in _read(own).items():
                changed[name] = own
                tables[name] = {**tables.get(name, {}), **keys}
        return cls({name: _entry(name, keys, changed.get(name, SHIPPED)) for name, keys in tables.items()})

    def entries(self) -> list[CatalogueEntry]:
        """All entries."""
        return list(self._entries.values())

    def find(self, name: str) -> CatalogueEntry | None:
        """The entry of this name, or None."""
        return self._entries.get(name)

    def on_hub(self, hub_id: str, config: str | None = None, split: str | None = None) -> CatalogueEntry | None:
        """The one entry of a hub data set (and of this config and split, where given); None for none and for several."""
        found = [entry for entry in self._entries.values() if entry.hub_id == hub_id]
        found = [entry for entry in found if config in (None, entry.config) and split in (None, entry.split)] or found[:1]
        return found[0] if len(found) == 1 else None

    def entry(self, name: str) -> CatalogueEntry:
        """The entry of this name. Raises `NotInCatalogue`."""
        if (found := self.find(name)) is None:
            raise NotInCatalogue(f"The catalogue has no source {name!r}: see `mixdown sources` for the names.")
        return found


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadCatalogue(f"'{path}' is not valid TOML ({error}): correct it or move it away.") from error
    except OSError as error:
        raise BadCatalogue(f"'{path}' cannot be read: {error.strerror or error}.") from error
    for name, keys in tables.items():
        if not isinstance(keys, dict):
            raise BadCatalogue(f"'{path}': {name!r} stands outside an entry: begin each source with a line [name].")
    return tables


def _entry(name: str, keys: Mapping[str, Any], path: Path) -> CatalogueEntry:
    def wrong(what: str) -> BadCatalogue:
        return BadCatalogue(f"'{path}', entry [{name}]: {what}.")

    try:
        checked_name(name)
    except BadName as error:
        raise wrong(str(error).rstrip(".")) from error
    for key, value in keys.items():
        if key not in _KINDS:
            raise wrong(f"unknown key {key!r}; the keys are {', '.join(_KINDS)}")
        kind, described = _KINDS[key]
        parts = list(value) if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)) or not all(isinstance(part, str) for part in parts):
            raise wrong(f"{key} must be {described}, not {value!r}")
    if "domain" not in keys or keys["domain"] not in DOMAINS:
        raise wrong(f"domain must be one of {', '.join(DOMAINS)}")
    if keys.get("dialect") is not None and keys["dialect"] not in DIALECTS:
        raise wrong(f"dialect {keys['dialect']!r} is unknown; the dialects are {', '.join(DIALECTS)}")
    bundled = BUNDLED / "sources" / name
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in keys.items()}
    values.setdefault("title", name)
    return CatalogueEntry(name=name, bundled=bundled if bundled.is_dir() else None, **values)
