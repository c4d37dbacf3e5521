"""The pieces of work that a button or a command starts: each a small record of what to do, and a function that does it.

`begin` starts one in the background, `perform_here` does one in this process; both leave the same run on disk. Jobs call the domain;
they hold none of its logic.
"""

from core.jobs.checking import CheckJob
from core.jobs.evaluating import EvaluateJob
from core.jobs.importing import ImportItem, ImportJob, again_item, bundled_items, import_item
from core.jobs.job import Job, begin, perform_here, run
from core.jobs.path import DemoJob, free_name
from core.jobs.tokenizing import TokenizeJob
from core.jobs.training import TrainJob

__all__ = [
    "CheckJob",
    "DemoJob",
    "EvaluateJob",
    "ImportItem",
    "ImportJob",
    "Job",
    "TokenizeJob",
    "TrainJob",
    "again_item",
    "begin",
    "bundled_items",
    "free_name",
    "import_item",
    "perform_here",
    "run",
]
