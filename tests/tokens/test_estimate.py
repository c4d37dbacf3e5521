import pytest

from core.errors import InputError
from core.mix import plan
from core.sources import Library
from core.tokens import Manifest, sample_estimate, tokenize


def test_the_estimate_of_a_whole_source_is_exact(two_sources, recipe, tmp_path):
    everything = recipe.model_copy(update={"validation": 0.0})
    library = Library(two_sources)
    made = plan(everything, library, sample_estimate(everything, library, sample=1000))
    tokenize(two_sources, everything, tmp_path / "set")
    for name, source in Manifest.load(tmp_path / "set").sources.items():
        assert (made.source(name).tokens, made.source(name).trainable_tokens) == (source["tokens"], source["trainable_tokens"])


def test_a_sample_comes_near(two_sources, recipe):
    library = Library(two_sources)
    exact, near = (sample_estimate(recipe, library, sample=count)("facts") for count in (1000, 20))
    assert near.sampled == 20
    assert near.tokens == pytest.approx(exact.tokens, rel=0.1)


def test_a_missing_target_is_said_before_anything_is_measured(two_sources, recipe, tmp_path):
    nowhere = recipe.model_copy(update={"target": recipe.target.model_copy(update={"path": str(tmp_path / "nowhere")})})
    with pytest.raises(InputError, match="nowhere"):
        sample_estimate(nowhere, Library(two_sources))
