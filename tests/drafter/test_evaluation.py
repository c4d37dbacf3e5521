"""The report: acceptance by source, domain and position, and what happens when a response is not the target's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.drafter import HeldOut, Measured, TrainSettings, evaluate, load_heldout, train
from core.drafter.decode import Decoded
from core.drafter.heldout import NoPrompts, spread
from core.drafter.report import EvaluationReport, count_way, find_mismatches, speed_of
from core.errors import InputError
from tests.drafter.conftest import BLOCK, MASK


def prompt(source: str, domain: str, row: int = 0) -> HeldOut:
    return HeldOut(source, domain, f"{source}:{row}", 1, (1, 2))


def summary(prompts: list[HeldOut], plain: list[Decoded], speculative: list[Decoded]) -> EvaluationReport:
    return EvaluationReport(
        chain=count_way(prompts, speculative, 4),
        plain=speed_of(plain),
        in_transformers=speed_of(plain),
        other_than_transformers=0,
        mismatched=find_mismatches(prompts, plain, {"chain": speculative}),
        prompts=len(prompts),
        untrained=False,
        max_new_tokens=9,
        block_size=4,
        confidence=0.0,
        seconds=3.0,
    )


def test_acceptance_is_the_mean_over_responses_of_their_mean_round() -> None:
    prompts = [prompt("a", "chat"), prompt("b", "math"), prompt("b", "math")]
    plain = [Decoded(tuple(range(7)), (), 0.5, 1.0), Decoded(tuple(range(5)), (), 0.0, 0.5), Decoded((1,), (), 0.5, 0.5)]
    speculative = [
        Decoded(tuple(range(7)), (4, 2), 0.25, 0.5),
        Decoded(tuple(range(5)), (1, 1, 1, 1), 0.0, 0.25),
        Decoded((1,), (), 0.25, 0.25),
    ]
    report = summary(prompts, plain, speculative)
    assert report.acceptance_length == (3.0 + 1.0) / 2  # a response without a round says nothing
    value = report.to_json()
    assert value["by_source"] == {"a": 3.0, "b": 1.0} and value["by_domain"] == {"chat": 3.0, "math": 1.0}
    assert value["prompts_by_source"] == {"a": 1, "b": 1}
    assert value["histogram"] == [4, 1, 0, 1]
    assert value["by_position"] == pytest.approx([2 / 6, 1 / 6, 1 / 6])
    assert value["tokens_per_second"] == 13.0 and value["plain_tokens_per_second"] == 6.5
    assert value["after_prompt"] == 20.0 and value["plain_after_prompt"] == 10.0
    assert value["tree"] == {} and value["prompt_lookup"] is None and value["sampled"] is None
    assert value["lossless"] is True and value["mismatches"] == 0
    json.dumps(value)


def test_a_changed_response_is_a_mismatch_with_its_place() -> None:
    report = summary([prompt("a", "chat", 7)], [Decoded((5, 6, 7), ())], [Decoded((5, 6, 8), (2,))])
    assert not report.lossless and report.mismatches == 1
    assert vars(report.mismatched[0]) == {
        "source": "a",
        "row_id": "a:7",
        "turn": 1,
        "position": 2,
        "plain": 7,
        "speculative": 8,
        "way": "chain",
    }


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


def test_every_way_is_measured_on_the_same_prompts(data_folder: Path, target_folder: Path, tmp_path: Path) -> None:
    settings = TrainSettings(block_size=BLOCK, mask_token_id=MASK, max_seconds=None, max_steps=60, conversations=8, anchors=4)
    train(data_folder, target_folder, tmp_path / "drafter", settings)

    def measure(limit: int, temperature: float = 1.5) -> EvaluationReport:
        measured = Measured(trees=(8, 2), prompt_lookup=True, temperature=temperature, seed=3)
        return evaluate(tmp_path / "drafter", target_folder, max_new_tokens=16, limit=limit, measured=measured)

    report = measure(8)
    value = report.to_json()
    json.dumps(value)
    assert value["lossless"] and list(value["tree"]) == ["2", "8"]
    assert value["other_than_transformers"] == 0 and value["transformers_after_prompt"] > 0
    assert value["tree"]["8"] >= value["acceptance_length"] > 1 and value["prompt_lookup"]["acceptance_length"] >= 1
    assert set(value["sampled"]["tree"]) == {"2", "8"} and value["sampled"]["temperature"] == 1.5
    assert sorted(seen["source"] for seen in value["seen_rounds"]) == ["even", "odd"]
    assert all(seen["way"] == "tree 8" and len(seen["round"]["nodes"]) == 8 for seen in value["seen_rounds"])
    again = measure(8)
    assert again.sampled is not None and report.sampled is not None
    assert again.sampled.chain.histogram == report.sampled.chain.histogram
    assert measure(2, 0.0).sampled is None


@pytest.mark.parametrize(
    "wrong", [{"trees": (0,)}, {"trees": (8, 100_000)}, {"temperature": -1.0}, {"temperature": float("nan")}, {"confidence": 1.0}]
)
def test_what_cannot_be_measured_is_refused_before_any_work(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Measured(**wrong)
