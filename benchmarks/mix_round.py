"""One round of "back to the mix", measured: train on a mix, mix as `mixdown suggest` says of the drafter, train as long on that.

    python -m benchmarks.mix_round FOLDER [--seeds 0,1,2] [--steps 1000] [--validation 0.09]

FOLDER is a workspace (a new one, or one that an earlier run left; datasets and drafters in it are made anew). The bundled sources are mixed
by size, as `mixdown demo` does. Both drafters of a seed begin alike and take equally many steps, and both are measured on the prompts held
out from the first dataset, none of which may be a row of either. A source's figure from a dozen prompts is noisy: look at the spread over
seeds.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pyarrow as pa

from core.drafter.evaluation import evaluate
from core.drafter.heldout import load_heldout
from core.drafter.settings import TrainSettings
from core.drafter.training import train
from core.jobs.evaluating import measure
from core.jobs.importing import ImportJob, bundled_items
from core.jobs.suggesting import keep, suggestion_for
from core.mix import Recipe, dump_recipe, recipe_for
from core.sources import Library
from core.tokens import tokenize
from core.tokens.shards import read_shard
from core.watch import Unwatched
from core.workspace import BUNDLED_TARGET, Workspace


def main() -> None:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--validation", type=float, default=0.09)
    given = parser.parse_args()
    workspace = Workspace(given.folder.absolute())
    first = _first_recipe(workspace, given.validation)
    _tokenized(workspace, first)
    rounds = [_round(workspace, first, int(seed), given.steps) for seed in given.seeds.split(",")]
    sys.stdout.write(json.dumps({"steps": given.steps, "rounds": rounds, **_together(rounds)}, indent=2) + "\n")


def _first_recipe(workspace: Workspace, validation: float) -> Recipe:
    """All bundled sources by size."""
    items = bundled_items(workspace)
    library = Library(workspace)
    if not library.names():
        ImportJob(home=workspace.home, items=items).perform(Unwatched())
    names = [item.name for item in items if library.source(item.name).rows > 0]
    recipe = recipe_for(library, "round-1", str(BUNDLED_TARGET), sources=names, validation=validation)
    dump_recipe(recipe, workspace.recipe(recipe.name))
    return recipe


def _tokenized(workspace: Workspace, recipe: Recipe) -> Path:
    folder = workspace.dataset(recipe.name)
    tokenize(workspace, recipe, folder, workers=2, overwrite=folder.exists())
    return folder


def _round(workspace: Workspace, first: Recipe, seed: int, steps: int) -> dict[str, Any]:
    """One seed: what both drafters get accepted by source, and what was changed between them."""

    def trained(recipe: Recipe) -> Path:
        drafter = workspace.drafter(f"{recipe.name}-{seed}")
        shutil.rmtree(drafter, ignore_errors=True)
        train(workspace.dataset(recipe.name), BUNDLED_TARGET, drafter, TrainSettings(max_seconds=None, max_steps=steps, seed=seed))
        return drafter

    before_drafter = trained(first)
    before = measure(before_drafter, BUNDLED_TARGET, Unwatched())["evaluation"]
    suggested = suggestion_for(workspace, before_drafter, f"round-2-{seed}")
    keep(workspace, suggested.recipe)
    dataset = _tokenized(workspace, suggested.recipe)
    prompts = load_heldout(before_drafter)
    known = {prompt.row_id for prompt in prompts} & (_row_ids(workspace.dataset(first.name)) | _row_ids(dataset))
    if known:
        raise SystemExit(f"{len(known)} held-out prompts are rows of a dataset, such as {min(known)}: nothing was measured.")
    after = evaluate(trained(suggested.recipe), BUNDLED_TARGET, prompts).to_json()
    worst = min(before["by_source"], key=before["by_source"].get)
    result = {
        "seed": seed,
        "prompts": before["prompts"],
        "mean": [before["acceptance_length"], after["acceptance_length"]],
        "worst": {
            "source": worst,
            "prompts": before["prompts_by_source"][worst],
            "acceptance_length": [before["by_source"][worst], after["by_source"][worst]],
        },
        "lowest": [min(before["by_source"].values()), min(after["by_source"].values())],
        "by_source": {name: [length, after["by_source"][name]] for name, length in sorted(before["by_source"].items())},
        "changes": suggested.changes,
        "lossless": before["lossless"] and after["lossless"],
    }
    sys.stderr.write(json.dumps({name: result[name] for name in ("seed", "mean", "worst", "lowest")}) + "\n")
    return result


def _row_ids(dataset: Path) -> set[str]:
    batches = (batch for file in sorted(dataset.glob("data-*.arrow")) for batch in read_shard(file))
    return {row for batch in batches for row in pa.array(batch.column("row_id")).to_pylist()}


def _together(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and standard deviation over the seeds of the gains; by source too."""

    def gained(pairs: list[list[float]]) -> dict[str, float]:
        gains = [after - before for before, after in pairs]
        return {
            "before": mean(before for before, _ in pairs),
            "after": mean(after for _, after in pairs),
            "gain": mean(gains),
            "spread": stdev(gains) if len(gains) > 1 else 0.0,
        }

    sources = rounds[0]["by_source"]
    return {
        "mean": gained([one["mean"] for one in rounds]),
        "worst": gained([one["worst"]["acceptance_length"] for one in rounds]),
        "lowest": gained([one["lowest"] for one in rounds]),
        "sources": {name: gained([one["by_source"][name] for one in rounds]) for name in sources},
    }


if __name__ == "__main__":
    main()
