"""Which files of a repository are a config's split: as its card says, else by the names that people give them.

The conventions are those of the `datasets` library ("Structure your repository" in the hub's documentation). It knows paths only.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from fsspec.utils import glob_translate

from core.sources.hub.reference import HubReference
from core.sources.hub.troubles import HubTrouble
from core.sources.readers.folders import NOT_DATA
from core.sources.readers.formats import READABLE, named_format

_SHARD = re.compile(r"(?:^|/)(?P<split>[\w.]+?)-\d{5}-of-\d{5}(?:-[0-9a-f]+)?\.\w+(?:\.\w+)?$")
_WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}


class NoSuchPart(HubTrouble):
    """The repository has no such config, split or file, or has several and none was named."""


def chosen_files(paths: Sequence[str], configs: Sequence[Mapping[str, Any]], wanted: HubReference) -> tuple[str, ...]:
    """The paths that hold the wanted part, sorted. Raises `NoSuchPart` with what there is instead."""
    if wanted.files:
        missing = [name for name in wanted.files if name not in paths]
        if missing:
            raise NoSuchPart(f"{wanted.repo} has no file {missing[0]!r}: it has {_listed(_readable(paths))}.")
        return wanted.files
    declared = [entry for entry in configs if entry.get("config_name")]
    described = [entry for entry in declared if entry.get("data_files") or entry.get("data_dir")]
    by_card = _of_config(paths, _config(declared, wanted), wanted) if described else None
    found = by_card or _by_names(_in_config(_readable(paths), wanted), wanted)
    readable = sorted(path for path in found if named_format(Path(path)) is not None)
    if not readable:
        kinds = _listed({PurePosixPath(path).suffix or path for path in found} or {"nothing else"})
        raise NoSuchPart(f"{wanted} has no file that can be read ({READABLE}), but {kinds}: try --revision refs/convert/parquet.")
    formats = {named_format(Path(path)) for path in readable}
    if len({form for form, _ in filter(None, formats)}) > 1:
        raise NoSuchPart(f"{wanted} mixes files of several kinds: name those you want with --file, of {_listed(readable)}.")
    return tuple(readable)


def _config(declared: Sequence[Mapping[str, Any]], wanted: HubReference) -> Mapping[str, Any]:
    names = [str(entry["config_name"]) for entry in declared]
    if wanted.config is not None:
        found = [entry for entry in declared if entry["config_name"] == wanted.config]
    else:
        found = [entry for entry in declared if entry.get("default") is True or entry["config_name"] == "default"] or list(declared)
        if len(found) > 1:
            raise NoSuchPart(f"{wanted.repo} has several configs: choose one with --config, of {_listed(names)}.")
    if not found:
        raise NoSuchPart(f"{wanted.repo} has no config {wanted.config!r}: choose one of {_listed(names)}.")
    return found[0]


def _of_config(paths: Sequence[str], config: Mapping[str, Any], wanted: HubReference) -> list[str]:
    below = str(config.get("data_dir") or "").strip("/")
    inside = [path for path in paths if not below or path.startswith(f"{below}/")]
    splits = _splits(config.get("data_files"))
    if not splits:
        return _by_names(_readable(inside), wanted)
    name = wanted.split or ("train" if "train" in splits else next(iter(splits)) if len(splits) == 1 else None)
    if name is None:
        raise NoSuchPart(f"{wanted} has several splits: choose one with --split, of {_listed(splits)}.")
    if name not in splits:
        raise NoSuchPart(f"{wanted} has no such split: choose one of {_listed(splits)}.")
    patterns = [f"{below}/{pattern}" if below else pattern for pattern in splits[name]]
    found = [path for path in inside if any(_matches(path, pattern) for pattern in patterns)]
    if not found:
        raise NoSuchPart(f"The card of {wanted} names {_listed(patterns)}, but no such file is there: name files with --file.")
    return found


def _splits(data_files: Any) -> dict[str, list[str]]:
    """Split -> patterns, of all the forms that a card may write."""
    if isinstance(data_files, str):
        return {"train": [data_files]}
    if isinstance(data_files, dict):
        return {str(split): _texts(value) for split, value in data_files.items()}
    if not isinstance(data_files, list):
        return {}
    splits: dict[str, list[str]] = {}
    for entry in data_files:
        if isinstance(entry, str):
            splits.setdefault("train", []).append(entry)
        elif isinstance(entry, dict) and "path" in entry:
            splits.setdefault(str(entry.get("split", "train")), []).extend(_texts(entry["path"]))
    return splits


def _texts(value: Any) -> list[str]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]


def _matches(path: str, pattern: str) -> bool:
    """Glob as the hub means it: `*` stays within a folder, `**` goes through any number of them; a folder means all below."""
    pattern = pattern.removeprefix("./")
    return path.startswith(pattern.rstrip("/") + "/") or re.fullmatch(glob_translate(pattern), path) is not None


def _readable(paths: Iterable[str]) -> list[str]:
    """Data files by their names; what is hidden or describes the data is none."""
    return [
        path
        for path in paths
        if named_format(Path(path)) is not None
        and PurePosixPath(path).name.lower() not in NOT_DATA
        and not any(piece.startswith((".", "__")) for piece in path.split("/"))
    ]


def _in_config(paths: list[str], wanted: HubReference) -> list[str]:
    if wanted.config in (None, "default"):
        return paths
    below = [path for path in paths if wanted.config in path.split("/")[:-1]]
    named = [path for path in paths if wanted.config in (PurePosixPath(path).name.split(".")[0], PurePosixPath(path).stem)]
    if below or named:
        return below or named
    # A card without configs names none: the one that is asked for is the whole repository.
    folders = {path.split("/")[0] for path in paths if "/" in path} - {"data"}
    if folders:
        raise NoSuchPart(f"{wanted.repo} has no config {wanted.config!r}: its folders are {_listed(folders)}.")
    return paths


def _by_names(paths: list[str], wanted: HubReference) -> list[str]:
    splits: dict[str, list[str]] = {}
    for path in paths:
        shard = _SHARD.search(path)
        if shard:
            splits.setdefault(shard["split"], []).append(path)
    if not splits:
        splits = _by_words(paths, wanted.split)
    if not splits:
        if wanted.split in (None, "train"):
            return paths
        raise NoSuchPart(f"{wanted} has no such split, as no file name tells splits apart: leave --split out, or name files with --file.")
    name = wanted.split or ("train" if "train" in splits else next(iter(splits)) if len(splits) == 1 else None)
    if name is None or name not in splits:
        problem = "has several splits" if name is None else "has no such split"
        raise NoSuchPart(f"{wanted} {problem}: choose one with --split, of {_listed(splits)}.")
    return splits[name]


def _by_words(paths: list[str], asked: str | None) -> dict[str, list[str]]:
    words = {**_WORDS, **({asked: (asked,)} if asked is not None and asked not in _WORDS else {})}
    splits: dict[str, list[str]] = {}
    # The name asked for goes first: `train_sft` is no file of `train`.
    for name in sorted(words, key=lambda name: name in _WORDS):
        known = re.compile(rf"(?:^|[^A-Za-z0-9])(?:{'|'.join(map(re.escape, words[name]))})(?:[^A-Za-z]|$)")
        for path in paths:
            if known.search(path) and not any(path in others for others in splits.values()):
                splits.setdefault(name, []).append(path)
    return splits


def _listed(names: Iterable[str]) -> str:
    found = sorted(names)
    return ", ".join(found[:12]) + (f" and {len(found) - 12} more" if len(found) > 12 else "") or "none"
