import numpy as np
import pytest
import torch

from core.tokens import coverage, frequencies, read_frequencies
from core.tokens.frequencies import FrequenciesUnreadable, SupervisedCounts, write_frequencies


def test_torch_reads_what_is_written_and_the_other_way_round(tmp_path):
    counts = np.zeros(200_000, np.int64)
    counts[[0, 7, 199_999]] = [1, 2**40, 3]
    write_frequencies(tmp_path / "a.pt", counts)
    assert torch.load(tmp_path / "a.pt", weights_only=True) == {0: 1, 7: 2**40, 199_999: 3}
    torch.save({5: 2}, tmp_path / "b.pt")
    assert read_frequencies(tmp_path / "b.pt") == {5: 2}
    assert read_frequencies(tmp_path / "a.pt")[7] == 2**40


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no", b"\x80\x02}."])
def test_what_is_no_frequencies_is_said(tmp_path, content):
    (tmp_path / "a.pt").write_bytes(content)
    with pytest.raises(FrequenciesUnreadable, match=r"a\.pt"):
        read_frequencies(tmp_path / "a.pt")


def test_a_pickle_that_would_run_code_is_refused(tmp_path):
    torch.save({1: print}, tmp_path / "a.pt")
    with pytest.raises(FrequenciesUnreadable):
        read_frequencies(tmp_path / "a.pt")


def test_coverage_is_the_share_of_the_most_frequent():
    assert coverage({1: 5, 2: 3, 9: 2}, [0, 1, 2, 3, 100]) == [0.0, 0.5, 0.8, 1.0, 1.0]
    assert coverage({}, [10]) == [0.0]


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_supervised_tokens_are_counted_whatever_is_counted_at_once(at_once, monkeypatch):
    monkeypatch.setattr(frequencies, "_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    batches = [(rng.integers(0, 9, size).astype(np.int32), rng.random(size) < 0.5) for size in (5, 0, 1, 40, 3)]
    counted = SupervisedCounts(9)
    for number, (ids, mask) in enumerate(batches, 1):
        counted.add(ids, mask)
        if number == 2:
            assert counted.counts.sum() == sum(mask.sum() for _, mask in batches[:2])  # looking does not count anything twice
    kept = [token for ids, mask in batches for token in ids[mask].tolist()]
    assert counted.counts.tolist() == [kept.count(token) for token in range(9)]
