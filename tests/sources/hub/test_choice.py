"""Which files a config and split are."""

import pytest

from core.sources import HubReference
from core.sources.hub.choice import NoSuchPart, chosen_files

SHARDED = ["README.md", "data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet", "data/test-00000-of-00001.parquet"]
ULTRACHAT = [f"data/{split}-00000-of-00001-a1b2c3.parquet" for split in ("train_sft", "train_gen", "test_sft")]
HERMES = {
    "config_name": "func_calling",
    "data_files": [{"split": "train", "path": "func-calling.json"}],
}
HERMES_JSON = {"config_name": "json_mode", "data_files": [{"split": "train", "path": "json-mode.json"}]}
HERMES_FILES = ["func-calling.json", "json-mode.json", "README.md"]


def chosen(paths: list[str], configs: list[dict] | None = None, **part: object) -> tuple[str, ...]:
    return chosen_files(paths, configs or [], HubReference("o/n", **part))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("paths", "part", "wanted"),
    [
        (SHARDED, {}, SHARDED[1:3]),
        (SHARDED, {"split": "test"}, SHARDED[3:]),
        (ULTRACHAT, {"split": "train_sft"}, ULTRACHAT[:1]),
        (
            ["data/train.raw-00000-of-00001.parquet", "data/train.success-00000-of-00001.parquet"],
            {"split": "train.raw"},
            ["data/train.raw-00000-of-00001.parquet"],
        ),
        (["train.jsonl", "test.jsonl", "dev.jsonl"], {}, ["train.jsonl"]),
        (["train.jsonl", "test.jsonl", "dev.jsonl"], {"split": "validation"}, ["dev.jsonl"]),
        (["train_sft.jsonl", "train_gen.jsonl"], {"split": "train_sft"}, ["train_sft.jsonl"]),
        (["glaive.json", "README.md", "dataset_infos.json", ".gitattributes"], {"split": "train"}, ["glaive.json"]),
        (["a/one.jsonl", "b/two.jsonl"], {}, ["a/one.jsonl", "b/two.jsonl"]),
        (["1M.parquet", "3M.parquet"], {"split": "train"}, ["1M.parquet", "3M.parquet"]),
        (
            ["main/train-00000-of-00001.parquet", "socratic/train-00000-of-00001.parquet"],
            {"config": "socratic"},
            ["socratic/train-00000-of-00001.parquet"],
        ),
        (["a.json", "b.json", "c.bin"], {"files": ("b.json",)}, ["b.json"]),
        (["sessions.parquet"], {"config": "default", "split": "train"}, ["sessions.parquet"]),
    ],
)
def test_names_tell_splits_apart(paths: list[str], part: dict, wanted: list[str]) -> None:
    assert chosen(paths, **part) == tuple(wanted)


@pytest.mark.parametrize(
    ("data_files", "split", "wanted"),
    [
        ("data/*.jsonl", None, ["data/a.jsonl", "data/b.jsonl"]),
        (["data/a.jsonl", "x.jsonl"], "train", ["data/a.jsonl", "x.jsonl"]),
        ([{"split": "train", "path": "data/a.jsonl"}, {"split": "odd", "path": ["x.jsonl"]}], "odd", ["x.jsonl"]),
        ([{"split": "train", "path": "**/*.jsonl"}], None, ["data/a.jsonl", "data/b.jsonl", "data/deep/c.jsonl", "x.jsonl"]),
        ([{"split": "train", "path": "data"}], None, ["data/a.jsonl", "data/b.jsonl", "data/deep/c.jsonl"]),
        ({"odd": "x.jsonl"}, None, ["x.jsonl"]),
    ],
)
def test_the_card_says_what_a_split_is(data_files: object, split: str | None, wanted: list[str]) -> None:
    paths = ["data/a.jsonl", "data/b.jsonl", "data/deep/c.jsonl", "x.jsonl"]
    assert chosen(paths, [{"config_name": "default", "data_files": data_files}], split=split) == tuple(wanted)


def test_a_config_is_chosen_by_name_by_default_or_because_it_is_the_only_one() -> None:
    assert chosen(HERMES_FILES, [HERMES, HERMES_JSON], config="json_mode") == ("json-mode.json",)
    assert chosen(HERMES_FILES, [HERMES, {**HERMES_JSON, "default": True}]) == ("json-mode.json",)
    assert chosen(HERMES_FILES, [HERMES]) == ("func-calling.json",)
    assert chosen(
        ["a/train.csv", "b/train.csv"], [{"config_name": "a", "data_dir": "a"}, {"config_name": "b", "data_dir": "b"}], config="b"
    ) == ("b/train.csv",)


@pytest.mark.parametrize(
    ("paths", "configs", "part", "message"),
    [
        (HERMES_FILES, [HERMES, HERMES_JSON], {}, "several configs: choose one with --config, of func_calling, json_mode"),
        (HERMES_FILES, [HERMES, HERMES_JSON], {"config": "x"}, "no config 'x': choose one of func_calling, json_mode"),
        (HERMES_FILES, [HERMES], {"split": "test"}, "no such split: choose one of train"),
        (ULTRACHAT, [], {}, "several splits: choose one with --split, of test_sft, train_gen, train_sft"),
        (ULTRACHAT, [], {"split": "train"}, "no such split"),
        (["a.json"], [], {"split": "test"}, "no file name tells splits apart"),
        (["a.json"], [], {"files": ("b.json",)}, "no file 'b.json': it has a.json"),
        (["a.json", "b.csv"], [], {}, "mixes files of several kinds: name those you want with --file, of a.json, b.csv"),
        (["data.zip", "README.md"], [], {}, "no file that can be read"),
        (["a.json"], [{"config_name": "default", "data_files": "gone/*.json"}], {}, "names gone/\\*.json, but no such file is there"),
        (["a/x.json", "b/x.json"], [], {"config": "c"}, "no config 'c': its folders are a, b"),
    ],
)
def test_what_is_not_there_is_said_with_what_there_is(paths: list[str], configs: list[dict], part: dict, message: str) -> None:
    with pytest.raises(NoSuchPart, match=message):
        chosen(paths, configs, **part)
