"""What a dataset is made of and what it must look like: `manifest.json`, and `manifest.sha256` beside it.

Every other file's SHA-256 stands in the manifest, the manifest's own in the sibling (`sha256sum -c` reads it), so that no byte of a
dataset can change unseen. It knows the figures, not how they come about.
"""

import hashlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from core.errors import InputError, MixdownError
from core.tokens.shards import write_whole

MANIFEST_FILE = "manifest.json"
SEAL_FILE = "manifest.sha256"
FORMAT = "mixdown-dataset-1"


class NotADataset(InputError):
    """A folder without a manifest of ours."""


class ManifestBroken(MixdownError):
    """A manifest that is not what was written."""


@dataclass(frozen=True)
class SourceCounts:
    """What became of one source. `conversations` were picked to train on, `kept` of them gave at least one row."""

    conversations: int = 0
    kept: int = 0
    rows: int = 0
    tokens: int = 0
    trainable_tokens: int = 0
    truncated: int = 0
    history_rewritten: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    """Conversations or single turns that were left out, by reason; each stands in `dropped.parquet`."""

    def __add__(self, other: "SourceCounts") -> "SourceCounts":
        sums = {name: getattr(self, name) + getattr(other, name) for name in _FIGURES}
        return SourceCounts(**sums, dropped=added(self.dropped, other.dropped))

    def to_json(self) -> dict[str, Any]:
        """All figures by their names."""
        return asdict(self)


_FIGURES = ("conversations", "kept", "rows", "tokens", "trainable_tokens", "truncated", "history_rewritten")


@dataclass(frozen=True)
class HeldOutCounts:
    """The evaluation set: conversations held out, prompts made of them, and those left out by reason."""

    conversations: int = 0
    prompts: int = 0
    dropped: dict[str, int] = field(default_factory=dict)

    def __add__(self, other: "HeldOutCounts") -> "HeldOutCounts":
        return HeldOutCounts(self.conversations + other.conversations, self.prompts + other.prompts, added(self.dropped, other.dropped))


@dataclass(frozen=True)
class Manifest:
    """Everything a reader of a dataset may ask, without a clock or a machine in it: the same recipe gives the same bytes.

    `recipe` is the recipe as JSON, `target` names the tokenizer and template with their hashes, `sources` holds per source its provenance
    (domain, licence, origin, revision, ledger) and its `SourceCounts`; `files` has bytes and SHA-256, and rows and tokens of shards.
    """

    recipe: dict[str, Any]
    recipe_hash: str
    target: dict[str, Any]
    versions: dict[str, str]
    conversations: int
    rows: int
    tokens: int
    trainable_tokens: int
    seq_length: int
    sources: dict[str, dict[str, Any]]
    heldout: dict[str, Any]
    plan: dict[str, Any]
    files: dict[str, dict[str, Any]]
    format: str = FORMAT

    @classmethod
    def load(cls, folder: Path) -> "Manifest":
        """The manifest of a dataset, checked against its seal; raises `NotADataset` or `ManifestBroken`."""
        try:
            content = (folder / MANIFEST_FILE).read_bytes()
        except OSError as error:
            raise NotADataset(
                f"{folder} holds no dataset made by Mixdown (no {MANIFEST_FILE}); make one with `mixdown tokenize`."
            ) from error
        try:
            seal = (folder / SEAL_FILE).read_bytes()
        except OSError as error:
            raise ManifestBroken(f"{folder / SEAL_FILE} is missing, so nothing proves the manifest; make the dataset again.") from error
        if seal != _seal(content):
            raise ManifestBroken(f"{folder / MANIFEST_FILE} does not fit {SEAL_FILE}: one of them was changed; make the dataset again.")
        try:
            value = orjson.loads(content)
            manifest = cls(**value)
        except (orjson.JSONDecodeError, TypeError) as error:
            raise ManifestBroken(f"{folder / MANIFEST_FILE} was written by another version ({error}); make the dataset again.") from error
        if manifest.format != FORMAT:
            raise ManifestBroken(f"{folder / MANIFEST_FILE} has the format {manifest.format!r}, not {FORMAT!r}; make the dataset again.")
        return manifest

    @property
    def shards(self) -> list[str]:
        """The names of the files that hold rows, in order."""
        return sorted(name for name, said in self.files.items() if "rows" in said)

    def write(self, folder: Path) -> None:
        """Write `manifest.json` and its seal."""
        content = orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
        write_whole(folder / MANIFEST_FILE, content)
        write_whole(folder / SEAL_FILE, _seal(content))


def is_ours(folder: Path) -> bool:
    """Whether a folder's manifest says that Mixdown made it, intact or not."""
    try:
        value = orjson.loads((folder / MANIFEST_FILE).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return False
    return isinstance(value, dict) and str(value.get("format", "")).startswith("mixdown-dataset-")


def added(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    """The sums of two tallies, sorted by name."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in sorted(one.keys() | other.keys())}


def _seal(content: bytes) -> bytes:
    return f"{hashlib.sha256(content).hexdigest()}  {MANIFEST_FILE}\n".encode()
