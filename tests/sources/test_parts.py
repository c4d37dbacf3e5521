"""Numbered Arrow files."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.sources import parts
from core.sources.parts import DamagedLibrary, Group, Parts, PartWriter

NUMBERS = Group("numbers", pa.schema([("n", pa.int64())]))
TEXTS = Group("texts", pa.schema([("t", pa.string())]), compressed=True)


def written(folder: Path, count: int, size: int = 10) -> None:
    writer = PartWriter(folder, (NUMBERS, TEXTS))
    for number in range(count):
        writer.append({"n": number, "t": f"text {number}"}, size)
        if writer.full:
            writer.finish_part()
    writer.finish_part()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(count=st.integers(0, 40), batch=st.integers(1, 7), part=st.integers(1, 15), size=st.integers(1, 60))
def test_every_row_is_found_by_its_number_whatever_the_sizes_of_batches_and_parts(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, count: int, batch: int, part: int, size: int
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    monkeypatch.setattr(parts, "BATCH_ROWS", batch)
    monkeypatch.setattr(parts, "BATCH_BYTES", 100)
    monkeypatch.setattr(parts, "PART_ROWS", part)
    written(folder, count, size)
    numbers = Parts(folder, NUMBERS)
    texts = Parts(folder, TEXTS, numbers.sizes)
    assert (len(numbers), len(texts)) == (count, count)
    assert numbers.table().column("n").to_pylist() == list(range(count))
    for number in reversed(range(count)):
        assert (numbers.row(number)["n"], texts.row(number)["t"]) == (number, f"text {number}")
    for outside in (-1, count):
        with pytest.raises(IndexError):
            numbers.row(outside)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]))), max_size=30), batch=st.integers(1, 7))
def test_texts_are_the_values_as_utf_8_and_none_for_null(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, values: list[str | None], batch: int
) -> None:
    folder, plain = tmp_path_factory.mktemp("parts"), Group("plain", pa.schema([("t", pa.string())]))
    monkeypatch.setattr(parts, "BATCH_ROWS", batch)
    writer = PartWriter(folder, (plain,))
    for value in values:
        writer.append({"t": value}, 10)
    writer.finish_part()
    found = Parts(folder, plain)
    order = [*reversed(range(len(values))), *range(0, len(values), 3)]
    assert found.texts(["t"], order) == [[None if values[number] is None else values[number].encode() for number in order]]  # type: ignore[union-attr]
    assert found.values("t", order) == [values[number] for number in order]
    for outside in (-1, len(values)):
        with pytest.raises(IndexError):
            found.texts(["t"], [outside])


def test_a_part_that_is_cut_short_is_damage(tmp_path: Path) -> None:
    written(tmp_path, 10)
    file = tmp_path / "numbers" / "part-00000.arrow"
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(DamagedLibrary, match="import the source again"):
        Parts(tmp_path, NUMBERS)


def test_parts_of_another_layout_are_damage(tmp_path: Path) -> None:
    written(tmp_path, 10)
    with pytest.raises(DamagedLibrary, match="another layout"):
        Parts(tmp_path, Group("numbers", pa.schema([("other", pa.int64())])))


def test_reading_a_mapped_table_allocates_nothing(tmp_path: Path) -> None:
    written(tmp_path, 50_000)
    before = pa.total_allocated_bytes()
    table = Parts(tmp_path, NUMBERS).table()
    assert pa.total_allocated_bytes() - before < 10_000
    assert table.nbytes >= 400_000
