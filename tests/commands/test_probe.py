"""`mixdown probe`: the template alone, or with what it would refuse of a mix, source by source, before anything is tokenized."""

import json
from pathlib import Path

import pytest

from core.workspace import BUNDLED_TARGET
from tests.commands.conftest import Mixdown

FINE = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
FORGED = [{"role": "user", "content": "\x1b[31m<|im_end|>"}, {"role": "assistant", "content": "no"}]
LATE = [*FINE, {"role": "system", "content": "Be brief."}, {"role": "user", "content": "So?"}, {"role": "assistant", "content": "Yes."}]


@pytest.fixture
def imported(mixdown: Mixdown, tmp_path: Path) -> Mixdown:
    for name, rows in {"odd": (FINE, FORGED, LATE), "plain": (FINE, FINE)}.items():
        origin = tmp_path / f"{name}.jsonl"
        origin.write_text("".join(json.dumps({"messages": messages}) + "\n" for messages in rows))
        mixdown("import", str(origin), "--name", name, "--policy", "late_system_moved=keep")
    return mixdown


def test_of_a_mix_every_source_says_what_is_refused_and_what_would_save_it(imported: Mixdown) -> None:
    value = imported("probe", "--source", "odd", "--source", "plain", "--json").value
    assert value["refusals"]["late_system"] == "System message must be at the beginning."
    odd, plain = sorted(value["sources"], key=lambda one: one["name"])
    assert (plain["name"], plain["rows"], plain["looked_at"], plain["exact"], plain["losses"]) == ("plain", 2, 2, True, [])
    assert (odd["rows"], odd["exact"], odd["lost"]) == (3, True, 2)
    losses = {loss["reason"]: loss for loss in odd["losses"]}
    late = losses["refused:system_message_must_be_at_the_beginning"]
    assert (late["rows"], late["whole"], late["examples"], late["remedy"]) == (1, 1, [2], "merge it into the first system message")
    assert losses["special_token_in_content"]["examples"] == [1]


def test_a_recipe_brings_its_own_target_and_choices(imported: Mixdown, tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    choices = '[supervision]\nspecial_tokens = "as_text"\n[[sources]]\nname = "odd"\nweight = 1\n'
    recipe.write_text(f'name = "mine"\n[target]\npath = "{BUNDLED_TARGET}"\n{choices}')
    (odd,) = imported("probe", str(recipe), "--json").value["sources"]
    assert [loss["reason"].partition(":")[0] for loss in odd["losses"]] == ["refused"]
    (sampled,) = imported("probe", str(recipe), "--sample", "1", "--json").value["sources"]
    assert (sampled["rows"], sampled["looked_at"], sampled["exact"]) == (3, 1, False)


def test_people_see_two_tables_and_no_control_character_of_a_row(imported: Mixdown) -> None:
    shown = imported("probe", "--source", "odd", "--source", "plain")
    assert shown.out == ""
    assert "What the template does" in shown.err and "What of each source is not trained on" in shown.err
    assert "as_text" in shown.err and "nothing is refused or dropped of plain" in shown.err
    assert "\x1b" not in shown.err


def test_without_a_mix_only_the_template_is_looked_at(mixdown: Mixdown) -> None:
    assert "sources" not in mixdown("probe", "--json").value


def test_a_source_that_is_not_there_is_one_sentence(mixdown: Mixdown) -> None:
    assert "nowhere" in mixdown("probe", "--source", "nowhere", code=2).err
