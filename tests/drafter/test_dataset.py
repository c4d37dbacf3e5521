"""Reading a tokenized dataset, also one that is shuffled, written in pieces, or not one at all."""

from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pytest

from core.drafter.dataset import DatasetUnusable, TokenizedRows

ROWS = [[5, 6, 7], [8], [9, 10], [11, 12, 13, 14]]
MASKS = [[False, True, True], [True], [False, False], [True, True, False, True]]


def saved(folder: Path, *, shuffled: bool = False, **columns: object) -> Path:
    table = {
        "input_ids": pa.array(ROWS, pa.list_(pa.int32())),
        "loss_mask": pa.array(MASKS, pa.list_(pa.bool_())),
        "source": pa.array(["a", "b", "a", "b"]).dictionary_encode(),
        "row_id": pa.array(["a:0", "b:0", "a:1", "b:1"]),
        **columns,
    }
    dataset = datasets.Dataset(pa.table({name: value for name, value in table.items() if value is not None}))
    (dataset.select([3, 0, 2]) if shuffled else dataset).save_to_disk(str(folder))
    return folder


def test_rows_come_back_with_their_masks_and_names(tmp_path: Path) -> None:
    rows = TokenizedRows.load(saved(tmp_path / "set"))
    assert [rows.row(n).tolist() for n in range(len(rows))] == ROWS
    assert rows.mask.tolist() == [bit for mask in MASKS for bit in mask]
    assert rows.sources == ("a", "b", "a", "b") and rows.row_ids[3] == "b:1" and rows.tokens == 10


def test_a_selection_is_read_in_its_own_order(tmp_path: Path) -> None:
    rows = TokenizedRows.load(saved(tmp_path / "set", shuffled=True))
    assert [rows.row(n).tolist() for n in range(len(rows))] == [ROWS[3], ROWS[0], ROWS[2]]
    assert rows.row_ids == ("b:1", "a:0", "a:1")


def test_integer_masks_and_missing_names_are_read(tmp_path: Path) -> None:
    masks = pa.array([[int(bit) for bit in mask] for mask in MASKS], pa.list_(pa.int64()))
    rows = TokenizedRows.load(saved(tmp_path / "set", loss_mask=masks, source=None, row_id=None))
    assert rows.mask.dtype == np.bool_ and rows.mask.sum() == 6
    assert rows.sources == ("all",) * 4 and rows.row_ids == ("0", "1", "2", "3")


def test_a_mask_of_another_length_is_refused(tmp_path: Path) -> None:
    masks = pa.array([MASKS[0], MASKS[1], [True], MASKS[3]], pa.list_(pa.bool_()))
    with pytest.raises(DatasetUnusable, match="row 2: 2 input_ids but 1"):
        TokenizedRows.load(saved(tmp_path / "set", loss_mask=masks))


def test_a_folder_without_a_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetUnusable, match=r"no state\.json"):
        TokenizedRows.load(tmp_path)
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(DatasetUnusable, match="cannot be opened"):
        TokenizedRows.load(tmp_path)


def test_a_dataset_without_a_mask_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetUnusable, match="no column loss_mask"):
        TokenizedRows.load(saved(tmp_path / "set", loss_mask=None))
