"""The engine `speculators`: the same settings, dataset and states, trained by that package in an environment of its own.

It writes `run.yaml` and the command, has the package check them, follows its log, stops it with its signal and takes its checkpoints over.
What runs inside the other environment lies in `inside/`; nothing here imports the package.
"""

from core.drafter.speculators.settings import ALGORITHMS, Algorithm, SpeculatorsSettings

__all__ = ["ALGORITHMS", "Algorithm", "SpeculatorsSettings"]
