"""Datasets that were sealed with something wrong in them: hashes fit, rows do not."""

import numpy as np
import pyarrow as pa
import pytest

from core.tokens import Manifest, tokenize, verify
from core.tokens.frequencies import write_frequencies
from core.tokens.shards import read_shard, record_of


@pytest.fixture
def dataset(two_sources, recipe, tmp_path):
    out = tmp_path / "set"
    tokenize(two_sources, recipe, out)
    return out


def reseal(folder, name):
    manifest = Manifest.load(folder)
    manifest.files[name] |= record_of(folder / name).to_json()
    manifest.write(folder)


def change_first_shard(folder, change):
    name = Manifest.load(folder).shards[0]
    batches = list(read_shard(folder / name))
    table = change(pa.Table.from_batches(batches))
    with pa.OSFile(str(folder / "changed"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    (folder / "changed").replace(folder / name)
    reseal(folder, name)


def with_column(table, column, first):
    values = table[column].to_pylist()
    values[0] = first(values[0])
    place = table.schema.get_field_index(column)
    return table.set_column(place, table.schema.field(column), pa.array(values, table.schema.field(column).type))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: with_column(table, "input_ids", lambda ids: [*ids[:-1], 320]), "holds an id outside 0 to 319"),
        (lambda table: with_column(table, "input_ids", lambda ids: [-1, *ids[1:]]), "holds an id outside 0 to 319"),
        (lambda table: with_column(table, "input_ids", lambda ids: ids[:-1]), "input_ids and loss_mask differ in length"),
        (lambda table: with_column(table, "loss_mask", lambda mask: [False] * len(mask)), "has no supervised token"),
        (lambda table: with_column(table, "loss_mask", lambda mask: [not value for value in mask]), "trainable tokens, the manifest says"),
        (lambda table: with_column(table, "seq_len", lambda length: length + 1), "seq_len is not the number of tokens"),
        (lambda table: table.slice(1), "rows, the manifest says"),
        (lambda table: table.drop_columns(["source"]), "other names or types"),
    ],
)
def test_wrong_rows_are_found_under_right_hashes(dataset, change, said):
    change_first_shard(dataset, change)
    report = verify(dataset)
    assert not report.ok
    assert any(said in problem for problem in report.problems), report.problems


def test_other_ids_are_found_where_rows_can_be_made_again(dataset, two_sources):
    name = Manifest.load(dataset).shards[0]
    ids = pa.Table.from_batches(list(read_shard(dataset / name)))["input_ids"][0].as_py()
    swapped = [ids[1], ids[0], *ids[2:]]
    change_first_shard(dataset, lambda table: with_column(table, "input_ids", lambda _: swapped))
    assert verify(dataset).ok
    assert "does not come out as it was written" in verify(dataset, workspace=two_sources).problems[0]


def test_frequencies_are_counted_again(dataset):
    write_frequencies(dataset / "token_freq.pt", np.ones(320, np.int64))
    reseal(dataset, "token_freq.pt")
    assert any("token_freq.pt is not the count" in problem for problem in verify(dataset).problems)
