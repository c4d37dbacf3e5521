"""Single rows of a dataset and of its ledger, and what a trial says of a recipe."""

import datasets
import pytest

from core.mix import plan
from core.sources import Library
from core.tokens import Manifest, lost_rows, share_histogram, tokenize, trial, written_row
from core.tokens.target import load_target


def test_a_row_is_read_as_it_stands_in_the_files(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set", shard_size=37)
    rows = datasets.load_from_disk(str(tmp_path / "set")).with_format(None)
    for number in (0, 36, 37, len(rows) - 1):
        found, said = written_row(tmp_path / "set", number), rows[number]
        assert found.input_ids.tolist() == said["input_ids"] and found.loss_mask.tolist() == said["loss_mask"]
        assert (found.source, found.row_id) == (said["source"], said["row_id"])
    with pytest.raises(IndexError):
        written_row(tmp_path / "set", len(rows))


def test_what_was_left_out_is_counted_by_source_and_reason_with_rows_to_open(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    manifest = Manifest.load(tmp_path / "set")
    lost = lost_rows(tmp_path / "set", few=2)
    assert sum(one.count for one in lost if one.split == "train") == sum(manifest.sources["talks"]["dropped"].values())
    for one in lost:
        assert one.source == "talks" and len(one.first) == min(2, one.count)
        number = Library(two_sources).source("talks").number_of(one.first[0][0])
        assert number is not None and number % 10 == 0
    assert Library(two_sources).source("talks").number_of("talks:1000") is None


def test_trainable_shares_count_every_row(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    rows = datasets.load_from_disk(str(tmp_path / "set")).with_format(None)
    expected = [0] * 20
    for mask in rows["loss_mask"]:
        expected[min(19, sum(mask) * 20 // len(mask))] += 1
    assert list(share_histogram(tmp_path / "set")) == expected


def test_a_trial_expects_about_what_the_run_makes(two_sources, recipe, tmp_path):
    library = Library(two_sources)
    made = plan(recipe, library)
    expected = trial(library, recipe, made, load_target(recipe)).expected(made.total)
    manifest = tokenize(two_sources, recipe, tmp_path / "set").manifest
    assert expected.tokens == pytest.approx(manifest.tokens, rel=0.25)
    assert expected.rows == pytest.approx(manifest.rows, rel=0.25)
    assert expected.seconds > 0
