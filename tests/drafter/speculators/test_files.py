"""What is written for speculators: run.yaml, the commands, and what its log lines mean."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from core.drafter.settings import BadSettings, TrainSettings
from core.drafter.speculators import ALGORITHMS, SpeculatorsSettings
from core.drafter.speculators.command import shown_commands, train_command
from core.drafter.speculators.log import EpochBegan, Saved, Step, Validated, read_line
from core.drafter.speculators.run_file import Paths, as_yaml, epochs, run_config

PATHS = Paths(Path("/d"), Path("/t"), Path("/s"), Path("/o/checkpoints"))


def config(settings: TrainSettings | None = None, **engine: object) -> dict:
    return run_config(
        settings or TrainSettings(max_steps=100, max_seconds=None),
        SpeculatorsSettings(**engine),  # type: ignore[arg-type]
        PATHS,
        tokens=1_000_000,
        target_layers=(2, 14, 25),
        mask_token_id=7,
    )


@given(st.floats(1e-12, 1e6), st.integers(0, 10**9), st.text(max_size=20))
def test_the_file_reads_back_as_what_was_meant(rate: float, seed: int, name: str) -> None:
    meant = config(TrainSettings(learning_rate=rate, seed=seed), extra={"logging.run_name": name})
    read = yaml.safe_load(as_yaml(meant))["train"]
    assert read == meant and isinstance(read["optimizer"]["muon_lr"], float)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_has_a_file_with_only_what_it_uses(algorithm: str) -> None:
    made = config(algorithm=algorithm)
    assert made["speculator_type"] == algorithm and made["generation"]["on_missing"] == "raise"
    assert ("dflash" in made) == (algorithm in ("dflash", "dspark"))
    # mtp takes its layers and its attention from the target and refuses settings about them.
    assert ("num_layers" in made["draft"]) == (algorithm != "mtp")
    assert "draft_attn_impl" not in config(algorithm="mtp", gpus=0)["draft"]


def test_the_draft_layers_attend_fully_and_a_cpu_gets_what_it_needs() -> None:
    made = config(gpus=0)
    assert made["draft"]["full_attention_indices"] == [0, 1, 2] and made["draft"]["draft_attn_impl"] == "sdpa"
    assert made["loss"] == {"loss_fn": "ce", "loss_implementation": "eager"}
    assert made["data"]["hidden_states_dtype"] == "float32" and made["data"]["num_workers"] == 0
    assert "draft_attn_impl" not in config(gpus=8)["draft"] and "loss_implementation" not in config()["loss"]


def test_epochs_are_as_many_as_the_steps_take_since_its_max_steps_ends_only_epochs() -> None:
    engine = SpeculatorsSettings(sequence=1000, train_share=0.5)
    assert epochs(TrainSettings(max_steps=30, max_seconds=None), engine, 20_000) == 3
    assert epochs(TrainSettings(max_steps=31, max_seconds=None), engine, 20_000) == 4
    assert epochs(TrainSettings(), engine, 20_000) == 20
    assert epochs(TrainSettings(max_steps=1000, max_seconds=None), SpeculatorsSettings(sequence=1000, gpus=8), 20_000) == 20


def test_further_settings_win_and_land_in_their_group() -> None:
    made = config(algorithm="mtp", extra={"mtp.num_speculative_steps": 5, "trainer.log_freq": 10, "deterministic_cuda": True})
    assert made["mtp"] == {"num_speculative_steps": 5} and made["trainer"]["log_freq"] == 10 and made["deterministic_cuda"] is True
    with pytest.raises(BadSettings, match="name it as"):
        config(extra={"a.b.c": 1})


def test_the_commands_of_one_gpu_many_and_many_nodes() -> None:
    run = Path("/o/run.yaml")
    one = SpeculatorsSettings(python="/env/bin/python")
    assert train_command(one, run) == [
        "/env/bin/python", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=1", "-m", "speculators.train", "--config", "/o/run.yaml",
    ]  # fmt: skip
    assert shown_commands(one, run) == ["torchrun --standalone --nproc-per-node=1 -m speculators.train --config /o/run.yaml"]
    many = SpeculatorsSettings(gpus=8, nodes=2, rendezvous="head:29500")
    assert shown_commands(many, run) == [
        f"torchrun --nnodes=2 --node-rank={node} --rdzv-backend=c10d --rdzv-id=mixdown --rdzv-endpoint=head:29500 --nproc-per-node=8 "
        "-m speculators.train --config /o/run.yaml"
        for node in (0, 1)
    ]
    assert train_command(SpeculatorsSettings(python="py", gpus=0), run)[1].endswith("inside/on_cpu.py")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"algorithm": "medusa"}, "no algorithm"),
        ({"nodes": 2}, "HOST:PORT"),
        ({"gpus": 0, "shard": True}, "need GPUs"),
        ({"train_share": 1.0}, "between 0 and 1"),
        ({"sequence": 0}, "at least 1"),
    ],
)
def test_settings_that_cannot_work_are_refused(changed: dict, said: str) -> None:
    with pytest.raises(BadSettings, match=said):
        SpeculatorsSettings(**changed)


def test_log_lines_become_points_like_those_of_the_native_engine() -> None:
    line = (
        "[09:12:00] INFO     train/loss=6.233, train/ce=6.233, train/full_acc=0.027, train/position_1_acc=0.061, train/position_2_acc=6.10e-04, "
        "train/eal=1.062, train/error_records=0.000, profile/fetch_ms=3.219, profile/tokens_per_s=2.31e+03, epoch=1, lr/Muon=0.012, "
        "lr/AdamW=0.003, global_step=41                              trainer.py:540"
    )
    found = read_line(line)
    assert found == Step(
        42,
        1,
        {
            "step": 42, "loss": 6.233, "learning_rate": 0.012, "tokens_per_second": 2310.0,
            "accuracy_1": 0.061, "accuracy_2": 0.00061, "acceptance": 1.062,
        },
    )  # fmt: skip
    eagle = read_line(
        "train/loss=2.000, train/full_acc_0=0.500, train/cond_acc_0=0.500, train/cond_acc_1=0.400, epoch=0, lr=0.001, global_step=0"
    )
    assert isinstance(eagle, Step) and eagle.point["accuracy_1"] == 0.5 and eagle.point["acceptance"] == pytest.approx(1.7)
    assert read_line("INFO  val/loss_epoch=5.100, val/eal_epoch=1.210, epoch=0   trainer.py:600") == Validated(
        0, {"validation/all": 1.21, "validation_loss": 5.1}
    )
    assert read_line("INFO  Training epoch 2/20 started   trainer.py:700") == EpochBegan(2, 20)
    assert read_line("INFO  Checkpoint saved to /a b/checkpoints/3      trainer.py:660") == Saved("3")
    assert read_line("Epoch 0: 100%|####| 3/3") is None
