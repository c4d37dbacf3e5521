"""A tiny target and dataset for jobs that train: those of the drafter's own tests."""

from tests.drafter.conftest import data_folder, target_folder

__all__ = ["data_folder", "target_folder"]
