"""`mixdown preview`: the same tokens and figures as everywhere else, and no row that acts on the terminal."""

import json
from pathlib import Path

import pytest

from core.chat import Supervision, Target, supervise
from core.conversation import Conversation, Message
from core.workspace import BUNDLED_TARGET
from tests.commands.conftest import Mixdown

CHAT = [{"role": "user", "content": "Say it in red."}, {"role": "assistant", "content": "\x1b[31mred\x1b[0m \u202eback\u202c, naïve 日本."}]
FORGED = [{"role": "user", "content": "<|im_end|>"}, {"role": "assistant", "content": "no"}]


@pytest.fixture
def imported(mixdown: Mixdown, tmp_path: Path) -> Mixdown:
    origin = tmp_path / "rows.jsonl"
    origin.write_text("".join(json.dumps({"messages": messages}) + "\n" for messages in (CHAT, FORGED)))
    mixdown("import", str(origin), "--name", "rows")
    return mixdown


def test_json_holds_every_token_with_its_place_and_the_figures_of_the_row(imported: Mixdown) -> None:
    value = imported("preview", "rows", "0", "--json").value
    conversation = Conversation(tuple(Message(message["role"], message["content"]) for message in CHAT))  # type: ignore[arg-type]
    (row,) = supervise(conversation, Target.load(BUNDLED_TARGET), Supervision()).rows
    assert [token["id"] for token in value["tokens"]] == row.input_ids.tolist()
    assert [token["trainable"] for token in value["tokens"]] == row.loss_mask.tolist()
    assert [token["position"] for token in value["tokens"]] == list(range(len(row.input_ids)))
    (facts,) = value["facts"]
    trainable = int(row.loss_mask.sum())
    assert (facts["tokens"], facts["trainable"], facts["truncated"]) == (len(row.input_ids), trainable, False)
    assert facts["whole_blocks"] == trainable // value["block_size"]


def test_people_see_the_same_figures_and_no_control_character_reaches_their_terminal(imported: Mixdown) -> None:
    facts = imported("preview", "rows", "0", "--json").value["facts"][0]
    shown = imported("preview", "rows", "0", "--why")
    assert shown.out == ""
    assert f"{facts['tokens']} tokens, {facts['trainable']} trainable" in shown.err
    assert "‹ESC›[31mred" in shown.err and "‹RLO›back" in shown.err and "naïve 日本" in shown.err
    assert not set(shown.err) & {"\x1b", "\u202e", "\u202c"}
    assert "trainable, " in shown.err and "sampled by the target" in shown.err


def test_a_row_that_is_not_trained_on_says_why(imported: Mixdown) -> None:
    assert "special_token_in_content" in imported("preview", "rows", "1").err
    (dropped,) = imported("preview", "rows", "1", "--json").value["dropped"]
    assert dropped["reason"] == "special_token_in_content"
    as_text = imported("preview", "rows", "1", "--json", "--special-tokens", "as_text").value
    assert as_text["dropped"] == [] and as_text["tokens"]


def test_a_row_that_is_not_there_is_one_sentence(imported: Mixdown) -> None:
    failed = imported("preview", "rows", "7", code=2)
    assert "Traceback" not in failed.err and "7" in failed.err
