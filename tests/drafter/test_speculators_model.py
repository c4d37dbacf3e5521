"""speculators' own DFlash model says and minimises what ours does, with the same weights and the same anchors, both ways round.

`MIXDOWN_SPECULATORS_09` names the interpreter of an environment with speculators 0.9.
"""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from core.drafter import TrainSettings, train
from core.drafter.batches import AnchorBatches
from core.drafter.checkpoint import load_drafter
from core.drafter.dataset import TokenizedRows
from core.drafter.gradients import draft, in_draft_ids
from core.drafter.hidden_states import capture
from core.drafter.loss import draft_loss
from core.drafter.target import TargetModel
from tests.drafter.conftest import BLOCK, MASK

PYTHON = os.environ.get("MIXDOWN_SPECULATORS_09")
pytestmark = pytest.mark.skipif(not PYTHON, reason="MIXDOWN_SPECULATORS_09 names no interpreter with speculators 0.9")

THEIRS = """
import json, sys
import torch
from safetensors.torch import load_file, save_file
from speculators.losses.eager import ce_loss, kl_div_loss
from speculators.models.dflash import core
from speculators.models.dflash.config import DFlashSpeculatorConfig
from speculators.models.dflash.metrics import compute_metrics

folder, given, out, saved, weights, loss = sys.argv[1:]
config = DFlashSpeculatorConfig.from_pretrained(folder)
config.transformer_layer_config._attn_implementation = "eager"
model = core.DFlashDraftModel.from_pretrained(folder, config=config).float().eval()
model.load_verifier_weights()
batch = load_file(given)
anchors = batch["anchors"]
core.select_anchors = lambda *_: (anchors, torch.ones(len(anchors), dtype=torch.bool))
tokens = batch["input_ids"].shape[1]
with torch.no_grad():
    _, logits, targets, _, _ = model._backbone_forward(
        batch["hidden_states"], batch["input_ids"], torch.ones(1, tokens), batch["last"],
        torch.zeros(1, tokens, dtype=torch.long), max_anchors=len(anchors),
    )
    mask = torch.zeros(len(anchors), config.block_size)
    mask[:, 1:] = batch["valid"].float()
    value, _ = compute_metrics(
        logits.float(), targets.float(), mask.reshape(1, -1), config.block_size, gamma=4.0,
        loss_config={loss: ({"ce": ce_loss, "kl": kl_div_loss}[loss], 1.0)}, per_position_loss_weight=weights, dpace_alpha=0.5,
    )
model.save_pretrained(saved)
save_file({"logits": logits.float().contiguous(), "loss": value.reshape(1).float()}, out)
"""

SETTINGS = TrainSettings(
    block_size=BLOCK, mask_token_id=MASK, max_seconds=None, max_steps=12, conversations=8, anchors=6, processes=1, warmup_steps=2
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "their_weights", "their_loss"),
    [
        ({}, "dpace", "ce"),
        ({"weights": "exponential", "loss": "kl", "window": 6, "draft_vocab_size": 56}, "fixed-exp-decay", "kl"),
    ],
    ids=["defaults", "window and smaller vocabulary"],
)
def test_logits_and_loss_are_the_same(
    options: dict[str, object],
    their_weights: str,
    their_loss: str,
    data_folder: Path,
    target_folder: Path,
    rows: TokenizedRows,
    target: TargetModel,
    tmp_path: Path,
) -> None:
    settings = replace(SETTINGS, **options)  # type: ignore[arg-type]
    train(data_folder, target_folder, tmp_path / "ours", settings)
    model = load_drafter(tmp_path / "ours")
    with capture(rows, target, model.shape.target_layers, tmp_path / "states") as states:
        batches = AnchorBatches(rows, states, [5], conversations=1, anchors=4, block_size=BLOCK, seed=0, finals=True)
        (batch,) = batches.step(0)
        row = states.row(5).float()
    past = (0, 0, 0, 0, 0, BLOCK)  # theirs looks up the tokens of blocks that pass the row's end
    row = torch.nn.functional.pad(row, past)
    save_file(
        {
            "input_ids": torch.nn.functional.pad(torch.from_numpy(rows.row(5).astype(np.int64)), (0, BLOCK))[None],
            "hidden_states": row[None, :, :-1].flatten(2).contiguous(),
            "last": row[None, :, -1].contiguous(),
            "anchors": batch.anchors[0].contiguous(),
            "valid": batch.valid[0].contiguous(),
        },
        tmp_path / "batch.safetensors",
    )
    files = [tmp_path / name for name in ("ours", "batch.safetensors", "out.safetensors", "theirs")]
    done = subprocess.run(
        [str(PYTHON), "-c", THEIRS, *map(str, files), their_weights, their_loss], capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stderr[-3000:]
    theirs = load_file(tmp_path / "out.safetensors")
    with torch.no_grad():
        logits = draft(model, target.ends, batch)
        choices, reachable, taught = in_draft_ids(model, batch, logits)
        assert torch.equal(reachable, batch.valid)  # nothing in this row that a drafter of fewer tokens cannot say
        head = model.lm_head or target.ends.head
        wanted = head(target.ends.norm(batch.finals.float()))  # type: ignore[union-attr]
        loss = draft_loss(
            taught, choices, reachable, weights=settings.weights, alpha=0.5, gamma=4.0, loss=settings.loss, wanted=wanted
        ) / int(batch.valid.sum())  # fmt: skip
    same = theirs["logits"].view(1, 4, BLOCK, -1)[:, :, 1:][batch.valid]
    torch.testing.assert_close(logits, same, rtol=1e-4, atol=1e-4)
    assert float(loss) == pytest.approx(float(theirs["loss"]), rel=1e-4)
    again = load_drafter(tmp_path / "theirs")
    assert again.shape == model.shape
    assert json.loads((tmp_path / "theirs" / "config.json").read_text())["speculators_model_type"] == "dflash"
    assert all(torch.equal(again.state_dict()[name], value) for name, value in model.state_dict().items())
