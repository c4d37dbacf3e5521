"""Both ways to decode a target say the same, and targets that cannot be used are refused in one sentence."""

import json
from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from core.drafter.lean import Rotations
from core.drafter.sessions import LeanSession, TransformersSession
from core.drafter.target import TargetModel, TargetUnusable, find_mask_token

LAYERS = (0, 1, 3)


def test_the_lean_way_equals_transformers_step_by_step(target: TargetModel) -> None:
    lean, slow = target.start(LAYERS), TransformersSession(target, LAYERS)
    assert isinstance(lean, LeanSession)
    for ids, back in (([4, 12, 13, 14, 15], 0), ([16], 0), ([17, 3, 9, 9], 3), ([18, 19], 0), ([20], 1), ([20, 21, 22], 0)):
        logits, features = lean.feed(ids)
        expected, expected_features = slow.feed(ids)
        torch.testing.assert_close(logits, expected, rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(features, expected_features, rtol=1e-4, atol=1e-4)
        for session in (lean, slow):
            start = session.length - len(ids)
            session.keep(start, range(len(ids) - back))
        assert lean.length == slow.length


def test_the_lean_cache_grows_without_losing_anything(target: TargetModel) -> None:
    ids = [3 + n % 50 for n in range(180)]  # more than the first room of 2 * 1 + 128 tokens
    lean, slow = target.start((3,)), TransformersSession(target, (3,))
    grown = torch.cat([lean.feed(ids[start : start + 1])[1] for start in range(150)] + [lean.feed(ids[150:])[1]])
    torch.testing.assert_close(grown, slow.feed(ids)[1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "change", [{"attention_bias": True}, {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 0}, {"hidden_act": "gelu"}]
)
def test_a_target_it_does_not_know_is_decoded_by_transformers(change: dict[str, object]) -> None:
    small = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8}
    target = TargetModel(Qwen3ForCausalLM(Qwen3Config(**small, intermediate_size=32, **change)), Path("small"))
    assert isinstance(target.start(()), TransformersSession)


def test_a_target_on_which_the_two_ways_differ_is_decoded_by_transformers(target: TargetModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Rotations, "_factors", lambda self, positions: torch.ones(positions, 1, target.config.head_dim // 2, dtype=torch.complex64)
    )
    again = TargetModel(target.model, target.path)
    assert isinstance(again.start(()), TransformersSession)


def test_other_architectures_give_states_and_choices_too() -> None:
    torch.manual_seed(0)
    small = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    target = TargetModel(LlamaForCausalLM(LlamaConfig(**small)), Path("llama"))
    session = target.start((0, 2))
    logits, features = session.feed([5, 6, 7])
    states = target.hidden_states(torch.tensor([[5, 6, 7, 0, 0]]), (0, 2))
    torch.testing.assert_close(features, torch.cat([state[0, :3] for state in states], -1), rtol=1e-4, atol=1e-5)
    assert logits.argmax(-1).tolist() == target.choices(states[-1])[0, :3].tolist()


def test_the_tokenizers_mask_token_is_found(tmp_path: Path) -> None:
    words = {"model": {"vocab": {"a": 0, "b": 1}}, "added_tokens": [{"id": 2, "content": "<|mask|>"}, {"id": 3, "content": "<|im_end|>"}]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(words))
    assert find_mask_token(tmp_path, 4) == 2


def test_without_a_mask_token_an_id_no_text_uses_serves(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {"a": 0, "b": 1}}}))
    assert find_mask_token(tmp_path, 8) == 7
    with pytest.raises(TargetUnusable, match="mask_token_id"):
        find_mask_token(tmp_path, 2)


def test_folders_without_a_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetUnusable, match=r"no config\.json"):
        TargetModel.load(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "qwen3"}')
    with pytest.raises(TargetUnusable, match="cannot be loaded"):
        TargetModel.load(tmp_path)
