"""Runs `speculators.train` where there is no accelerator. The interpreter of an environment with speculators 0.9 runs this file.

Its trainer asks for an accelerator in two places that no setting reaches: it moves model and batches to the device with the number of
the process, and it waits for the device when it takes the time of a step. Both names are bound anew here; its files stay as they are.
The other two places, the fused loss and flex attention, are settings (`loss_implementation: eager`, `draft_attn_impl: sdpa`).
"""

import time

from speculators.train import trainer
from speculators.train.cli import main
from speculators.train.config import TrainConfig


class UnsynchronizedTimer(trainer._StepTimer):  # type: ignore[misc]  # the package is not where this is checked
    """Its timer without waiting for a device: work on a CPU is done when it returns."""

    def mark(self, name: str) -> None:
        """Note the time."""
        if self.enabled:
            self._marks[name] = time.perf_counter()

    def now(self) -> float | None:
        """The time, None on steps that are not logged."""
        return time.perf_counter() if self.enabled else None


if __name__ == "__main__":
    trainer.get_local_rank = lambda: "cpu"
    trainer._StepTimer = UnsynchronizedTimer
    main(TrainConfig.resolve())
