"""The samples that ship: each imports from its own raw shape, and nothing in it is lost without a reason."""

import json
from pathlib import Path

import pytest

from core.sources import Catalogue, import_source
from core.workspace import BUNDLED, Workspace

EXPECTED = BUNDLED / "sources" / "expected.json"
SAMPLES = json.loads(EXPECTED.read_bytes()) if EXPECTED.is_file() else {}


@pytest.mark.skipif(not SAMPLES, reason="no samples in this checkout")
@pytest.mark.parametrize("name", SAMPLES)
def test_every_row_of_a_sample_is_accounted_for_and_the_broken_ones_are_found(workspace: Workspace, name: str) -> None:
    folder = Catalogue.load(workspace).entry(name).bundled
    assert folder == BUNDLED / "sources" / name
    source = import_source(workspace, name, Path(folder))
    sample, ledger = SAMPLES[name], source.ledger
    assert ledger.raw_rows == sample["raw_rows"]
    ledger.check()
    ids = source.index()["row_id"].to_pylist()
    assert len(set(ids)) == len(ids) == ledger.kept + ledger.prompt_only
    assert source.warnings == ()
    assert source.problem is None
    refused = {row["position"] for row in source.quarantine_page(limit=1_000).rows}
    for planted in sample["planted"]:
        assert (planted["row"] in refused) == (planted["handling"] == "quarantine"), planted
    assert len(refused) == sum(planted["handling"] == "quarantine" for planted in sample["planted"])
