"""What a source's conversations become in tokens, measured on a few of them, before anything is tokenized.

It samples through the recipe's own template and supervision; it does not know plans.
"""

from collections.abc import Callable

from core.chat import supervise
from core.mix import Recipe, TokenEstimate, first_ranked
from core.sources import Library
from core.tokens.target import load_target, supervision_of

SAMPLE = 48
"""Conversations per source: the mean length is then good to about 10 %, and twenty sources take a few seconds."""


def sample_estimate(recipe: Recipe, library: Library, sample: int = SAMPLE) -> Callable[[str], TokenEstimate | None]:
    """A function from a source's name to its mean tokens per kept conversation; None for a source without rows.

    The sample is what a mix with the recipe's seed picks first. Raises the errors of `Target.load`.
    """
    target, supervision = load_target(recipe), supervision_of(recipe)
    known: dict[str, TokenEstimate | None] = {}

    def measure(name: str) -> TokenEstimate | None:
        source = library.source(name)
        chosen = first_ranked(source, recipe.seed, sample)
        if not chosen:
            return None
        made = [supervise(conversation, target, supervision).rows for conversation in source.conversations(chosen)]
        return TokenEstimate(
            tokens=sum(len(row.input_ids) for rows in made for row in rows) / len(chosen),
            trainable_tokens=sum(int(row.loss_mask.sum()) for rows in made for row in rows) / len(chosen),
            training_rows=sum(map(len, made)) / len(chosen),
            sampled=len(chosen),
        )

    def estimate(name: str) -> TokenEstimate | None:
        if name not in known:
            known[name] = measure(name)
        return known[name]

    return estimate
