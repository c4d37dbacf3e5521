"""Checks a run.yaml with the schema of the speculators that this interpreter has; prints one JSON object. It trains nothing.

`{"version", "torch", "devices", "problems": [...], "warnings": [...], "resolved": {...}}`; `resolved` is null where there are problems.
"""

import json
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from typing import Any


def checked(path: str) -> dict[str, Any]:
    """What its schema says about the file."""
    found: dict[str, Any] = {"version": version("speculators"), "problems": [], "warnings": [], "resolved": None}
    import torch
    from pydantic import ValidationError
    from speculators.train.config import TrainConfig

    found |= {"torch": torch.__version__, "devices": torch.accelerator.device_count() if torch.accelerator.is_available() else 0}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            config = TrainConfig.from_sources(cli={}, config_path=path, argv=[])
            found["resolved"] = config.flatten()
        except ValidationError as error:
            found["problems"] = [f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}" for one in error.errors()]
        except ValueError as error:
            found["problems"] = [str(error)]
    for one in said:
        # An unknown key is a setting that this version would silently leave out.
        kind = "problems" if "unrecognised keys" in str(one.message) else "warnings"
        if issubclass(one.category, UserWarning):
            found[kind].append(str(one.message))
    if found["problems"]:
        found["resolved"] = None
    return found


if __name__ == "__main__":
    try:
        answer = checked(sys.argv[1])
    except (ImportError, PackageNotFoundError) as error:
        answer = {"version": None, "problems": [f"{type(error).__name__}: {error}"], "warnings": [], "resolved": None}
    json.dump(answer, sys.stdout, default=str)
