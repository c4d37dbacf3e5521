"""Where a dataset comes from, as its manifest tells it: sources with their ledgers, and the versions of what made it."""

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
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
    """What a manifest keeps of a source, apart from the clock of its import."""
    return {
        "domain": source.domain or "other",
        "licence": source.licence,
        "origin": source.origin.to_json(),
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
