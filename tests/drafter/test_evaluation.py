"""The report: acceptance by source, domain and position, and what happens when a response is not the target's own."""

import json
from pathlib import Path

import pytest

from core.drafter import HeldOut, TrainSettings, evaluate, load_heldout, train
from core.drafter.decode import Decoded
from core.drafter.heldout import NoPrompts, spread
from core.drafter.report import summarize
from tests.drafter.conftest import BLOCK, MASK


def prompt(source: str, domain: str, row: int = 0) -> HeldOut:
    return HeldOut(source, domain, f"{source}:{row}", 1, (1, 2))


def summary(prompts: list[HeldOut], plain: list[Decoded], speculative: list[Decoded]):
    return summarize(
        prompts, plain, speculative, plain_seconds=2.0, speculative_seconds=1.0, block_size=4, max_new_tokens=9, untrained=False
    )  # fmt: skip


def test_acceptance_is_the_mean_over_responses_of_their_mean_round() -> None:
    prompts = [prompt("a", "chat"), prompt("b", "math"), prompt("b", "math")]
    plain = [Decoded(tuple(range(7)), ()), Decoded(tuple(range(5)), ()), Decoded((1,), ())]
    speculative = [Decoded(tuple(range(7)), (4, 2)), Decoded(tuple(range(5)), (1, 1, 1, 1)), Decoded((1,), ())]
    report = summary(prompts, plain, speculative)
    assert report.acceptance_length == (3.0 + 1.0) / 2  # a response without a round says nothing
    value = report.to_json()
    assert value["by_source"] == {"a": 3.0, "b": 1.0} and value["by_domain"] == {"chat": 3.0, "math": 1.0}
    assert value["prompts_by_source"] == {"a": 1, "b": 1}
    assert value["histogram"] == [4, 1, 0, 1]
    assert value["by_position"] == pytest.approx([2 / 6, 1 / 6, 1 / 6])
    assert value["tokens_per_second"] == 13.0 and value["plain_tokens_per_second"] == 6.5
    assert value["lossless"] is True and value["mismatches"] == 0
    json.dumps(value)


def test_a_changed_response_is_a_mismatch_with_its_place() -> None:
    report = summary([prompt("a", "chat", 7)], [Decoded((5, 6, 7), ())], [Decoded((5, 6, 8), (2,))])
    assert not report.lossless and report.mismatches == 1
    assert vars(report.mismatched[0]) == {"source": "a", "row_id": "a:7", "turn": 1, "position": 2, "plain": 7, "speculative": 8}


def test_a_shorter_response_is_a_mismatch_too() -> None:
    found = summary([prompt("a", "chat")], [Decoded((5, 6), ())], [Decoded((5,), ())]).mismatched[0]
    assert (found.position, found.plain, found.speculative) == (1, 6, None)


def test_a_limit_keeps_every_source_measured() -> None:
    prompts = [prompt("a", "chat", row) for row in range(8)] + [prompt("b", "math"), prompt("c", "code")]
    assert [chosen.source for chosen in spread(prompts, 4)] == ["a", "a", "b", "c"]
    assert spread(prompts, None) == prompts


def test_prompts_that_are_missing_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NoPrompts, match="validation share"):
        load_heldout(tmp_path)
    (tmp_path / "heldout.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(NoPrompts, match="no table of held-out prompts"):
        load_heldout(tmp_path)


def test_prompts_without_room_are_left_out(data_folder: Path, target_folder: Path, tmp_path: Path) -> None:
    settings = TrainSettings(block_size=BLOCK, mask_token_id=MASK, max_seconds=None, max_steps=1, conversations=4, anchors=2)
    train(data_folder, target_folder, tmp_path / "drafter", settings)
    short, long = HeldOut("a", "chat", "a:0", 1, (4, 12, 13)), HeldOut("a", "chat", "a:1", 1, tuple([4] * 250))
    assert evaluate(tmp_path / "drafter", target_folder, [short, long], max_new_tokens=8).prompts == 1
    with pytest.raises(NoPrompts, match="leaves room"):
        evaluate(tmp_path / "drafter", target_folder, [long], max_new_tokens=8)
