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
    near, exact = (sample_estimate(recipe, library, sample=count)("facts") for count in (20, 1000))
    assert near.sampled == 20
    assert near.tokens == pytest.approx(exact.tokens, rel=0.1)
    assert abs(near.tokens / exact.tokens - 1) <= 2 * near.tokens_error
    assert exact.tokens_error == 0


def test_a_missing_target_is_said_before_anything_is_measured(two_sources, recipe, tmp_path):
    nowhere = recipe.model_copy(update={"target": recipe.target.model_copy(update={"path": str(tmp_path / "nowhere")})})
    with pytest.raises(InputError, match="nowhere"):
        sample_estimate(nowhere, Library(two_sources))


@pytest.mark.parametrize("validation", [0.0, 0.2])
def test_after_it_was_tokenized_once_the_plan_is_exact(two_sources, recipe, tmp_path, validation):
    first = recipe.model_copy(update={"validation": validation, "budget": recipe.budget.model_copy(update={"amount": 60})})
    library = Library(two_sources)
    assert not any(part.exact for part in plan(first, library, sample_estimate(first, library, sample=5)).sources)
    tokenize(two_sources, first, tmp_path / "set")
    made = plan(first, library, sample_estimate(first, library))
    manifest = Manifest.load(tmp_path / "set")
    for name, source in manifest.sources.items():
        part = made.source(name)
        assert part.exact and part.tokens_error == 0
        assert (part.tokens, part.trainable_tokens) == (source["tokens"], source["trainable_tokens"])
    # Another supervision is another target for these figures.
    other = first.model_copy(update={"supervision": first.supervision.model_copy(update={"seq_length": 64})})
    assert not any(part.exact for part in plan(other, library, sample_estimate(other, library, sample=5)).sources)


def test_epochs_are_counted_once_and_known_figures_hold_for_them(two_sources, recipe, tmp_path):
    thrice = recipe.model_copy(
        update={"validation": 0.0, "sources": tuple(s.model_copy(update={"max_epochs": 2.5}) for s in recipe.sources)}
    )
    tokenize(two_sources, thrice, tmp_path / "set")
    library = Library(two_sources)
    made = plan(thrice, library, sample_estimate(thrice, library))
    assert made.tokens == Manifest.load(tmp_path / "set").tokens
    assert all(part.exact for part in made.sources)


def test_a_token_budget_gives_the_same_rows_whatever_was_known_before(two_sources, recipe, tmp_path):
    sources = tuple(source.model_copy(update={"unit": "trainable_tokens", "max_epochs": 3.0}) for source in recipe.sources)
    budget = recipe.budget.model_copy(update={"amount": 900, "unit": "trainable_tokens"})
    limited = recipe.model_copy(update={"sources": sources, "budget": budget})
    tokenize(two_sources, limited, tmp_path / "one")
    tokenize(two_sources, recipe, tmp_path / "all")  # now every row is known
    tokenize(two_sources, limited, tmp_path / "two")
    one, two = Manifest.load(tmp_path / "one"), Manifest.load(tmp_path / "two")
    assert one == two
    assert 900 - 60 < one.trainable_tokens <= 900
    assert one.trainable_tokens == sum(part["trainable_tokens"] for part in one.plan["sources"])
