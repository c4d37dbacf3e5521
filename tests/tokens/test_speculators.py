"""speculators in its own environment reads our datasets and trains from them: `MIXDOWN_SPECULATORS_09` names its interpreter."""

import json
import os
import subprocess

import datasets
import numpy as np
import pytest

from core.mix import Recipe
from core.tokens import tokenize
from core.tokens.exports import export
from core.workspace import BUNDLED_TARGET

PYTHON = os.environ.get("MIXDOWN_SPECULATORS_09", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="MIXDOWN_SPECULATORS_09 names no interpreter with speculators 0.9")

READING = """
import json, sys
from pathlib import Path
import torch
from datasets import Value, load_from_disk
from safetensors.torch import save_file
from speculators.models.dflash.utils import select_anchors
from speculators.train.data import ArrowDataset, CollateFn

LAYERS, HIDDEN, LENGTH = 4, 8, 1024

def batch(folder):
    rows = load_from_disk(folder)
    (Path(folder) / "hidden_states").mkdir(exist_ok=True)
    for row in range(6):
        ids = rows[row]["input_ids"].to(torch.int64)
        states = torch.randn(len(ids), LAYERS, HIDDEN, generator=torch.Generator().manual_seed(row)).to(torch.bfloat16)
        save_file({"hidden_states": states, "token_ids": ids}, Path(folder) / "hidden_states" / f"hs_{row}.safetensors")
    data = ArrowDataset(LENGTH, folder, on_missing="raise")
    return CollateFn(LENGTH, HIDDEN, LAYERS - 1)([data[row] for row in range(6)])

made, other = (batch(folder) for folder in sys.argv[1:3])
anchors = []
for one in (made, other):
    torch.manual_seed(0)
    anchors.append(select_anchors(one["loss_mask"], 64, 8))
same_anchors = all(torch.equal(a, b) for a, b in zip(*anchors))
print(json.dumps({
    "dtypes": [str(one["loss_mask"].dtype) for one in (made, other)],
    "ids": made["input_ids"][0].tolist(),
    "mask": made["loss_mask"][0].int().tolist(),
    "errors": [one.get("error_records", 0) for one in (made, other)],
    "same": sorted(key for key in made if key != "loss_mask" and torch.is_tensor(made[key]) and torch.equal(made[key], other[key])),
    "same_mask": torch.equal(made["loss_mask"].long(), other["loss_mask"].long()),
    "same_anchors": same_anchors,
}))
"""

STEP = """
import json, sys, time
from pathlib import Path
import torch
from datasets import load_from_disk
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

run_file, folder, states, target = sys.argv[1:]
rows, layers, model = load_from_disk(folder), (1, 3), AutoModelForCausalLM.from_pretrained(target, dtype=torch.float32)
seen = {}
model.model.norm.register_forward_pre_hook(lambda module, args: seen.update(last=args[0][0]))
for number in range(len(rows)):
    ids = rows[number]["input_ids"].to(torch.int64)
    with torch.no_grad():
        made = model(ids[None], output_hidden_states=True).hidden_states
    taken = torch.stack([*(made[layer][0] for layer in layers), seen["last"]], dim=1)
    save_file({"hidden_states": taken.contiguous(), "token_ids": ids}, Path(states) / f"hs_{number}.safetensors")

from speculators.train import trainer
from speculators.train.cli import main
from speculators.train.config import TrainConfig

class Timer(trainer._StepTimer):  # without waiting for a device that is not there
    def mark(self, name):
        if self.enabled:
            self._marks[name] = time.perf_counter()
    def now(self):
        return time.perf_counter() if self.enabled else None

trainer.get_local_rank, trainer._StepTimer = lambda: "cpu", Timer
sys.argv = [sys.argv[0], "--config", run_file]
main(TrainConfig.resolve())
"""


def speculators(*arguments: object) -> str:
    done = subprocess.run([str(PYTHON), *map(str, arguments)], capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_prepare_data_passes_the_exported_rows_through(two_sources, recipe, target, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    export(tmp_path / "set", tmp_path / "rows.jsonl", "jsonl")
    options = ["--seq-length", 256, "--num-preprocessing-workers", 1, "--no-skip-token-freq"]
    speculators(
        "-m", "speculators", "prepare-data", "--model", target, "--data", tmp_path / "rows.jsonl", "--output", tmp_path / "got", *options
    )
    ours = datasets.load_from_disk(str(tmp_path / "set")).with_format(None)
    theirs = datasets.load_from_disk(str(tmp_path / "got")).with_format(None)
    assert theirs.features["loss_mask"] == datasets.List(datasets.Value("int64"))
    assert pairs(theirs) == pairs(ours)
    assert theirs["seq_len"] == [len(ids) for ids in theirs["input_ids"]]
    import torch

    frequencies = [torch.load(tmp_path / name / "token_freq.pt", weights_only=True) for name in ("set", "got")]
    assert frequencies[0] == frequencies[1]


def test_its_dataset_and_collate_read_ours_as_it_stands_and_a_mask_of_bools_does_what_one_of_integers_does(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    rows = datasets.load_from_disk(str(tmp_path / "set"))
    integers = rows.cast_column("loss_mask", datasets.List(datasets.Value("int64")))
    integers.save_to_disk(str(tmp_path / "integers"))
    (tmp_path / "reading.py").write_text(READING)
    got = json.loads(speculators(tmp_path / "reading.py", tmp_path / "set", tmp_path / "integers").splitlines()[-1])
    assert got["dtypes"] == ["torch.bool", "torch.int64"]
    assert got["same_mask"] and got["same_anchors"] and got["errors"] == [0, 0]
    assert {"input_ids", "hidden_states", "verifier_last_hidden_states", "position_ids", "document_ids"} <= set(got["same"])
    packed = rows.with_format("numpy")[:6]
    ids, mask = np.concatenate(packed["input_ids"]), np.concatenate(packed["loss_mask"])
    assert got["ids"][: len(ids)] == ids.tolist()
    assert got["mask"][: len(mask)] == mask.astype(int).tolist()


def test_its_trainer_makes_a_step_from_ours_as_it_stands(two_sources, recipe, tmp_path):
    few = {"target": {"path": str(BUNDLED_TARGET)}, "budget": {"amount": 30}}
    tokenize(two_sources, Recipe.model_validate(recipe.model_dump() | few), tmp_path / "set")
    (tmp_path / "states").mkdir()
    config = {
        "speculator_type": "dflash",
        "seed": 0,
        "verifier": {"verifier_name_or_path": str(BUNDLED_TARGET)},
        "draft": {
            "num_layers": 1,
            "target_layer_ids": [1, 3],
            "mask_token_id": 4089,
            "full_attention_indices": [0],
            "draft_attn_impl": "sdpa",
        },
        "data": {
            "data_path": str(tmp_path / "set"),
            "total_seq_len": 256,
            "train_data_ratio": 0.9,
            "hidden_states_dtype": "float32",
            "num_workers": 0,
            "max_anchors": 16,
        },
        "generation": {"on_missing": "raise"},
        "loss": {"loss_implementation": "eager", "loss_fn": "ce"},
        "trainer": {"epochs": 1, "save_path": str(tmp_path / "checkpoints"), "max_steps": 1},
        "dflash": {"block_size": 4},
        "backend": {"hidden_states_path": str(tmp_path / "states")},
    }
    (tmp_path / "run.yaml").write_text(json.dumps({"train": config}))  # JSON is YAML
    (tmp_path / "step.py").write_text(STEP)
    speculators(tmp_path / "step.py", tmp_path / "run.yaml", tmp_path / "set", tmp_path / "states", BUNDLED_TARGET)
    [weights] = (tmp_path / "checkpoints").rglob("model.safetensors")
    assert weights.stat().st_size > 100_000


def pairs(rows: datasets.Dataset) -> list[tuple[list[int], list[int]]]:
    return sorted((ids, [int(one) for one in mask]) for ids, mask in zip(rows["input_ids"], rows["loss_mask"], strict=True))
