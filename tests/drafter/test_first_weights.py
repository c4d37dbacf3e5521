"""What a drafter begins with: the target's own layers where they fit, drawn weights elsewhere, the same for the same seed."""

from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from core.drafter.checkpoint import shape_for
from core.drafter.first_weights import begin
from core.drafter.model import DraftModel
from core.drafter.settings import BadSettings, TrainSettings
from core.drafter.target import TargetModel
from tests.drafter.conftest import BLOCK, MASK

SETTINGS = TrainSettings(block_size=BLOCK, mask_token_id=MASK, layers=2)


def test_a_drafter_begins_as_the_targets_last_layers_reading_what_these_read(target: TargetModel) -> None:
    model = DraftModel(shape_for(target, SETTINGS))
    assert begin(model, target, 3) == "target"
    for draft, own in zip(model.layers, target.decoder.layers[-2:], strict=True):
        assert all(torch.equal(value, own.state_dict()[name]) for name, value in draft.state_dict().items())
    # The target's middle tap is what its second last layer reads: over that layer's norm, context keys begin as the target's own.
    read = target.depth - 2
    assert read in model.shape.target_layers
    states = target.hidden_states(torch.tensor([[4, 12, 13, 14]]), (read,))[0]
    features = torch.zeros(1, 4, len(model.shape.target_layers) * target.hidden_size)
    place = model.shape.target_layers.index(read) * target.hidden_size
    features[..., place : place + target.hidden_size] = states
    drawn = DraftModel(model.shape, 3).fc.weight
    with torch.no_grad():
        model.fc.weight -= 0.3 * drawn
        normed = target.decoder.layers[read].input_layernorm(states)
        assert torch.allclose(model.hidden_norm(model.fc(features)), normed, atol=1e-5)


def test_the_same_seed_begins_the_same_and_another_one_differs(target: TargetModel) -> None:
    first, again, other = (DraftModel(shape_for(target, SETTINGS)) for _ in range(3))
    for model, seed in ((first, 1), (again, 1), (other, 2)):
        begin(model, target, seed)
    assert all(torch.equal(one, two) for one, two in zip(first.parameters(), again.parameters(), strict=True))
    assert not torch.equal(first.fc.weight, other.fc.weight)


def test_random_draws_as_the_model_does(target: TargetModel) -> None:
    model = DraftModel(shape_for(target, SETTINGS))
    assert begin(model, target, 5, "random") == "random"
    drawn = DraftModel(model.shape, 5)
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), drawn.parameters(), strict=True))


def test_layers_of_another_kind_or_too_few_are_not_taken(target: TargetModel, tmp_path: Path) -> None:
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=96,
        eos_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(tmp_path)
    llama = TargetModel.load(tmp_path)
    model = DraftModel(shape_for(llama, SETTINGS))
    assert begin(model, llama, 0) == "random"
    with pytest.raises(BadSettings, match="begin with random weights"):
        begin(model, llama, 0, "target")
    deep = DraftModel(shape_for(target, TrainSettings(block_size=BLOCK, mask_token_id=MASK, layers=4)))
    assert begin(deep, target, 0) == "random"
