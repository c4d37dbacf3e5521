"""What the engine `speculators` is told beyond the settings that both engines share. It runs nothing."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from core.drafter.setting_kinds import BadSettings, check_kinds, check_names

Algorithm = Literal["dflash", "eagle3", "peagle", "dspark", "mtp"]
"""What speculators 0.9 trains; `dflash` is the one that can be measured here too."""

ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)

BLOCKS: tuple[Algorithm, ...] = ("dflash", "dspark")
"""Those that draft a block at once and know its size."""


ENDLESS = 1_000_000_000
"""`max_steps` of a training that only its epochs end."""


@dataclass(frozen=True)
class SpeculatorsSettings:
    """Where and how `speculators.train` runs; every default names its reason."""

    python: str = "python3"
    """The interpreter of an environment that has speculators; it has its own torch and needs nothing of Mixdown."""
    algorithm: Algorithm = "dflash"
    gpus: int = 1
    """Processes on each node, one for each GPU. 0: one process on the CPU, for a look at a small target."""
    nodes: int = 1
    """Machines. Above 1 the same command is started on each of them; they share data, states and output by one file system."""
    rendezvous: str = ""
    """`HOST:PORT` of the first node, by which several nodes find each other."""
    epochs: int = 20
    """At most so many times over the data (its own default); `max_steps` and `max_seconds` end a training earlier."""
    sequence: int = 8192
    """Tokens of a packed batch (its own default); no row of the dataset should be longer."""
    train_share: float = 0.95
    """Share of the rows trained on; the rows after them are what it validates on."""
    attention: Literal["auto", "simple_flex_attention", "sdpa", "eager"] = "auto"
    """auto: its flex attention on GPUs, sdpa on a CPU, where the other has no backward pass."""
    workers: int = 4
    """Processes of each trainer that read states."""
    shard: bool = False
    """Spread the drafter over the GPUs (FSDP) instead of repeating it on each: only where it does not fit one."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further settings by its own names, `group.key` or `key` (`mtp.num_speculative_steps`); they win, and its schema checks them."""

    def __post_init__(self) -> None:
        check_kinds(self)
        if self.algorithm not in ALGORITHMS:
            raise BadSettings(f"{self.algorithm!r} is no algorithm of speculators: choose one of {', '.join(ALGORITHMS)}.")
        if self.gpus < 0 or min(self.nodes, self.epochs, self.sequence) < 1 or self.workers < 0:
            raise BadSettings("nodes, epochs and sequence must be at least 1; gpus and workers cannot be negative.")
        if not 0 < self.train_share < 1:
            raise BadSettings(f"train_share is {self.train_share}; it must lie between 0 and 1, so that some rows are left to validate on.")
        if self.nodes > 1 and not re.fullmatch(r"[^\s:]+:\d+", self.rendezvous):
            raise BadSettings(f"rendezvous is {self.rendezvous!r}; {self.nodes} nodes need HOST:PORT of the first one to find each other.")
        if not self.gpus and (self.nodes > 1 or self.shard):
            raise BadSettings("Several nodes and sharding need GPUs: speculators refuses to join processes on CPUs.")

    def to_json(self) -> dict[str, Any]:
        """Every setting under its name."""
        return {**asdict(self), "extra": dict(self.extra)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "SpeculatorsSettings":
        """Settings from JSON; raises `BadSettings` for names that are not known and values of other kinds."""
        check_names(cls, values)
        return cls(**values)

    @property
    def processes(self) -> int:
        """Of the whole training."""
        return max(1, self.gpus) * self.nodes
