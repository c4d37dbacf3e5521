"""The dataset card: a README that says what a dataset holds, where it comes from, under which licences, and how to load it."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from core.mix import Recipe, recipe_text
from core.tokens.licences import asks
from core.tokens.manifest import Manifest
from core.tokens.shards import write_whole

CARD_FILE = "README.md"


def write_card(folder: Path, manifest: Manifest) -> str:
    """Write `README.md` from the manifest and return its name."""
    write_whole(folder / CARD_FILE, card(manifest).encode())
    return CARD_FILE


def card(manifest: Manifest) -> str:
    """The card as Markdown."""
    recipe, supervision = manifest.recipe, manifest.recipe["supervision"]
    lines = [
        f"# {recipe['name']}",
        "",
        f"{manifest.rows:,} training rows from {manifest.conversations:,} conversations: {manifest.tokens:,} tokens, "
        f"{manifest.trainable_tokens:,} of them trained on. Made by Mixdown for the target `{manifest.target['path']}`, "
        f"rows of at most {manifest.seq_length:,} tokens, supervise `{supervision['supervise']}`, thinking `{supervision['thinking']}`, "
        f"layout `{supervision['layout']}`.",
        "",
        "| source | domain | licence | conversations | rows | tokens | trainable | left out | held out |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, source in manifest.sources.items():
        numbers = [source[key] for key in ("conversations", "rows", "tokens", "trainable_tokens")]
        numbers += [source["conversations"] - source["kept"], source["heldout"]]
        lines.append(_row([name, source["domain"], source["licence"] or "unknown", *(f"{number:,}" for number in numbers)]))
    lines += [
        "",
        "## Licences",
        "",
        "Each source keeps its own licence; whoever passes this dataset on owes what every one of them asks.",
        "",
        "| licence | sources | asks for |",
        "|---|---|---|",
        *(_row([licence or "unknown", ", ".join(names), asks(licence)]) for licence, names in _by_licence(manifest)),
        "",
        "| source | from | revision |",
        "|---|---|---|",
        *(_row([name, _origin(source["origin"]), source["revision"] or "–"]) for name, source in manifest.sources.items()),
        "",
        "## Loading",
        "",
        "    from datasets import load_from_disk",
        '    rows = load_from_disk(".")   # input_ids, loss_mask, seq_len as tensors; also source, row_id',
        "",
        "`token_freq.pt` counts supervised tokens, `heldout.parquet` holds prompts that no training row begins with, `dropped.parquet` "
        "says what was left out and why. `mixdown verify .` checks every byte against `manifest.json`.",
        "",
        "## Recipe",
        "",
        f"`mixdown tokenize` makes the same dataset again from this (hash `{manifest.recipe_hash[:12]}`) and the same sources:",
        "",
        *(f"    {line}".rstrip() for line in recipe_text(Recipe.model_validate(recipe)).splitlines()),
        "",
    ]
    return "\n".join(lines)


def _row(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _by_licence(manifest: Manifest) -> list[tuple[str | None, list[str]]]:
    """Sources by licence; the ones without a known licence last."""
    found: dict[str | None, list[str]] = {}
    for name, source in manifest.sources.items():
        found.setdefault(source["licence"], []).append(name)
    return sorted(found.items(), key=lambda item: (item[0] is None, item[0] or ""))


def _origin(origin: Mapping[str, Any]) -> str:
    """Where a source was read from, without the folders of the machine it was read on."""
    hub = origin["hub"]
    return f"hub dataset `{hub['repo']}`" if hub else f"`{PurePath(origin['path']).name}`"
