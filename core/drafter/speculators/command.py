"""The commands that start `speculators.train`: for one GPU, many, or many nodes, and for a CPU. It starts none of them."""

import shlex
from pathlib import Path

from core.drafter.speculators.settings import SpeculatorsSettings

INSIDE = Path(__file__).parent / "inside"
"""Programs that the other environment's interpreter runs."""

ON_CPU = INSIDE / "on_cpu.py"

WIDE = {"COLUMNS": "4000", "TERM": "dumb", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
"""What makes its log one line per step: it fits lines to the terminal, and a narrow one would cut them."""


def train_command(engine: SpeculatorsSettings, run_file: Path, node: int = 0) -> list[str]:
    """What node number `node` runs. `python -m torch.distributed.run` is what `torchrun` is; so the interpreter named is the one used."""
    if engine.gpus == 0:
        return [engine.python, str(ON_CPU), "--config", str(run_file)]
    where = (
        ["--standalone"]
        if engine.nodes == 1
        else [
            f"--nnodes={engine.nodes}",
            f"--node-rank={node}",
            "--rdzv-backend=c10d",
            "--rdzv-id=mixdown",
            f"--rdzv-endpoint={engine.rendezvous}",
        ]
    )
    started = [engine.python, "-m", "torch.distributed.run", *where, f"--nproc-per-node={engine.gpus}"]
    return [*started, "-m", "speculators.train", "--config", str(run_file)]


def shown_commands(engine: SpeculatorsSettings, run_file: Path) -> list[str]:
    """The same for people, one line per node, with `torchrun` by its name where it is used."""
    lines = []
    for node in range(engine.nodes):
        command = train_command(engine, run_file, node)
        if engine.gpus:
            command = ["torchrun", *command[3:]]
        lines.append(shlex.join(command))
    return lines
