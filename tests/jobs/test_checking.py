"""A check of rows as a run of its own: what it finds stands in the workspace afterwards."""

import json
import time

import pytest

from core.jobs import CheckJob, begin
from core.mix import Recipe, duplicate_groups, recipe_text, waiting_for
from core.runs import RunStore
from core.sources import Library, import_source
from core.workspace import BUNDLED_TARGET, Workspace


@pytest.fixture
def home(tmp_path):
    rows = [
        {"messages": [{"role": "user", "content": f"Number {row % 8}?"}, {"role": "assistant", "content": "Fine."}]} for row in range(12)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    import_source(Workspace(tmp_path / "home"), "a", tmp_path / "a.jsonl")
    return Workspace(tmp_path / "home")


def test_a_check_works_in_the_background_and_leaves_what_it_found(home):
    recipe = Recipe.model_validate(
        {
            "target": {"path": str(BUNDLED_TARGET)},
            "sources": [{"name": "a", "weight": 1}],
            "duplicates": {"exact": True},
            "filters": {"finish": ["complete"], "max_tokens": 1000},
        }
    )
    library = Library(home)
    assert waiting_for(recipe, library)
    job = CheckJob(home=home.home, recipe=recipe_text(recipe))
    first = begin(job)
    assert begin(job).id == first.id
    store = RunStore(home.runs)
    until = time.monotonic() + 180
    while (run := store.get(first.id)).active and time.monotonic() < until:
        time.sleep(0.2)
    assert run.state == "done", run.error or run.log()
    assert run.result == {
        "recipe": recipe.digest,
        "usable": {"a": 8},
        "removed": {"a": {"duplicates": 4}},
        "duplicates": 4,
        "matches": None,
    }
    assert not waiting_for(recipe, library, lambda source: True)
    assert duplicate_groups(recipe, library).rows == 8
