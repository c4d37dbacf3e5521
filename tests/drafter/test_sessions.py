"""A tree read in one pass equals every one of its paths read alone, in both kinds of session."""

import copy
from pathlib import Path

import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from core.drafter.drafts import Draft
from core.drafter.sessions import DraftsUnreadable, LeanSession, Session, TransformersSession
from core.drafter.target import TargetModel

LAYERS = (0, 2, 3)
PROMPT = [4, 12, 13, 14]
TREE = Draft((16, 17, 18, 19, 20, 21), (-1, -1, 1, 0, 2, 2))


@pytest.fixture(params=[True, False], ids=["lean", "transformers"])
def session(request: pytest.FixtureRequest, target: TargetModel) -> Session:
    made = target.start(LAYERS) if request.param else TransformersSession(target, LAYERS)
    assert isinstance(made, LeanSession) is request.param
    return made


def alone(target: TargetModel, ids: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    logits, features = TransformersSession(target, LAYERS).feed(ids)
    return logits[-1], features[-1]


@torch.inference_mode()
def test_each_node_is_read_as_if_its_path_stood_alone(session: Session, target: TargetModel) -> None:
    session.feed(PROMPT)
    logits, features = session.feed_draft(15, TREE)
    paths: list[list[int]] = [[15]]
    for token, parent in zip(TREE.tokens, TREE.lineage, strict=True):
        paths.append([*paths[parent + 1], token])
    for place, path in enumerate(paths):
        expected, expected_features = alone(target, [*PROMPT, *path])
        torch.testing.assert_close(logits[place], expected, rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(features[place], expected_features, rtol=1e-3, atol=1e-3)


@torch.inference_mode()
def test_what_is_kept_of_a_tree_is_the_text_from_then_on(session: Session, target: TargetModel) -> None:
    session.feed(PROMPT)
    session.feed_draft(15, TREE)
    session.keep(len(PROMPT), [0, 2, 3, 6])  # 15, 17, 18, 21
    assert session.length == len(PROMPT) + 4
    logits, _ = session.feed([30, 31])
    torch.testing.assert_close(logits[-1], alone(target, [*PROMPT, 15, 17, 18, 21, 30, 31])[0], rtol=1e-3, atol=1e-3)


@torch.inference_mode()
def test_only_the_last_logits_are_made_of_a_prompt(session: Session, target: TargetModel) -> None:
    logits, features = session.feed(PROMPT, last_only=True)
    assert logits.shape[0] == 1 and features.shape == (4, 3 * target.hidden_size)
    torch.testing.assert_close(logits[0], alone(target, PROMPT)[0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("full_layers", [0, 1], ids=["all layers", "some layers"])
@torch.inference_mode()
def test_layers_with_a_window_see_no_further_than_it_in_a_tree(full_layers: int) -> None:
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=8,
        intermediate_size=32, use_sliding_window=True, sliding_window=5, max_window_layers=full_layers,
    )  # fmt: skip
    target = TargetModel(Qwen3ForCausalLM(config), Path("windowed"))
    session = target.start((2,))
    prompt = list(range(3, 15))
    session.feed(prompt)
    logits, _ = session.feed_draft(15, TREE)
    paths: list[list[int]] = [[15]]
    for token, parent in zip(TREE.tokens, TREE.lineage, strict=True):
        paths.append([*paths[parent + 1], token])
    for place, path in enumerate(paths):
        expected = target.model(torch.tensor([[*prompt, *path]]), use_cache=False).logits[0, -1]
        torch.testing.assert_close(logits[place], expected, rtol=1e-3, atol=1e-4)
    session.keep(len(prompt), [0, 2, 3])
    expected = target.model(torch.tensor([[*prompt, 15, 17, 18, 30]]), use_cache=False).logits[0, -1]
    torch.testing.assert_close(session.feed([30])[0][-1], expected, rtol=1e-3, atol=1e-4)


def test_a_target_with_a_running_state_is_refused_in_one_sentence(target: TargetModel) -> None:
    config = copy.copy(target.config)
    config.layer_types = ["linear_attention", "full_attention"]
    other = copy.copy(target)
    other.config = config
    with pytest.raises(DraftsUnreadable, match="linear_attention"):
        TransformersSession(other, ())
