"""Templates to test with: project-written ones of every family, the demo target's, and the reference ones where present."""

from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path

import pytest

from core.chat import Target
from core.conversation import Conversation, messages_json
from core.workspace import BUNDLED_TARGET
from tests.chat.targets import NAMED, PIECES, TEMPLATES, make_target, pieces_json
from tests.conftest import SHARED

OWN = sorted(path.stem for path in TEMPLATES.glob("*.jinja"))
REFERENCE = ["qwen2.5", "qwen3", "qwen3.6"]
ALL = [*OWN, *PIECES, *REFERENCE, "demo"]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Name → a target folder with that template; skips where the template is not present."""

    @cache
    def folder(name: str) -> Path:
        if name == "demo":
            if not (BUNDLED_TARGET / "tokenizer.json").is_file():
                pytest.skip("the demo target is not in data/target")
            return BUNDLED_TARGET
        path = (SHARED / "templates" if name in REFERENCE else TEMPLATES) / f"{PIECES.get(name, name)}.jinja"
        tokenizer = pieces_json(name.startswith("mistral")) if name in PIECES else None
        if not path.is_file():
            pytest.skip(f"the template {name} is not beside this checkout")
        return make_target(
            tmp_path_factory.mktemp(name.replace(".", "_")), path.read_text(encoding="utf-8"), NAMED.get(name), tokenizer=tokenizer
        )

    return folder


@pytest.fixture(scope="session")
def targets(folders: Callable[[str], Path]) -> Callable[[str], Target]:
    """Name → the loaded target."""
    return cache(lambda name: Target.load(folders(name)))


@pytest.fixture(scope="session")
def reference(folders: Callable[[str], Path]):
    """transformers' own rendering: (name, conversation, arguments) → text, or None where the template raises."""
    import transformers.utils.chat_template_utils as module
    from transformers import PreTrainedTokenizerFast

    class FixedDate(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 1, 1)

    tokenizer = cache(lambda name: PreTrainedTokenizerFast.from_pretrained(folders(name)))

    def render(name: str, conversation: Conversation, **args) -> str | None:
        tools = list(conversation.tools) or None
        kept, module.datetime = module.datetime, FixedDate
        try:
            return tokenizer(name).apply_chat_template(messages_json(conversation.messages), tools=tools, tokenize=False, **args)
        except Exception:
            return None
        finally:
            module.datetime = kept

    return render
