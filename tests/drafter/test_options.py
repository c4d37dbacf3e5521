"""Trainings with other goals, vocabularies, windows and optimizers: what they learn, and that decoding stays lossless with them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from core.drafter import TrainSettings, evaluate, train
from core.drafter.batches import AnchorBatches
from core.drafter.checkpoint import load_drafter, shape_for
from core.drafter.dataset import TokenizedRows
from core.drafter.evaluation import Measured
from core.drafter.first_drafter import first_drafter
from core.drafter.gradients import draft, in_draft_ids
from core.drafter.hidden_states import capture
from core.drafter.loss import draft_loss
from core.drafter.optimizers import rate_share
from core.drafter.proposers import ChainDrafter, DrafterSource, LeanBlocks, ModelBlocks, TreeDrafter
from core.drafter.sampling import Chooser
from core.drafter.target import TargetModel
from tests.drafter.conftest import BLOCK, MASK

SETTINGS = TrainSettings(
    block_size=BLOCK, mask_token_id=MASK, max_seconds=None, max_steps=90, conversations=8, anchors=6, processes=1, warmup_steps=10
)


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "tokens"},
        {"loss": "cross_entropy", "schedule": "linear"},
        {"loss": "kl", "weights": "exponential"},
        {"optimizer": "adamw", "learning_rate": 3e-3},
        {"draft_vocab_size": 48, "window": 6},
        {"precision": "bfloat16"},
        {"beginning": "auto"},
    ],
    ids=str,
)
def test_every_option_trains_a_drafter_that_is_accepted(
    options: dict[str, object], data_folder: Path, target_folder: Path, tmp_path: Path
) -> None:
    train(data_folder, target_folder, tmp_path / "out", replace(SETTINGS, **options))  # type: ignore[arg-type]
    report = evaluate(tmp_path / "out", target_folder, max_new_tokens=16, measured=Measured(trees=(8,)))
    assert report.lossless
    assert report.acceptance_length > 1.5


@pytest.mark.parametrize("loss", ["cross_entropy", "kl"])
def test_the_targets_distribution_is_the_one_it_has_at_each_slot(
    loss: str, rows: TokenizedRows, target: TargetModel, tmp_path: Path
) -> None:
    with capture(rows, target, (1, 2), tmp_path / "states") as states:
        batches = AnchorBatches(rows, states, range(len(rows)), conversations=4, anchors=4, block_size=BLOCK, seed=0, finals=True)
        (batch,) = batches.step(3)
    assert batch.finals is not None
    wanted = target.ends.head(target.ends.norm(batch.finals.float()))
    place = 0
    for number, row in enumerate(batch.rows):
        with torch.no_grad():
            alone = target.model(torch.from_numpy(rows.row(row).astype(np.int64))[None]).logits[0]
        for block in range(4):
            for slot in range(BLOCK - 1):
                if batch.valid[number, block, slot]:
                    said = int(batch.anchors[number, block]) + slot
                    torch.testing.assert_close(wanted[place], alone[said], rtol=0.05, atol=0.1)
                    place += 1
    assert place == len(wanted)
    logits = torch.randn(len(wanted), 64)
    p, q = wanted.softmax(-1), logits.softmax(-1)
    each = -(p * q.log()).sum(-1) if loss == "cross_entropy" else (p * (p / q).log()).sum(-1)
    weight = torch.exp(-torch.arange(BLOCK - 1) / 4.0).expand(batch.valid.shape)[batch.valid]
    got = draft_loss(logits, batch.choices, batch.valid, weights="exponential", alpha=0.5, gamma=4.0, loss=loss, wanted=wanted)  # type: ignore[arg-type]
    assert float(got) == pytest.approx(float((each * weight).sum()), rel=1e-4)


def test_with_the_datas_tokens_a_slot_is_valid_while_the_text_is_supervised(
    rows: TokenizedRows, target: TargetModel, tmp_path: Path
) -> None:
    with capture(rows, target, (1, 2), tmp_path / "states") as states:
        batches = AnchorBatches(rows, states, range(len(rows)), conversations=8, anchors=4, block_size=BLOCK, seed=0, tokens=True)
        found = [batch for step in range(5) for batch in batches.step(step)]
    for batch in found:
        for number, row in enumerate(batch.rows):
            ids, mask = rows.row(row), rows.mask[rows.offsets[row] : rows.offsets[row + 1]]
            for block, anchor in enumerate(batch.anchors[number].tolist()):
                if not batch.valid[number, block, 0]:
                    continue
                for slot in range(1, BLOCK):
                    inside = anchor + slot < len(ids) and bool(mask[anchor : anchor + slot + 1].all())
                    assert bool(batch.valid[number, block, slot - 1]) == inside
                    if inside:
                        assert batch.choices[number, block, slot - 1] == ids[anchor + slot]


def test_a_smaller_vocabulary_holds_the_most_frequent_supervised_tokens_and_teaches_nothing_past_another_one(
    rows: TokenizedRows, target: TargetModel, tmp_path: Path
) -> None:
    model = first_drafter(rows, target, replace(SETTINGS, draft_vocab_size=20))
    ids, counts = np.unique(rows.ids[rows.mask], return_counts=True)
    kept = sorted(sorted(ids.tolist(), key=lambda token: (-int(counts[ids == token][0]), token))[:20])
    assert model.said is not None and model.said.tolist() == kept
    assert model.t2d.nonzero()[:, 0].tolist() == kept
    head = target.model.get_output_embeddings().weight
    assert model.lm_head is not None and torch.equal(model.lm_head.weight, head[kept])
    assert "lm_head.weight" not in dict(model.named_parameters())
    with capture(rows, target, model.shape.target_layers, tmp_path / "states") as states:
        batches = AnchorBatches(rows, states, range(len(rows)), conversations=4, anchors=6, block_size=BLOCK, seed=0)
        (batch,) = batches.step(0)
    logits = draft(model, target.ends, batch)
    choices, reachable, taught = in_draft_ids(model, batch, logits)
    assert len(taught) == int(reachable.sum()) and 0 < len(taught) < len(logits) == int(batch.valid.sum())
    for place in batch.valid.nonzero().tolist():
        *block, slot = place
        own = [int(token) in kept for token in batch.choices[tuple(block)][: slot + 1]]
        assert bool(reachable[tuple(place)]) == all(own)
        if all(own):
            assert kept[int(choices[tuple(place)])] == batch.choices[tuple(place)]


@torch.inference_mode()
@pytest.mark.parametrize("causal", [False, True])
def test_the_lean_drafter_equals_the_model_with_a_window_and_a_smaller_vocabulary(
    causal: bool, rows: TokenizedRows, target: TargetModel
) -> None:
    settings = replace(SETTINGS, draft_vocab_size=20, window=7)
    assert shape_for(target, settings).windows == (7, 7, 7)
    model = first_drafter(rows, target, settings)
    for layer in model.layers:
        layer.self_attn.sight = replace(layer.self_attn.sight, causal=causal)  # type: ignore[union-attr, arg-type, type-var]
    model.shape = replace(model.shape, causal_windows=causal)
    source = DrafterSource(model.eval(), target)
    lean, slow = source.start(), ModelBlocks(model, target.ends)
    assert isinstance(lean, LeanBlocks)
    ids = [4, *(3 + n % 50 for n in range(60))]
    states = torch.cat(target.hidden_states(torch.tensor([ids]), model.shape.target_layers), -1)[0]
    for start, end in ((0, 3), (3, 20), (20, 61)):
        for blocks in (lean, slow):
            blocks.extend(states[start:end])
        torch.testing.assert_close(lean.logits(18), slow.logits(18), rtol=1e-3, atol=1e-3)
    kept = set(model.said.tolist())  # type: ignore[union-attr]
    assert set(ChainDrafter(lean).propose(18).tokens) <= kept
    assert set(TreeDrafter(lean, 16).propose(18).tokens) <= kept
    drawn = ChainDrafter(lean, Chooser(1.0, 0)).propose(18)
    assert drawn.drawn_from is not None and drawn.drawn_from.shape == (BLOCK - 1, 64)
    assert {int(token) for token in drawn.drawn_from.sum(0).nonzero()[:, 0]} <= kept


def test_a_drafter_with_window_and_vocabulary_comes_back_the_same(
    data_folder: Path, target_folder: Path, rows: TokenizedRows, target: TargetModel, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, draft_vocab_size=20, window=7, max_steps=2)
    train(data_folder, target_folder, tmp_path / "out", settings)
    again = load_drafter(tmp_path / "out")
    assert again.shape == shape_for(target, settings)
    saved = load_file(tmp_path / "out" / "model.safetensors")
    assert {"lm_head.weight", "d2t", "t2d"} <= set(saved)
    assert torch.equal(saved["d2t"], first_drafter(rows, target, settings).d2t)  # type: ignore[arg-type]


def test_rates_rise_and_fall_as_asked() -> None:
    cosine, linear = replace(SETTINGS, warmup_steps=4), replace(SETTINGS, warmup_steps=4, schedule="linear")
    assert [rate_share(step, 0.0, cosine) for step in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert rate_share(50, 0.5, linear) == 0.5 and rate_share(50, 0.5, cosine) == pytest.approx(0.5)
    assert rate_share(50, 0.25, linear) == 0.75 and rate_share(50, 0.25, cosine) == pytest.approx(0.8535, abs=1e-3)
    assert rate_share(50, 1.0, linear) == rate_share(50, 1.0, cosine) == 0
