"""Where a dataset comes from, as its manifest tells it: sources with their ledgers, and the versions of what made it."""

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePath
from typing import Any

import orjson

from core.mix import Plan
from core.sources import Library, Source

_PACKAGES = ("mixdown", "tokenizers", "jinja2", "fastokens", "minijinja", "numpy", "pyarrow")


def versions() -> dict[str, str]:
    """Versions of the packages whose change could change a dataset's bytes."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def described(source: Source) -> dict[str, Any]:
    """What a manifest keeps of a source, apart from the clock of its import and the folder it was read from.

    Files are known by their names, sizes and hashes: the same dataset made elsewhere has the same bytes, and tells nobody of a home folder.
    """
    origin = source.origin.to_json()
    if origin["path"]:
        origin["path"] = PurePath(origin["path"]).name
    return {
        "domain": source.domain or "other",
        "licence": source.licence,
        "origin": origin,
        "revision": source.origin.revision,
        "dialect": source.dialect,
        "ledger": source.ledger.to_json(),
    }


def source_states(library: Library, made: Plan) -> dict[str, str]:
    """A hash per planned source that changes when it is imported again."""
    states = {}
    for part in made.sources:
        source = library.source(part.name)
        value = described(source) | {"info": source.info}
        states[part.name] = hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=str)).hexdigest()
    return states
