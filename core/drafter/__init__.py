"""From a tokenized dataset to a trained, measured DFlash drafter: capture hidden states, train, decode speculatively, report.

Settings, held-out prompts, unfinished trainings and reports can be imported without loading PyTorch; `train` and `evaluate` load it when
first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from core.drafter.heldout import HeldOut, load_heldout
from core.drafter.settings import TrainSettings
from core.drafter.unfinished import Unfinished, discard_unfinished, find_unfinished

if TYPE_CHECKING:
    from core.drafter.evaluation import Measured, evaluate
    from core.drafter.report import EvaluationReport
    from core.drafter.training import TrainResult, train

__all__ = [
    "EvaluationReport", "HeldOut", "Measured", "TrainResult", "TrainSettings", "Unfinished",
    "discard_unfinished", "evaluate", "find_unfinished", "load_heldout", "train",
]  # fmt: skip

_LATE = {"evaluate": "evaluation", "Measured": "evaluation", "EvaluationReport": "report", "TrainResult": "training", "train": "training"}


def __getattr__(name: str) -> Any:
    """Load what needs PyTorch on first use."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
