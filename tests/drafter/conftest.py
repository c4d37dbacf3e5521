"""A tiny Qwen3 target that has learnt a repetitive pattern, and a small dataset in the tokens format."""

from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from core.drafter.dataset import TokenizedRows
from core.drafter.target import TargetModel

VOCABULARY, STOP, MASK = 64, 1, 2
BLOCK = 5


def sentence(rng: np.random.Generator) -> list[int]:
    """A start token and a step; then counting by that step, modulo 50, until the stop token."""
    start, step, length = int(rng.integers(50)), int(rng.integers(1, 4)), int(rng.integers(12, 30))
    return [3 + step, 10 + start, *(10 + (start + step * k) % 50 for k in range(1, length)), STOP]


@pytest.fixture(scope="session")
def target_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The target, trained for a few seconds: it counts on, so a good drafter can be accepted."""
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=VOCABULARY, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=12,
        intermediate_size=96, max_position_embeddings=256, tie_word_embeddings=True, eos_token_id=STOP, bos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    model = Qwen3ForCausalLM(config)
    rng = np.random.default_rng(0)
    optimizer = torch.optim.AdamW(model.parameters(), 5e-3)
    for _ in range(150):
        rows = [sentence(rng)[:24] for _ in range(16)]
        ids = torch.tensor([row + [0] * (24 - len(row)) for row in rows])
        loss = model(input_ids=ids, labels=ids.masked_fill(ids == 0, -100)).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    folder = tmp_path_factory.mktemp("target")
    model.eval().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def target(target_folder: Path) -> TargetModel:
    """The target, loaded."""
    return TargetModel.load(target_folder)


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 rows as `tokenize` writes them, two of them without anything to draft, and 12 held-out prompts."""
    folder = tmp_path_factory.mktemp("data") / "set"
    rng = np.random.default_rng(1)
    rows = [sentence(rng) for _ in range(118)] + [[4, 10, 11], [4]]
    masks = [[False, False] + [True] * (len(row) - 2) for row in rows[:-1]] + [[False]]
    columns = {
        "input_ids": pa.array(rows, pa.list_(pa.int32())),
        "loss_mask": pa.array(masks, pa.list_(pa.bool_())),
        "seq_len": pa.array([len(row) for row in rows], pa.int64()),
        "source": pa.array(["odd" if row % 2 else "even" for row in range(len(rows))]).dictionary_encode(),
        "row_id": pa.array([f"s:{row}" for row in range(len(rows))]),
    }
    datasets.Dataset(pa.table(columns)).save_to_disk(str(folder))
    prompts = [sentence(rng)[:4] for _ in range(12)]
    pq.write_table(
        pa.table({
            "source": ["odd" if row % 2 else "even" for row in range(12)],
            "domain": ["chat" if row < 4 else "math" for row in range(12)],
            "row_id": [f"h:{row}" for row in range(12)],
            "turn": [1] * 12,
            "prompt_ids": pa.array(prompts, pa.list_(pa.int32())),
        }),
        folder / "heldout.parquet",
    )  # fmt: skip
    return folder


@pytest.fixture(scope="session")
def rows(data_folder: Path) -> TokenizedRows:
    """The dataset, loaded."""
    return TokenizedRows.load(data_folder)
