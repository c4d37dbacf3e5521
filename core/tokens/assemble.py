"""From finished units to a described dataset: sums, frequencies, held-out prompts, the ledger of drops, the manifest.

It reads the marks one at a time, so memory does not grow with rows. It does not render or encode.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.chat import check_source_mask
from core.errors import MixdownError
from core.mix import Plan, Recipe
from core.sources import Library
from core.tokens.card import write_card
from core.tokens.dropped import DROPPED_FILE, write_dropped
from core.tokens.frequencies import FREQUENCIES_FILE, write_frequencies
from core.tokens.heldout import HELDOUT_FILE, write_heldout
from core.tokens.manifest import HeldOutCounts, Manifest, SourceCounts, added
from core.tokens.marks import heldout_record, train_record
from core.tokens.provenance import described, versions
from core.tokens.shards import INFO_FILE, STATE_FILE, describe, record_of
from core.tokens.units import Drop, Unit


class NothingToTrain(MixdownError):
    """A source of which no row can be trained on."""


@dataclass
class _Sums:
    frequencies: npt.NDArray[np.int64]
    counts: dict[str, SourceCounts] = field(default_factory=dict)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    heldout: HeldOutCounts = field(default_factory=HeldOutCounts)
    prompts: dict[str, int] = field(default_factory=dict)


def assemble(folder: Path, units: Sequence[Unit], recipe: Recipe, *, made: Plan, library: Library, target: dict[str, Any]) -> Manifest:
    """Write everything beside the shards; raises `NothingToTrain` where a source with conversations has no row, and
    `DegenerateMask` where every token of one is trained on.
    """
    train = [unit for unit in units if unit.kind == "train"]
    held = [unit for unit in units if unit.kind == "heldout"]
    sums = _sum(folder, train, held, target["vocab_size"])
    _check_sources(sums.counts)
    shards = [unit.file for unit in train]
    describe(folder, shards, _fingerprint([sums.files[name]["sha256"] for name in shards]))
    write_frequencies(folder / FREQUENCIES_FILE, sums.frequencies)
    domains = {part.name: part.domain for part in made.sources}
    write_heldout(folder / HELDOUT_FILE, (heldout_record(folder, unit) for unit in held), domains)
    write_dropped(folder / DROPPED_FILE, _drops(folder, train, held))
    sources = {
        part.name: described(library.source(part.name))
        | sums.counts.get(part.name, SourceCounts()).to_json()
        | {"heldout": sums.prompts.get(part.name, 0)}
        for part in made.sources
    }
    total = sum(sums.counts.values(), SourceCounts())
    manifest = Manifest(
        recipe=recipe.model_dump(mode="json"),
        recipe_hash=recipe.digest,
        target=target,
        versions=versions(),
        conversations=total.conversations,
        rows=total.rows,
        tokens=total.tokens,
        trainable_tokens=total.trainable_tokens,
        seq_length=recipe.supervision.seq_length,
        sources=sources,
        heldout={"conversations": sums.heldout.conversations, "prompts": sums.heldout.prompts, "dropped": sums.heldout.dropped},
        plan=made.to_json(),
        files=sums.files,
    )
    card = write_card(folder, manifest)
    for name in (STATE_FILE, INFO_FILE, FREQUENCIES_FILE, HELDOUT_FILE, DROPPED_FILE, card):
        manifest.files[name] = record_of(folder / name).to_json()
    manifest.write(folder)
    return manifest


def _sum(folder: Path, train: Sequence[Unit], held: Sequence[Unit], vocab_size: int) -> _Sums:
    sums = _Sums(np.zeros(vocab_size, np.int64))
    for unit in train:
        record = train_record(folder, unit)
        sums.frequencies[np.array(record.frequent, np.int64)] += np.array(record.frequencies, np.int64)
        shard = sum(record.counts.values(), SourceCounts())
        sums.files[unit.file] = record.record.to_json() | {"rows": shard.rows, "tokens": shard.tokens}
        for name, counts in record.counts.items():
            sums.counts[name] = sums.counts.get(name, SourceCounts()) + counts
    for unit in held:
        prompts = heldout_record(folder, unit)
        sums.heldout += prompts.counts
        sums.prompts = added(sums.prompts, prompts.by_source)
    return sums


def _check_sources(counts: dict[str, SourceCounts]) -> None:
    for name, source in sorted(counts.items()):
        if source.conversations and not source.rows:
            why = ", ".join(f"{reason} {count:,}" for reason, count in sorted(source.dropped.items(), key=lambda item: (-item[1], item[0])))
            raise NothingToTrain(
                f"Not one of the {source.conversations:,} conversations of {name} can be trained on ({why}): "
                "look at one on the Preview page, or take the source out of the recipe."
            )
        check_source_mask(name, source.conversations, source.tokens, source.trainable_tokens)
    if not any(source.rows for source in counts.values()):
        raise NothingToTrain("Every picked conversation is held out for validation: lower the validation share or raise the budget.")


def _drops(folder: Path, train: Sequence[Unit], held: Sequence[Unit]) -> Iterator[tuple[str, Sequence[Drop]]]:
    for unit in train:
        yield "train", train_record(folder, unit).drops
    for unit in held:
        yield "heldout", heldout_record(folder, unit).drops


def _fingerprint(hashes: Sequence[str]) -> str:
    """What `datasets` takes as the identity of the data: 16 hex digits."""
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:16]
