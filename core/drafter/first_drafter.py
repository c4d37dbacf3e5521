"""The drafter a training begins with: its shape beside the target, the tokens it can say, drawn weights or those of an earlier drafter."""

import dataclasses
from pathlib import Path

import numpy as np
import torch

from core.drafter.checkpoint import DrafterUnusable, load_drafter, shape_for
from core.drafter.dataset import TokenizedRows
from core.drafter.first_weights import begin
from core.drafter.model import DraftModel
from core.drafter.settings import TrainSettings
from core.drafter.target import TargetModel
from core.tokens.vocabulary import draft_vocabulary


def first_drafter(rows: TokenizedRows, target: TargetModel, settings: TrainSettings) -> DraftModel:
    """The drafter that `settings` ask for; raises `BadSettings`, and `DrafterUnusable` for an earlier drafter of another shape."""
    shape = shape_for(target, settings)
    model = DraftModel(shape)
    begin(model, target, settings.seed, settings.beginning)
    if shape.draft_vocab_size is not None:
        ids, counts = np.unique(rows.ids[rows.mask], return_counts=True)
        frequencies = dict(zip(ids.tolist(), counts.tolist(), strict=True))
        vocabulary = draft_vocabulary(frequencies, shape.draft_vocab_size, shape.vocab_size)
        model.choose_vocabulary(torch.from_numpy(np.flatnonzero(vocabulary.t2d)), target.ends.head.weight)  # type: ignore[arg-type]
    if settings.warm_start is not None:
        _take_over(model, Path(settings.warm_start))
    return model


def _take_over(model: DraftModel, folder: Path) -> None:
    """Give the model the weights of the drafter in a folder; its vocabulary stays its own."""
    earlier = load_drafter(folder)
    free = {"draft_vocab_size", "block_size", "mask_token_id", "windows", "causal_windows"}
    for field in dataclasses.fields(model.shape):
        mine, theirs = getattr(model.shape, field.name), getattr(earlier.shape, field.name)
        if field.name not in free and mine != theirs:
            raise DrafterUnusable(f"{folder} has {field.name} {theirs}, this training {mine}: start from a drafter of the same shape.")
    weights = dict(earlier.named_parameters())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
