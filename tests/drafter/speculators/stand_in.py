"""Behaves like an interpreter with speculators 0.9, as far as the engine sees: checks a run.yaml, trains by printing, saves on SIGINT.

`STAND_IN_CHECKPOINT` is the drafter it pretends to have trained, `STAND_IN_STEPS` the steps of its epochs, `STAND_IN_TROUBLE` what goes wrong.
"""

import json
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

import yaml


def check(path):
    config = yaml.safe_load(Path(path).read_text())["train"]
    problems = ["unrecognised keys (ignored): nonsense"] if "nonsense" in config else []
    if os.environ.get("STAND_IN_TROUBLE") == "absent":
        print(json.dumps({"version": None, "problems": ["ImportError: No module named 'speculators'"], "warnings": [], "resolved": None}))
        return
    devices = int(os.environ.get("STAND_IN_DEVICES", "0"))
    print(json.dumps({"version": "0.9.0", "torch": "2", "devices": devices, "problems": problems, "warnings": [], "resolved": {}}))


def save(folder, name, state):
    made = folder / name
    made.mkdir(parents=True, exist_ok=True)
    for part in ("config.json", "model.safetensors"):
        shutil.copyfile(Path(os.environ["STAND_IN_CHECKPOINT"]) / part, made / part)
    if state is not None:
        (made / "training_state.json").write_text(json.dumps(state))
    say(f"Checkpoint saved to {made}")


def say(text):
    print(f"[12:00:00] INFO     {text}{' ' * 200}trainer.py:672")


def train(path):
    config = yaml.safe_load(Path(path).read_text())["train"]
    folder, epochs, most = (
        Path(config["trainer"]["save_path"]),
        config["trainer"]["epochs"] + int(os.environ.get("STAND_IN_MORE", "0")),
        config["trainer"].get("max_steps", 10**9),
    )
    rows = len(list(Path(config["backend"]["hidden_states_path"]).glob("hs_*.safetensors")))
    stop = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    first, skip, step = 0, 0, 0
    numbers = [int(one.name) for one in folder.glob("[0-9]*")] if folder.is_dir() else []
    if numbers:
        state = json.loads((folder / str(max(numbers)) / "training_state.json").read_text())
        step = state["global_step"]
        first, skip = (max(numbers), state["local_step"]) if state["local_step"] else (max(numbers) + 1, 0)
        say(f"Resuming at epoch={first} local_step={skip} rows={rows}")
    for epoch in range(first, epochs):
        say(f"Training epoch {epoch + 1}/{epochs} started")
        for _ in range(skip, int(os.environ.get("STAND_IN_STEPS", "10"))):
            if os.environ.get("STAND_IN_TROUBLE") == "dies" and step == 4:
                raise RuntimeError("CUDA out of memory, or so")
            say(
                f"train/loss={5 / (step + 1):.3f}, train/position_1_acc=0.250, train/position_2_acc=0.125, train/eal=1.375, "
                f"profile/tokens_per_s=1.02e+03, epoch={epoch}, lr/Muon=0.010, lr/AdamW=0.003, global_step={step}"
            )
            step += 1
            if stop.wait(0.02):
                save(folder, "interrupted", None)
                return
            if step >= most:
                break
        skip = 0
        save(folder, str(epoch), {"epoch": epoch, "local_step": 0, "global_step": step})
        say(f"val/loss_epoch=2.000, val/eal_epoch=1.500, epoch={epoch}")
        if stop.wait(0.3 if step >= most else 0):
            save(folder, "interrupted", None)
            return


if __name__ == "__main__":
    arguments = sys.argv[1:]
    check(arguments[1]) if arguments[0].endswith("check_config.py") else train(arguments[arguments.index("--config") + 1])
