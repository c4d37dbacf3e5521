import json
from dataclasses import replace
from pathlib import Path

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from core.chat import DegenerateMask, FastPath, supervise
from core.chat.fast_rows import BatchRows
from core.errors import InputError
from core.mix import EmptyLibrary, Recipe, plan, select
from core.sources import Library, SourceMissing
from core.tokens import Manifest, tokenize, verify
from core.tokens.assemble import NothingToTrain
from core.tokens.staging import OutputBusy, OutputExists, OutputUnwritable, partial_folder, staged
from core.tokens.target import VocabularyMismatch
from core.watch import Cancelled, Unwatched


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Stopping(Unwatched):
    """Cancels once `after` conversations are through."""

    def __init__(self, after: int):
        self.after, self.done = after, 0

    def progress(self, progress):
        if progress.phase == "tokenize":
            self.done = progress.done

    def cancelled(self):
        return self.done >= self.after


def test_a_dataset_accounts_for_every_conversation(two_sources, recipe, tmp_path):
    report = tokenize(two_sources, recipe, tmp_path / "set")
    value = report.to_json()
    json.dumps(value)
    manifest = Manifest.load(tmp_path / "set")
    assert value["verified"]
    assert manifest.conversations + manifest.heldout["conversations"] == 300
    for source in manifest.sources.values():
        assert source["conversations"] == source["kept"] + sum(source["dropped"].values())
    assert manifest.heldout["conversations"] == manifest.heldout["prompts"] + sum(manifest.heldout["dropped"].values())
    ledger = pq.read_table(tmp_path / "set" / "dropped.parquet").to_pylist()
    assert 0 < len(ledger) <= 10
    assert len(ledger) == sum(value["dropped"].values()) + sum(manifest.heldout["dropped"].values())
    assert all(entry["source"] == "talks" and entry["detail"] == "This word cannot be said." for entry in ledger)
    assert value["rows"] == manifest.rows == sum(source["rows"] for source in manifest.sources.values())


def test_datasets_and_torch_open_it(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    manifest = Manifest.load(tmp_path / "set")
    rows = datasets.load_from_disk(str(tmp_path / "set"))
    assert len(rows) == manifest.rows
    assert rows.features["input_ids"] == datasets.List(datasets.Value("int32"))
    assert rows.features["loss_mask"] == datasets.List(datasets.Value("bool"))
    assert set(rows[0]) == {"input_ids", "loss_mask", "seq_len"}
    assert all(isinstance(value, torch.Tensor) for value in rows[0].values())
    counted: dict[int, int] = {}
    for row in rows.with_format("numpy"):
        assert row["seq_len"] == len(row["input_ids"]) == len(row["loss_mask"]) <= 256
        for token in row["input_ids"][row["loss_mask"]]:
            counted[int(token)] = counted.get(int(token), 0) + 1
    assert torch.load(tmp_path / "set" / "token_freq.pt", weights_only=True) == counted
    assert set(rows.with_format(None)["source"]) == {"facts", "talks"}
    first = rows.with_format(None)[0]
    assert first["row_id"].startswith(first["source"] + ":")


def test_rows_stand_in_the_order_of_the_selection(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    library = Library(two_sources)
    order = select(recipe, plan(recipe, library), library).row_id.to_pylist()
    written = datasets.load_from_disk(str(tmp_path / "set")).with_format(None)["row_id"]
    unique = list(dict.fromkeys(written))
    assert unique == [row_id for row_id in order if row_id in set(unique)]


@pytest.mark.parametrize("shard_size", [None, 37])
def test_the_bytes_do_not_depend_on_the_number_of_workers(two_sources, recipe, tmp_path, shard_size):
    tokenize(two_sources, recipe, tmp_path / "one", shard_size=shard_size)
    tokenize(two_sources, recipe, tmp_path / "two", workers=2, shard_size=shard_size)
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_held_out_prompts_fit_and_no_training_row_begins_with_one(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    prompts = pq.read_table(tmp_path / "set" / "heldout.parquet").to_pylist()
    assert len(prompts) > 10
    rows = [bytes(np.asarray(row["input_ids"], np.int32)) for row in datasets.load_from_disk(str(tmp_path / "set")).with_format("numpy")]
    for prompt in prompts:
        assert prompt["domain"] == "chat"
        assert 0 < len(prompt["prompt_ids"]) <= 256 - 64
        start = bytes(np.asarray(prompt["prompt_ids"], np.int32))
        assert not any(row.startswith(start) for row in rows)


@pytest.mark.parametrize("workers", [1, 2])
def test_cancelling_leaves_nothing_under_the_name_and_resuming_gives_the_same_bytes(two_sources, recipe, tmp_path, workers):
    with pytest.raises(Cancelled):
        tokenize(two_sources, recipe, tmp_path / "set", workers=workers, watcher=Stopping(130))
    assert not (tmp_path / "set").exists()
    assert partial_folder(tmp_path / "set").is_dir()
    report = tokenize(two_sources, recipe, tmp_path / "set", resume=True)
    assert report.resumed_units >= 1
    assert not partial_folder(tmp_path / "set").exists()
    tokenize(two_sources, recipe, tmp_path / "other")
    assert content(tmp_path / "set") == content(tmp_path / "other")


def test_another_recipe_does_not_resume_what_was_left(two_sources, recipe, tmp_path):
    with pytest.raises(Cancelled):
        tokenize(two_sources, recipe, tmp_path / "set", watcher=Stopping(130))
    other = recipe.model_copy(update={"seed": 5})
    assert tokenize(two_sources, other, tmp_path / "set", resume=True).resumed_units == 0
    with pytest.raises(Cancelled):
        tokenize(two_sources, recipe, tmp_path / "again", watcher=Stopping(130))
    assert tokenize(two_sources, recipe, tmp_path / "again").resumed_units == 0


def test_overwrite_replaces_only_a_dataset_of_ours(two_sources, recipe, tmp_path):
    out = tmp_path / "set"
    tokenize(two_sources, recipe, out)
    before = content(out)
    with pytest.raises(OutputExists, match="--overwrite"):
        tokenize(two_sources, recipe, out)
    with pytest.raises(Cancelled):
        tokenize(two_sources, recipe.model_copy(update={"seed": 1}), out, overwrite=True, watcher=Stopping(100))
    assert content(out) == before
    tokenize(two_sources, recipe.model_copy(update={"seed": 1}), out, overwrite=True)
    assert content(out) != before
    assert sorted(path.name for path in tmp_path.iterdir() if "set" in path.name) == ["set"]
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "thesis.txt").write_text("important")
    with pytest.raises(OutputExists, match="not a dataset made by Mixdown"):
        tokenize(two_sources, recipe, theirs, overwrite=True)
    assert (theirs / "thesis.txt").read_text() == "important"


def test_a_kill_between_the_two_renames_of_an_overwrite_is_repaired(two_sources, recipe, tmp_path):
    out = tmp_path / "set"
    tokenize(two_sources, recipe, out)
    out.rename(tmp_path / ".set.replaced")
    with pytest.raises(OutputExists):
        tokenize(two_sources, recipe, out)
    assert verify(out).ok


def test_two_runs_do_not_write_one_output(two_sources, recipe, tmp_path):
    with staged(tmp_path / "set", "other", overwrite=False, resume=False), pytest.raises(OutputBusy):
        tokenize(two_sources, recipe, tmp_path / "set")


def test_an_output_that_cannot_be_made_is_one_sentence(two_sources, recipe, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputUnwritable, match="file"):
        tokenize(two_sources, recipe, tmp_path / "file" / "set")
    for path in (Path("/proc/nowhere/set"), tmp_path / ("x" * 250), tmp_path / ("x" * 300)):
        with pytest.raises(OutputUnwritable):
            tokenize(two_sources, recipe, path)


def test_bad_input_is_named_and_nothing_is_written(two_sources, recipe, tmp_path, target, workspace):
    def change(**changes) -> Recipe:
        return Recipe.model_validate(recipe.model_dump() | changes)

    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "tokenizer.json").write_bytes((target / "tokenizer.json").read_bytes())
    small = tmp_path / "small"
    small.mkdir()
    for file in target.iterdir():
        (small / file.name).write_bytes(file.read_bytes())
    (small / "config.json").write_text('{"vocab_size": 100}')
    with pytest.raises(SourceMissing):
        tokenize(two_sources, change(sources=[{"name": "nowhere", "weight": 1}]), tmp_path / "set")
    with pytest.raises(InputError):
        tokenize(two_sources, change(target={"path": str(tmp_path / "nowhere")}), tmp_path / "set")
    with pytest.raises(InputError, match="template"):
        tokenize(two_sources, change(target={"path": str(bare)}), tmp_path / "set")
    with pytest.raises(VocabularyMismatch, match="100 embeddings"):
        tokenize(two_sources, change(target={"path": str(small)}), tmp_path / "set")
    with pytest.raises(EmptyLibrary):
        tokenize(replace(workspace, home=tmp_path / "empty"), recipe, tmp_path / "set")
    assert not [path for path in tmp_path.iterdir() if "set" in path.name]


def test_a_source_of_which_nothing_is_left_is_an_error_with_its_reasons(two_sources, add_source, conversation_row, recipe, tmp_path):
    refused = [conversation_row(("user", f"forbidden {n}"), ("assistant", "a")) for n in range(20)]
    add_source("late", refused)
    wanted = Recipe.model_validate(recipe.model_dump() | {"sources": [{"name": "facts", "weight": 1}, {"name": "late", "weight": 1}]})
    with pytest.raises(NothingToTrain, match=r"Not one of the \d+ conversations of late .*refused"):
        tokenize(two_sources, wanted, tmp_path / "set")
    assert not [path for path in tmp_path.iterdir() if "set" in path.name]


def test_the_fast_and_the_slow_path_give_the_same_bytes(two_sources, recipe, tmp_path, monkeypatch):
    fast = tokenize(two_sources, recipe, tmp_path / "fast").to_json()
    assert fast["paths"]["fast"] > fast["paths"]["slow"] > 0
    assert (fast["renderer"], fast["encoder"], fast["fallbacks"]) == ("minijinja", "fastokens", [])
    monkeypatch.setattr(
        FastPath, "supervise_batch", lambda self, batch: [supervise(one.conversation, self.target, self.supervision) for one in batch]
    )
    tokenize(two_sources, recipe, tmp_path / "slow", encoder="hf")
    assert content(tmp_path / "fast") == content(tmp_path / "slow")


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_size_of_a_batch_of_the_fast_path_changes_no_byte(two_sources, recipe, tmp_path, monkeypatch, size):
    tokenize(two_sources, recipe, tmp_path / "set")
    monkeypatch.setattr("core.tokens.units.BATCH", size)
    tokenize(two_sources, recipe, tmp_path / "other")
    assert content(tmp_path / "set") == content(tmp_path / "other")


class Wrong:
    """A fast path that makes one token too many trainable, from its conversation number `start` on (in each process)."""

    def __init__(self, monkeypatch, start: int):
        self.rows, self.start = 0, start
        right = BatchRows.supervised

        def rows(batch, *arguments):
            made = right(batch, *arguments)
            self.rows += 1
            if made is not None and made.rows and self.rows > self.start:
                made.rows[-1].loss_mask[0] = True
            return made

        monkeypatch.setattr(BatchRows, "supervised", rows)


@pytest.mark.parametrize("start", [0, 40])
def test_a_fast_path_caught_on_a_wrong_row_leaves_none_behind(two_sources, recipe, tmp_path, monkeypatch, start):
    tokenize(two_sources, recipe, tmp_path / "right")
    with monkeypatch.context() as patch:
        patch.setattr("core.tokens.units.BATCH", 16)
        Wrong(patch, start)
        report = tokenize(two_sources, recipe, tmp_path / "set").to_json()
    assert content(tmp_path / "set") == content(tmp_path / "right")
    if start:
        assert report["paths"]["fast"] == 0
        assert "another row than the slow one" in report["fallbacks"][0]


def test_wrong_rows_that_only_the_verification_finds_are_made_again(two_sources, recipe, tmp_path, monkeypatch):
    tokenize(two_sources, recipe, tmp_path / "right")
    with monkeypatch.context() as patch:
        patch.setattr("core.chat.fast.EVERY", 10**9)
        Wrong(patch, 40)
        report = tokenize(two_sources, recipe, tmp_path / "set").to_json()
    assert report["paths"]["fast"] == 0
    assert "sample of the finished rows" in report["fallbacks"][0]
    assert content(tmp_path / "set") == content(tmp_path / "right")


def test_a_run_stopped_after_a_wrong_row_resumes_without_the_fast_path(two_sources, recipe, tmp_path, monkeypatch):
    tokenize(two_sources, recipe, tmp_path / "right")

    class Late(Unwatched):
        latest, back = 0, False

        def progress(self, progress):
            self.back = self.back or (progress.phase == "tokenize" and progress.done < self.latest)
            self.latest = progress.done

        def cancelled(self):
            return self.back

    with monkeypatch.context() as patch, pytest.raises(Cancelled):
        patch.setattr("core.tokens.units.BATCH", 16)
        Wrong(patch, 40)
        tokenize(two_sources, recipe, tmp_path / "set", watcher=Late())
    report = tokenize(two_sources, recipe, tmp_path / "set", resume=True).to_json()
    assert report["paths"]["fast"] == 0
    assert content(tmp_path / "set") == content(tmp_path / "right")


def test_a_source_trained_on_whole_is_an_error(two_sources, recipe, tmp_path, monkeypatch):
    def everything(path, batch):
        made = [supervise(one.conversation, path.target, path.supervision) for one in batch]
        for one in made:
            for row in one.rows:
                row.loss_mask[:] = True
        return made

    monkeypatch.setattr(FastPath, "supervise_batch", everything)
    with pytest.raises(DegenerateMask, match="Every token of facts is trained on"):
        tokenize(two_sources, recipe, tmp_path / "set")
    assert not [path for path in tmp_path.iterdir() if "set" in path.name]


def test_the_progress_says_of_every_source_what_became_of_it(two_sources, recipe, tmp_path):
    seen = []

    class Seeing(Unwatched):
        def progress(self, progress):
            if progress.phase == "tokenize":
                seen.append(progress)

    tokenize(two_sources, recipe, tmp_path / "set", watcher=Seeing())
    manifest = Manifest.load(tmp_path / "set")
    last = seen[-1]
    assert set(last.sources) == set(manifest.sources)
    for name, said in manifest.sources.items():
        figures = last.sources[name]
        assert {key: figures[key] for key in ("conversations", "kept", "rows", "tokens", "heldout")} == {
            key: said[key] for key in ("conversations", "kept", "rows", "tokens", "heldout")
        }
        assert {key: count for key, count in figures.items() if key.startswith("dropped: ")} == {
            f"dropped: {reason}": count for reason, count in said["dropped"].items()
        }
    assert last.counts["rows"] == manifest.rows
    assert last.counts["rows_per_second"] > 0 < last.counts["tokens_per_second"]
    assert last.done == last.total == 300


def test_the_progress_counts_conversations_that_the_import_repaired(workspace, add_source, conversation_row, recipe, tmp_path):
    rows = [conversation_row(("user", f"what is {n}?"), ("assistant", f"it is {n}")) for n in range(40)]
    for row in rows[:10]:
        row["messages"].insert(0, {"role": "assistant", "content": ""})
    add_source("facts", rows)
    one = Recipe.model_validate(recipe.model_dump() | {"sources": [{"name": "facts", "weight": 1}], "validation": 0.0})
    seen = []

    class Seeing(Unwatched):
        def progress(self, progress):
            seen.append(progress)

    tokenize(workspace, one, tmp_path / "set", watcher=Seeing())
    last = [progress for progress in seen if progress.phase == "tokenize"][-1]
    table = Library(workspace).source("facts").index()
    assert last.sources["facts"]["repaired"] == sum(bool(codes) for codes in table["repairs"].to_pylist()) > 0


def test_the_size_of_a_shard_is_a_choice_that_changes_no_row(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    tokenize(two_sources, recipe, tmp_path / "small", shard_size=50)
    one, other = (datasets.load_from_disk(str(tmp_path / name)).with_format(None) for name in ("set", "small"))
    assert one.to_list() == other.to_list()
    manifest = Manifest.load(tmp_path / "small")
    assert len(manifest.shards) == -(-manifest.conversations // 50) > len(Manifest.load(tmp_path / "set").shards)
