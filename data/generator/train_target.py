"""Trains the demo target: a Qwen3 model of 2.75 million parameters, on fresh conversations, on the CPU.

    python -m data.generator.train_target --minutes 60

Muon for the matrices, AdamW for embedding and norms, warm-up, a constant rate, a linear decay; what is written is a running mean of the
weights. The loss is on answers only, in rows as a server would see them (`rendering`). It knows nothing of the shipped sources.
"""

import argparse
import json
import math
import time
from pathlib import Path

import torch
import torch.distributed as dist
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import Qwen3Config, Qwen3ForCausalLM

from data.generator.batches import Batch, Diet, batches
from data.generator.rendering import TARGET

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
WARM_UP = 80
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


def rate(step: int, progress: float, decay: float) -> float:
    """Warm-up over steps, constant, linear decay to zero over the last `decay` share of the time."""
    return max(0.0, min(1.0, (step + 1) / WARM_UP, (1 - progress) / decay))


def _packed(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def _unpack(flat: Tensor, tensors: list[Tensor]) -> None:
    for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
        tensor.copy_(part.view_as(tensor))


class Stepper:
    """The two optimizers over `ranks` processes: gradients are averaged, each rank steps its share of the matrices and hands them round."""

    def __init__(self, model: nn.Module, rank: int, ranks: int) -> None:
        self.rank, self.ranks = rank, ranks
        self.parameters = list(model.parameters())
        matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "layers" in name]
        others = [p for name, p in model.named_parameters() if not (p.ndim == 2 and "layers" in name)]
        self.shares = [matrices[r::ranks] for r in range(ranks)]
        muon = torch.optim.Muon(self.shares[rank], lr=MATRIX_RATE, momentum=0.95, weight_decay=0.01, adjust_lr_fn="match_rms_adamw")
        self.optimizers = (muon, torch.optim.AdamW(others, lr=VECTOR_RATE, betas=(0.9, 0.98), weight_decay=0.0))

    def step(self, factor: float) -> None:
        """One update at `factor` times the peak rates."""
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        if self.ranks > 1:
            flat = _packed(gradients)
            dist.all_reduce(flat)
            _unpack(flat / self.ranks, gradients)
        nn.utils.clip_grad_norm_(self.parameters, 1.0)
        for optimizer, peak in zip(self.optimizers, (MATRIX_RATE, VECTOR_RATE), strict=True):
            optimizer.param_groups[0]["lr"] = peak * factor
            optimizer.step()
        for parameter in self.parameters:
            parameter.grad = None
        if self.ranks > 1:
            for rank, share in enumerate(self.shares):
                flat = _packed([p.data for p in share])
                dist.broadcast(flat, rank)
                _unpack(flat, [p.data for p in share])


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


def train(rank: int, options: argparse.Namespace) -> None:
    """One rank's training for `options.minutes` of wall time; rank 0 writes the mean weights every `options.every` steps and at the end."""
    torch.set_num_threads(1)
    if options.ranks > 1:
        dist.init_process_group("gloo", init_method=f"file://{options.out / 'ranks'}", rank=rank, world_size=options.ranks)
    tokenizer = Tokenizer.from_file(str(TARGET / "tokenizer.json"))
    torch.manual_seed(0)
    model = new_model(tokenizer)
    if options.resume:
        model.load_state_dict(load_file(options.resume), strict=False)
    model.train()
    stepper = Stepper(model, rank, options.ranks)
    mean = {name: value.detach().clone() for name, value in model.state_dict().items()}
    diet = Diet(options.drills, options.tools)
    stream = batches(tokenizer, f"{options.seed} {rank}", BATCH_TOKENS // options.ranks, LONGEST, diet)
    started, losses = time.monotonic(), list[float]()
    done = torch.zeros(1)
    for step, batch in enumerate(stream):
        progress = (time.monotonic() - started) / (options.minutes * 60)
        done[0] = progress
        if options.ranks > 1:
            dist.broadcast(done, 0)
        progress = done.item()
        loss = answer_loss(model, batch)
        loss.backward()
        stepper.step(options.rate * rate(step, progress, options.decay))
        decay = min(MEAN_DECAY, (step + 1) / (step + 20))
        with torch.no_grad():
            for name, value in model.state_dict().items():
                mean[name].lerp_(value, 1 - decay)
        losses.append(loss.item())
        last = progress >= 1
        if rank == 0 and ((step + 1) % 50 == 0 or last):
            print(f"step {step + 1} loss {sum(losses[-50:]) / len(losses[-50:]):.4f} time {progress:.1%}", flush=True)  # noqa: T201
        if rank == 0 and ((step + 1) % options.every == 0 or last):
            write_target(mean, tokenizer, options.out)
        if last:
            return


def main() -> None:
    """Reads the command line and starts the ranks."""
    parser = argparse.ArgumentParser(description="Train the demo target on the generator's text.")
    parser.add_argument("--minutes", type=float, default=60, help="wall time; the schedule follows it")
    parser.add_argument("--ranks", type=int, default=2, help="processes of one thread each; on a busy machine faster than threads")
    parser.add_argument("--rate", type=float, default=1.0, help="factor on the peak rates; half of them suits a second stretch")
    parser.add_argument("--decay", type=float, default=0.8, help="share of the time over which the rates fall to zero")
    parser.add_argument("--drills", type=float, default=Diet.drills, help="share of drills among the conversations")
    parser.add_argument("--tools", type=float, default=Diet.tools, help="share of harder tool talks")
    parser.add_argument("--seed", default="target")
    parser.add_argument("--every", type=int, default=500, help="write the weights every so many steps")
    parser.add_argument("--out", type=Path, default=TARGET, help="folder for weights and configs")
    parser.add_argument("--resume", type=Path, default=None, help="begin with these weights (a model.safetensors)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "ranks").unlink(missing_ok=True)
    if options.ranks == 1:
        train(0, options)
    else:
        torch.multiprocessing.spawn(train, (options,), options.ranks)
        (options.out / "ranks").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
