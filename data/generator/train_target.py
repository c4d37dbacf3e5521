"""Trains the demo target: a Qwen3 model of 2.4 million parameters, on fresh conversations, on the CPU.

    python -m data.generator.train_target --minutes 60 --threads 2

Muon for the matrices, AdamW for embedding and norms, warm-up, a constant rate, a linear decay; what is written is a running mean of the
weights. The loss is on answers only, in rows as a server would see them (`rendering`). It knows nothing of the shipped sources.
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import Qwen3Config, Qwen3ForCausalLM

from data.generator.batches import Batch, batches
from data.generator.rendering import TARGET

if TYPE_CHECKING:
    from collections.abc import Iterable

CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": 4096,
    "hidden_size": 192,
    "intermediate_size": 512,
    "num_hidden_layers": 5,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "hidden_act": "silu",
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    "attention_bias": False,
    "attention_dropout": 0.0,
    "tie_word_embeddings": True,
    "use_cache": True,
    "dtype": "bfloat16",
}
BATCH_TOKENS = 4096
LONGEST = 640
MATRIX_RATE, VECTOR_RATE = 5e-3, 4e-3
WARM_UP, DECAY_SHARE = 80, 0.35
MEAN_DECAY = 0.997


def new_model(tokenizer: Tokenizer) -> Qwen3ForCausalLM:
    """A freshly initialised target with the tokenizer's special ids."""
    end, pad = tokenizer.token_to_id("<|im_end|>"), tokenizer.token_to_id("<|endoftext|>")
    config = Qwen3Config(**{**CONFIG, "dtype": "float32", "eos_token_id": end, "pad_token_id": pad})
    model = Qwen3ForCausalLM(config)
    for module in model.model.layers.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=1 / math.sqrt(module.in_features) / math.sqrt(2))
    return model


def answer_loss(model: Qwen3ForCausalLM, batch: Batch) -> Tensor:
    """Mean cross entropy over the answers' tokens; logits are made for those positions only."""
    ids = torch.from_numpy(batch.ids)
    wanted = torch.from_numpy(batch.answer)[:, 1:]
    with torch.autocast("cpu", torch.bfloat16):
        states = model.model(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]
        logits = nn.functional.linear(states[wanted], model.model.embed_tokens.weight)
    return nn.functional.cross_entropy(logits.float(), ids[:, 1:][wanted])


def rate(step: int, progress: float) -> float:
    """Warm-up over steps, constant, linear decay to zero over the last `DECAY_SHARE` of the time."""
    return max(0.0, min(1.0, (step + 1) / WARM_UP, (1 - progress) / DECAY_SHARE))


def optimizers(model: nn.Module) -> list[torch.optim.Optimizer]:
    """Muon for the layers' matrices, AdamW for everything else."""
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "layers" in name]
    others = [p for name, p in model.named_parameters() if not (p.ndim == 2 and "layers" in name)]
    muon = torch.optim.Muon(matrices, lr=MATRIX_RATE, momentum=0.95, weight_decay=0.01, adjust_lr_fn="match_rms_adamw")
    return [muon, torch.optim.AdamW(others, lr=VECTOR_RATE, betas=(0.9, 0.98), weight_decay=0.0)]


def write_target(weights: dict[str, Tensor], tokenizer: Tokenizer, folder: Path) -> None:
    """Writes `model.safetensors` (bfloat16, tied head left out), `config.json` and `generation_config.json`."""
    end, pad = tokenizer.token_to_id("<|im_end|>"), tokenizer.token_to_id("<|endoftext|>")
    kept = {name: value.to(torch.bfloat16).contiguous() for name, value in weights.items() if name != "lm_head.weight"}
    partial = folder / "model.safetensors.partial"
    save_file(kept, partial, metadata={"format": "pt"})
    partial.replace(folder / "model.safetensors")
    generation = {"do_sample": False, "eos_token_id": [end, pad], "pad_token_id": pad, "max_new_tokens": 512}
    for name, value in (("config.json", {**CONFIG, "eos_token_id": end, "pad_token_id": pad}), ("generation_config.json", generation)):
        (folder / name).write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def train(minutes: float, seed: str, folder: Path, every: int) -> None:
    """Trains for `minutes` of wall time and writes the mean weights into `folder` every `every` steps and at the end."""
    tokenizer = Tokenizer.from_file(str(TARGET / "tokenizer.json"))
    torch.manual_seed(0)
    model = new_model(tokenizer)
    model.train()
    steppers = optimizers(model)
    peaks = [stepper.param_groups[0]["lr"] for stepper in steppers]
    mean = {name: value.detach().clone() for name, value in model.state_dict().items()}
    stream: Iterable[Batch] = batches(tokenizer, seed, BATCH_TOKENS, LONGEST)
    started, seen, losses = time.monotonic(), 0, list[float]()
    for step, batch in enumerate(stream):
        spent = time.monotonic() - started
        progress = spent / (minutes * 60)
        done = progress >= 1
        loss = answer_loss(model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for stepper, peak in zip(steppers, peaks, strict=True):
            stepper.param_groups[0]["lr"] = peak * rate(step, progress)
            stepper.step()
            stepper.zero_grad()
        decay = min(MEAN_DECAY, (step + 1) / (step + 20))
        with torch.no_grad():
            for name, value in model.state_dict().items():
                mean[name].lerp_(value, 1 - decay)
        seen += batch.ids.size
        losses.append(loss.item())
        if (step + 1) % 50 == 0 or done:
            print(f"step {step + 1} loss {sum(losses[-50:]) / len(losses[-50:]):.4f} tokens {seen} seconds {spent:.0f}", flush=True)  # noqa: T201
        if (step + 1) % every == 0 or done:
            write_target(mean, tokenizer, folder)
        if done:
            return


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Train the demo target on the generator's text.")
    parser.add_argument("--minutes", type=float, default=60, help="wall time on two cores; the schedule follows it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", default="target")
    parser.add_argument("--every", type=int, default=500, help="write the weights every so many steps")
    parser.add_argument("--out", type=Path, default=TARGET, help="folder for weights and configs")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    train(options.minutes, options.seed, options.out, options.every)


if __name__ == "__main__":
    main()
