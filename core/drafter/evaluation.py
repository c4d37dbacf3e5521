"""Measures a drafter for real: speculative decoding of held-out prompts, checked token by token against plain greedy decoding."""

import time
from collections.abc import Sequence
from pathlib import Path

from core.drafter.checkpoint import check_fits, load_drafter, read_state
from core.drafter.decode import ChainDrafter, decode_plain, decode_speculative
from core.drafter.heldout import HeldOut, NoPrompts, load_heldout, spread
from core.drafter.lanes import threads_for_one_token
from core.drafter.report import EvaluationReport, summarize
from core.drafter.target import TargetModel
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled


def evaluate(
    drafter: Path,
    target: Path,
    prompts: Sequence[HeldOut] | None = None,
    *,
    max_new_tokens: int = 96,
    limit: int | None = None,
    untrained: bool = False,
    watcher: Watcher | None = None,
) -> EvaluationReport:
    """The acceptance length of a drafter on `prompts` (default: the `heldout.parquet` in its folder), at most `limit` of them.

    With `untrained` the drafter's weights are drawn anew first, as its training began. Prompts without room for a response in
    the target's context are left out. Raises `DrafterUnusable`, `TargetUnusable`, `NoPrompts`, and `Cancelled`.
    """
    watcher = watcher or Unwatched()
    model = load_drafter(drafter)
    verifier = TargetModel.load(target)
    check_fits(model, drafter, verifier)
    if untrained:
        model.reset(int(read_state(drafter).get("settings", {}).get("seed", 0)))
    room = int(getattr(verifier.config, "max_position_embeddings", 2**31)) - max_new_tokens - model.shape.block_size
    asked = [prompt for prompt in (prompts if prompts is not None else load_heldout(drafter)) if 0 < len(prompt.prompt_ids) <= room]
    chosen = spread(asked, limit)
    if not chosen:
        raise NoPrompts(f"None of the prompts leaves room for {max_new_tokens} new tokens in the target's context: ask for fewer.")
    plain, speculative = [], []
    seconds = [0.0, 0.0]
    stop = verifier.stop_ids
    with threads_for_one_token(verifier.hidden_size):
        for done, prompt in enumerate(chosen):
            stop_if_cancelled(watcher)
            watcher.progress(Progress("evaluate", done, len(chosen), "prompts"))
            times = [time.perf_counter()]
            plain.append(decode_plain(verifier, prompt.prompt_ids, max_new_tokens, stop))
            times.append(time.perf_counter())
            speculative.append(decode_speculative(verifier, ChainDrafter(model, verifier.ends), prompt.prompt_ids, max_new_tokens, stop))
            times.append(time.perf_counter())
            seconds = [seconds[0] + times[1] - times[0], seconds[1] + times[2] - times[1]]
    watcher.progress(Progress("evaluate", len(chosen), len(chosen), "prompts"))
    return summarize(
        chosen,
        plain,
        speculative,
        plain_seconds=seconds[0],
        speculative_seconds=seconds[1],
        block_size=model.shape.block_size,
        max_new_tokens=max_new_tokens,
        untrained=untrained,
    )
