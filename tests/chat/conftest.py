"""Templates to test with: project-written ones of every family, the demo target's, and the reference ones where present."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from core.chat import Target
from core.workspace import BUNDLED_TARGET
from tests.chat.targets import NAMED, TEMPLATES, make_target
from tests.conftest import SHARED

OWN = sorted(path.stem for path in TEMPLATES.glob("*.jinja"))
REFERENCE = ["qwen2.5", "qwen3", "qwen3.6"]
ALL = [*OWN, *REFERENCE, "demo"]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Name → a target folder with that template; skips where the template is not present."""

    @cache
    def folder(name: str) -> Path:
        if name == "demo":
            if not (BUNDLED_TARGET / "tokenizer.json").is_file():
                pytest.skip("the demo target is not in data/target")
            return BUNDLED_TARGET
        path = (SHARED / "templates" if name in REFERENCE else TEMPLATES) / f"{name}.jinja"
        if not path.is_file():
            pytest.skip(f"the template {name} is not beside this checkout")
        return make_target(tmp_path_factory.mktemp(name.replace(".", "_")), path.read_text(encoding="utf-8"), NAMED.get(name))

    return folder


@pytest.fixture(scope="session")
def targets(folders: Callable[[str], Path]) -> Callable[[str], Target]:
    """Name → the loaded target."""
    return cache(lambda name: Target.load(folders(name)))
