"""What a drafter in training would get accepted on rows kept out of it, by source. It knows nothing about optimizers or files."""

from functools import partial

import torch
import xxhash

from core.drafter.accuracy import SlotCounts
from core.drafter.batches import AnchorBatches, Batch
from core.drafter.dataset import TokenizedRows
from core.drafter.gradients import draft
from core.drafter.lanes import Lanes
from core.drafter.model import DraftModel
from core.drafter.settings import TrainSettings
from core.drafter.target import TargetEnds

ALL = "all"
"""The name under which all sources together are reported."""


def validation_rows(rows: TokenizedRows, settings: TrainSettings) -> set[int]:
    """Rows kept out of training: whole conversations, chosen by hash so that nothing else changes them."""
    wanted = min(settings.validation_rows, len(rows) // 20)
    ranked = sorted(range(len(rows)), key=lambda row: (xxhash.xxh3_64_intdigest(rows.row_ids[row].encode(), settings.seed), row))
    chosen = {rows.row_ids[row] for row in ranked[:wanted]}
    return {row for row in ranked if rows.row_ids[row] in chosen} if wanted else set()


def validate(model: DraftModel, ends: TargetEnds, batches: AnchorBatches, rows: TokenizedRows, lanes: Lanes) -> dict[str, float]:
    """Estimated acceptance length of the batches' rows by source, and over `ALL`; a block counts once."""
    found: dict[str, list[SlotCounts]] = {}
    for counted in lanes.map(partial(_counts_by_row, model, ends), batches.in_order()):
        for row, counts in counted:
            found.setdefault(rows.sources[row], []).append(counts)
    by_source = {source: SlotCounts.total(counts).acceptance for source, counts in sorted(found.items())}
    return {ALL: SlotCounts.total(counts for part in found.values() for counts in part).acceptance, **by_source}


@torch.no_grad()
def _counts_by_row(model: DraftModel, ends: TargetEnds, batch: Batch) -> list[tuple[int, SlotCounts]]:
    """Each row of a batch with its own counts."""
    batch = batch.to(model.fc.weight.device)
    said = draft(model, ends, batch).argmax(-1)
    each = torch.split(said if model.said is None else model.said[said], batch.valid.flatten(1).sum(1).tolist())
    return [(row, SlotCounts.of(each[place], batch.choices[place], batch.valid[place])) for place, row in enumerate(batch.rows)]
