"""The catalogue of small Python operations that functions, edits and trajectories are made from; the data is `operations.toml`."""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Operation:
    """What a function does (`what`), why it works, its body with `{a}`, `{b}` for parameters, and example arguments."""

    names: tuple[str, ...]
    params: tuple[tuple[str, ...], ...]
    what: str
    body: str
    why: str
    examples: tuple[str, ...]


def _read(path: Path) -> tuple[Operation, ...]:
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["operation"]
    return tuple(
        Operation(tuple(r["names"]), tuple(tuple(p) for p in r["params"]), r["what"], r["body"], r["why"], tuple(r["examples"]))
        for r in rows
    )


OPERATIONS = _read(Path(__file__).with_name("operations.toml"))
