"""A sample of a dataset's rows made again from the library and the target, to see that they come out the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.chat import Target, supervise
from core.errors import MixdownError
from core.mix import Recipe
from core.sources import Library
from core.sources.arrays import texts_as_arrow
from core.tokens.manifest import Manifest
from core.tokens.shards import read_shard
from core.tokens.target import fingerprint, load_target, supervision_of
from core.workspace import Workspace

SAMPLE = 32
"""Conversations that are made again."""


@dataclass(frozen=True)
class Remade:
    """What came of it: how much was made again, and where it differs."""

    conversations: int
    rows: int
    problems: list[str]


def rerendered(folder: Path, manifest: Manifest, workspace: Workspace, target: Target | None = None) -> Remade | str:
    """Make up to `SAMPLE` conversations again; a sentence instead where library or target are not what they were.

    `target`: the recipe's, where it is loaded already.
    """
    recipe = Recipe.model_validate(manifest.recipe)
    library = Library(workspace)
    try:
        target = target or load_target(recipe)
        sources = {name: library.source(name) for name, said in manifest.sources.items() if said["rows"]}
    except MixdownError as error:
        return str(error)
    if fingerprint(target, recipe) != manifest.target:
        return "the target's tokenizer or template is not the one the rows were made with"
    changed = [name for name, source in sources.items() if source.ledger.to_json() != manifest.sources[name]["ledger"]]
    if changed:
        return f"{', '.join(changed)} was imported again since"
    rows, problems = 0, []
    wanted = _sample(folder, manifest)
    for (source, row_id), written in wanted.items():
        number = sources[source].number_of(row_id)
        if number is None:
            problems.append(f"{row_id} is no row of {source}")
            continue
        made = supervise(sources[source].conversation(number), target, supervision_of(recipe)).rows
        rows += len(made)
        fresh = {(row.input_ids.tobytes(), row.loss_mask.tobytes()) for row in made}
        if fresh != written:
            problems.append(f"{row_id} does not come out as it was written")
    return Remade(len(wanted), rows, problems)


def _sample(folder: Path, manifest: Manifest) -> dict[tuple[str, str], set[tuple[bytes, bytes]]]:
    """(source, row id) of conversations evenly spread over the rows → their written rows as bytes of ids (int32) and mask (bool)."""
    shards = manifest.shards
    places = np.unique(np.linspace(0, manifest.rows - 1, min(SAMPLE, manifest.rows)).astype(np.int64))
    ids: list[str] = []
    seen = 0
    for batch in _batches(folder, shards):
        here = places[np.searchsorted(places, seen) : np.searchsorted(places, seen + batch.num_rows)] - seen
        ids += (batch.column("row_id")[place].as_py() for place in here.tolist())
        seen += batch.num_rows
    found: dict[tuple[str, str], set[tuple[bytes, bytes]]] = {}
    wanted = texts_as_arrow(ids)
    for batch in _batches(folder, shards):
        mine = pc.is_in(batch.column("row_id"), wanted)
        if not mine.true_count:
            continue
        for row in batch.filter(mine).to_pylist():
            written = np.array(row["input_ids"], np.int32), np.array(row["loss_mask"], np.bool_)
            found.setdefault((row["source"], row["row_id"]), set()).add((written[0].tobytes(), written[1].tobytes()))
    return found


def _batches(folder: Path, shards: list[str]) -> Iterator[pa.RecordBatch]:
    for name in shards:
        yield from read_shard(folder / name)
