"""Held-out prompts: what a served target would be asked, from conversations that were kept out of training."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InputError

FILE = "heldout.parquet"


class NoPrompts(InputError):
    """There is nothing to measure a drafter on."""


@dataclass(frozen=True)
class HeldOut:
    """One prompt, ready to be continued by the target."""

    source: str
    domain: str
    row_id: str
    turn: int
    prompt_ids: tuple[int, ...]
    thinking: str | None = None
    """"on" or "off" where the prompt asks for it, None where that is not known"""


def load_heldout(path: Path) -> list[HeldOut]:
    """The prompts in a file, or in `heldout.parquet` of a dataset's or drafter's folder; raises `NoPrompts`."""
    file = path / FILE if path.is_dir() else path
    try:
        rows = pq.read_table(file, columns=["source", "domain", "row_id", "turn", "prompt_ids"]).to_pylist()
    except FileNotFoundError as error:
        raise NoPrompts(f"{file} does not exist: tokenize with a validation share above 0, then train again.") from error
    except (OSError, pa.ArrowException) as error:
        raise NoPrompts(f"{file} is no table of held-out prompts: {str(error).splitlines()[0]}") from error
    prompts = [HeldOut(row["source"], row["domain"], row["row_id"], int(row["turn"]), tuple(row["prompt_ids"])) for row in rows]
    if not prompts:
        raise NoPrompts(f"{file} holds no prompt: tokenize with a larger validation share.")
    return prompts


def spread(prompts: Sequence[HeldOut], limit: int | None) -> list[HeldOut]:
    """At most `limit` of the prompts, taken from the sources in turn so that every source stays measured; all for None."""
    if limit is None or limit >= len(prompts):
        return list(prompts)
    seen: dict[str, int] = {}
    ranked = []
    for place, prompt in enumerate(prompts):
        nth = seen[prompt.source] = seen.get(prompt.source, 0) + 1
        ranked.append((nth, place))
    return [prompts[place] for place in sorted(place for _, place in sorted(ranked)[:limit])]
