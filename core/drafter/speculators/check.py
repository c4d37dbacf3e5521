"""Asks an environment's own speculators whether it accepts a run.yaml, before anything starts. It trains nothing."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.drafter.speculators.command import INSIDE
from core.errors import InputError

PATIENCE = 600.0
"""Seconds; importing its torch and transformers takes 10 on a free core, and took minutes on a machine that was busy."""


class NoSpeculators(InputError):
    """The interpreter named cannot be run, or has no speculators."""


class RefusedSettings(InputError):
    """Its schema refuses what the settings say."""


@dataclass(frozen=True)
class Checked:
    """What its schema said."""

    version: str
    devices: int
    """Accelerators its torch sees on this machine."""
    warnings: list[str]
    resolved: dict[str, Any]
    """Every setting of its trainer by its own name, defaults filled in."""


def check(python: str, run_file: Path) -> Checked:
    """Have `python` check the file; raises `NoSpeculators`, `RefusedSettings`."""
    command = [python, str(INSIDE / "check_config.py"), str(run_file)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise NoSpeculators(
            f"{python} cannot be run ({error.strerror}): name the interpreter of an environment with speculators."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise NoSpeculators(
            f"{python} did not load speculators within {PATIENCE:.0f} s: try it by hand with `import speculators`."
        ) from error
    try:
        found = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        said = (done.stderr.strip() or "nothing was printed").splitlines()[-1]
        raise NoSpeculators(f"{python} could not check the settings: {said}") from None
    if found["version"] is None:
        raise NoSpeculators(
            f"{python} has no speculators that can be imported ({found['problems'][0]}): install speculators 0.9 there, or name another."
        )
    if found["problems"]:
        raise RefusedSettings(f"speculators {found['version']} refuses the settings in {run_file}: {'; '.join(found['problems'])}.")
    return Checked(found["version"], found["devices"], found["warnings"], found["resolved"])
