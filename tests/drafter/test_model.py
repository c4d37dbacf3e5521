"""The draft model: what it must not see, and that training and decoding run the same function."""

import json

import pytest
import torch
from safetensors.torch import load_file

from core.drafter.checkpoint import DrafterUnusable, check_fits, load_drafter, save_drafter, shape_for
from core.drafter.model import DraftModel
from core.drafter.proposers import ModelBlocks
from core.drafter.settings import BadSettings, TrainSettings, choose_target_layers
from core.drafter.target import TargetModel
from tests.drafter.conftest import BLOCK, MASK

SETTINGS = TrainSettings(block_size=BLOCK, mask_token_id=MASK, layers=2)


@pytest.fixture
def model(target: TargetModel) -> DraftModel:
    return DraftModel(shape_for(target, SETTINGS), seed=4).eval()


def run(model: DraftModel, features: torch.Tensor, blocks: torch.Tensor, anchors: torch.Tensor) -> torch.Tensor:
    """States of embedded blocks [rows, blocks, slots, hidden] at their anchors."""
    return model(blocks, anchors[..., None] + torch.arange(BLOCK), model.context(features), anchors)


@torch.no_grad()
def test_features_at_or_after_the_anchor_do_not_reach_a_block(model: DraftModel, target: TargetModel) -> None:
    torch.manual_seed(0)
    features, blocks = torch.randn(1, 12, 3 * target.hidden_size), torch.randn(1, 2, BLOCK, target.hidden_size)
    anchors = torch.tensor([[4, 9]])
    before = run(model, features, blocks, anchors)
    features[:, 9:] = 5.0
    assert torch.equal(run(model, features, blocks, anchors), before)
    features[:, 4:] = -5.0
    after = run(model, features, blocks, anchors)
    assert torch.equal(after[:, 0], before[:, 0]) and not torch.equal(after[:, 1], before[:, 1])


@torch.no_grad()
def test_training_and_decoding_draft_the_same(model: DraftModel, target: TargetModel) -> None:
    ids = torch.tensor([[4, 12, 13, 14, 15, 16, 17, 18]])
    features = torch.cat(target.hidden_states(ids, model.shape.target_layers), -1)
    for anchor in (1, 5, 7):
        tokens = torch.full((1, 1, BLOCK), MASK)
        tokens[..., 0] = ids[0, anchor]
        states = run(model, features, target.ends.embed(tokens), torch.tensor([[anchor]]))
        drafter = ModelBlocks(model, target.ends)
        drafter.extend(features[0, :anchor])
        torch.testing.assert_close(drafter.logits(int(ids[0, anchor])), target.ends.head(states[0, 0, 1:]), rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_only_distances_between_positions_matter(model: DraftModel, target: TargetModel) -> None:
    torch.manual_seed(1)
    features, block = torch.randn(1, 6, 3 * target.hidden_size), torch.randn(1, 1, BLOCK, target.hidden_size)
    near = model(block, (6 + torch.arange(BLOCK))[None, None], model.context(features, 0), None)
    far = model(block, (106 + torch.arange(BLOCK))[None, None], model.context(features, 100), None)
    torch.testing.assert_close(near, far, rtol=1e-4, atol=1e-5)


def test_a_saved_drafter_comes_back_the_same(model: DraftModel, target: TargetModel, tmp_path) -> None:
    save_drafter(tmp_path, model, target, {"steps": 3})
    again = load_drafter(tmp_path)
    assert again.shape == model.shape
    for name, value in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], value)


def test_weights_have_the_names_speculators_gives_them(model: DraftModel, target: TargetModel, tmp_path) -> None:
    save_drafter(tmp_path, model, target, {})
    layer = [
        "input_layernorm", "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj",
        "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "self_attn.q_norm", "self_attn.k_norm",
    ]  # fmt: skip
    expected = {"fc.weight", "hidden_norm.weight", "norm.weight", *(f"layers.{n}.{part}.weight" for n in range(2) for part in layer)}
    assert set(load_file(tmp_path / "model.safetensors")) == expected


def test_what_speculators_leaves_out_as_default_is_filled_in(model: DraftModel, target: TargetModel, tmp_path) -> None:
    save_drafter(tmp_path, model, target, {})
    config = json.loads((tmp_path / "config.json").read_text())
    for default in ("rms_norm_eps", "hidden_act", "attention_bias", "layer_types", "tie_word_embeddings"):
        del config["transformer_layer_config"][default]
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert load_drafter(tmp_path).shape == model.shape


@pytest.mark.parametrize(
    ("change", "said"), [({"speculators_model_type": "eagle3"}, "eagle3"), ({"draft_vocab_size": 32}, "weights do not fit")]
)
def test_drafters_of_another_kind_are_refused(
    model: DraftModel, target: TargetModel, tmp_path, change: dict[str, object], said: str
) -> None:
    save_drafter(tmp_path, model, target, {})
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(DrafterUnusable, match=said):
        load_drafter(tmp_path)


def test_a_folder_without_a_drafter_is_refused(tmp_path) -> None:
    with pytest.raises(DrafterUnusable, match=r"config\.json is missing"):
        load_drafter(tmp_path)


def test_weights_that_do_not_fit_the_config_are_refused(model: DraftModel, target: TargetModel, tmp_path) -> None:
    save_drafter(tmp_path, model, target, {})
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"intermediate_size": 96', '"intermediate_size": 64'))
    with pytest.raises(DrafterUnusable, match="do not fit"):
        load_drafter(tmp_path)


def test_a_drafter_of_another_target_is_refused(target: TargetModel, tmp_path) -> None:
    shape = shape_for(target, TrainSettings(block_size=BLOCK, mask_token_id=MASK))
    other = DraftModel(type(shape)(**{**vars(shape), "vocab_size": 65}))
    with pytest.raises(DrafterUnusable, match="another target"):
        check_fits(other, tmp_path, target)


def test_small_targets_are_tapped_up_to_the_state_before_the_final_norm() -> None:
    assert choose_target_layers(5) == (1, 3, 5)
    assert choose_target_layers(2) == (1, 2)
    assert choose_target_layers(36) == (2, 18, 33)


def test_layers_the_target_does_not_have_are_refused(target: TargetModel) -> None:
    with pytest.raises(BadSettings, match="0 to 3"):
        shape_for(target, TrainSettings(mask_token_id=MASK, target_layers=(1, 4)))
