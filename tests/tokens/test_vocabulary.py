import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.tokens import tokenize
from core.tokens.vocabulary import BadVocabularySize, dataset_vocabulary, draft_vocabulary


@given(st.dictionaries(st.integers(0, 39), st.integers(1, 9)), st.integers(1, 40))
def test_the_mappings_undo_each_other_and_no_left_out_id_is_more_frequent(frequencies, size):
    made = draft_vocabulary(frequencies, size, 40)
    kept = np.arange(size) + made.d2t
    assert np.flatnonzero(made.t2d).tolist() == kept.tolist()
    left = set(range(40)) - set(kept.tolist())
    assert min(frequencies.get(int(one), 0) for one in kept) >= max((frequencies.get(one, 0) for one in left), default=0)
    covered = sum(frequencies.get(int(one), 0) for one in kept)
    assert made.covered == pytest.approx(covered / sum(frequencies.values()) if frequencies else 0)


@pytest.mark.parametrize("size", [0, -1, 41])
def test_a_size_the_target_does_not_have_is_refused(size):
    with pytest.raises(BadVocabularySize):
        draft_vocabulary({1: 1}, size, 40)


def test_an_id_outside_the_target_is_refused():
    with pytest.raises(BadVocabularySize):
        draft_vocabulary({40: 1}, 3, 40)


def test_the_files_hold_what_a_trainer_reads(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    dataset_vocabulary(tmp_path / "set", 50).write(tmp_path / "draft")
    d2t, t2d = (np.load(tmp_path / "draft" / name) for name in ("d2t.npy", "t2d.npy"))
    assert (d2t.dtype, d2t.shape, t2d.dtype, t2d.shape) == (np.int64, (50,), np.bool_, (320,))
