import numpy as np

from core.tokens import Manifest, length_histogram, tokenize
from core.tokens.lengths import histogram


def test_the_histogram_counts_every_row_once():
    found = histogram(np.array([1, 5, 5, 99, 100]), bins=10)
    assert sum(found.counts) == 5
    assert len(found.edges) == len(found.counts) + 1
    assert (found.longest, found.median) == (100, 5)
    assert found.counts[0] == 3
    assert histogram(np.zeros(0, np.int64)).counts == (0,)


def test_the_lengths_of_a_dataset_are_those_of_its_rows(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    found = length_histogram(tmp_path / "set")
    assert sum(found.counts) == Manifest.load(tmp_path / "set").rows
    assert 0 < found.median <= found.longest <= 256
