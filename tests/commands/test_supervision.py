"""The options of what is trained on: one list for every command, each with the choices that the library has."""

import inspect
import json
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

from core.chat import Supervision, choices
from core.cli import app
from core.commands import supervision as options
from core.commands.chat import mask
from core.commands.preview import preview


@pytest.mark.parametrize("name", ["Layout", "Supervise", "Thinking", "Turns", "SpecialTokens", "Overlong"])
def test_the_choices_are_those_of_the_library(name):
    assert get_args(getattr(options, name)) == get_args(getattr(choices, name))


@pytest.mark.parametrize("command", [mask, preview])
def test_every_choice_is_an_option_with_its_default(command):
    found = {name: one.default for name, one in inspect.signature(command).parameters.items()}
    wanted: dict[str, Any] = {name: getattr(Supervision(), name) for name in Supervision.__dataclass_fields__}
    assert wanted.items() <= found.items()


def test_an_option_reaches_the_mask(tmp_path):
    file = tmp_path / "chats.jsonl"
    file.write_text('{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]}\n', encoding="utf-8")
    lengths = []
    for given in ([], ["--supervise", "content"], ["--supervise", "boundary"]):
        done = CliRunner().invoke(app, ["mask", str(file), "--json", *given])
        assert done.exit_code == 0, done.output
        lengths.append(sum(json.loads(done.stdout)["loss_mask"]))
    assert lengths[1] != lengths[0] < lengths[2]
    assert CliRunner().invoke(app, ["mask", str(file), "--supervise", "all"]).exit_code == 2
