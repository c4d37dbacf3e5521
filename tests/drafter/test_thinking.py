"""Prompts asked with thinking on and off, as the target's own template would."""

from pathlib import Path

import pytest

from core.chat import Supervision, Target, generation_prompt
from core.conversation import Conversation, Message
from core.drafter.heldout import HeldOut
from core.drafter.thinking import NoThinkingSwitch, ThinkingSwitch
from core.errors import InputError
from core.workspace import BUNDLED_TARGET


@pytest.fixture(scope="module")
def switch() -> ThinkingSwitch:
    return ThinkingSwitch.of(BUNDLED_TARGET)


def prompt(mode: str, tool: bool = False) -> HeldOut:
    messages = [Message("user", "Name three rivers.")]
    if tool:
        messages += [Message("assistant", "I look."), Message("user", "And then?")]
    ids = generation_prompt(
        Conversation(tuple(messages)),
        len(messages),
        Target.load(BUNDLED_TARGET),
        Supervision(thinking=mode),  # type: ignore[arg-type]
    )
    return HeldOut("a", "chat", "a:1", 1, tuple(ids))


@pytest.mark.parametrize("tool", [False, True])
def test_a_turned_prompt_is_the_one_the_template_renders(switch: ThinkingSwitch, tool: bool) -> None:
    on, off = prompt("on", tool), prompt("off", tool)
    assert on.prompt_ids != off.prompt_ids
    assert (switch.mode(on.prompt_ids), switch.mode(off.prompt_ids)) == ("on", "off")
    for start in (on, off):
        assert switch.turned(start, "on").prompt_ids == on.prompt_ids
        assert switch.turned(start, "off").prompt_ids == off.prompt_ids


def test_both_asks_every_prompt_twice_and_notes_how(switch: ThinkingSwitch) -> None:
    assert [made.thinking for made in switch.apply([prompt("on"), prompt("off")], "both")] == ["on", "off"] * 2
    assert [made.thinking for made in switch.apply([prompt("on"), prompt("off")], "as-is")] == ["on", "off"]


def test_a_prompt_that_ends_otherwise_cannot_be_turned(switch: ThinkingSwitch) -> None:
    other = HeldOut("a", "chat", "a:9", 1, (5, 6, 7))
    assert switch.apply([other], "as-is")[0].thinking is None
    with pytest.raises(NoThinkingSwitch, match="a:9"):
        switch.apply([other], "on")


def test_a_target_without_a_template_has_no_switch(tmp_path: Path) -> None:
    assert ThinkingSwitch.of(tmp_path) == ThinkingSwitch(None, None)


def test_a_mode_there_is_not_is_refused(switch: ThinkingSwitch) -> None:
    with pytest.raises(InputError, match="as-is, on, off, both"):
        switch.apply([], "sometimes")  # type: ignore[arg-type]
