"""Where added tokens stand, whether their ids lie close together or at both ends of a vocabulary."""

import numpy as np
import pytest

from core.chat.markers import Markers


@pytest.mark.parametrize("added", [[], [990], [985, 987, 999], [0, 1, 999], [3, 500]])
def test_every_added_token_is_found(added):
    ids = np.random.default_rng(0).integers(0, 1000, 5000).astype(np.int32)
    found = Markers(added, 1000).places(ids)
    assert found.tolist() == [place for place, token in enumerate(ids.tolist()) if token in added]
    assert Markers(added, 1000).places(ids[:0]).tolist() == []
