"""What every test may need: the reference material beside the checkout, a fresh workspace."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from core.workspace import Workspace

# Nothing here may fail because the machine is busy.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

SHARED = Path(os.environ.get("MIXDOWN_SHARED") or Path(__file__).resolve().parents[2] / "shared")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference cases and templates; tests that need it are skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("the reference material (cases, templates) is not beside this checkout")
    return SHARED


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A fresh, empty workspace."""
    return Workspace(tmp_path / "home")
