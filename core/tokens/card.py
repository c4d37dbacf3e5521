"""The dataset card: a README that says what a dataset holds, where it comes from, under which licences, and how to load it."""

from pathlib import Path

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
        cells = [name, source["domain"], source["licence"] or "unknown", *(f"{number:,}" for number in numbers)]
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    lines += [
        "",
        "Each source keeps its own licence; whoever passes this dataset on owes what the strictest of them asks.",
        "",
        "    from datasets import load_from_disk",
        '    rows = load_from_disk(".")   # input_ids, loss_mask, seq_len as tensors; also source, row_id',
        "",
        "`token_freq.pt` counts supervised tokens, `heldout.parquet` holds prompts that no training row begins with, `dropped.parquet` "
        "says what was left out and why. `mixdown verify .` checks every byte against `manifest.json`, which also holds the recipe "
        f"(hash `{manifest.recipe_hash[:12]}`).",
        "",
    ]
    return "\n".join(lines)
