"""All dialects, the most specific first, and which of them a row is. The columns decide who is asked at all.

It knows signatures, not conversions.
"""

from collections.abc import Mapping

from core.dialects import flat_text, oasst, openai, other_lists, pairs, sharegpt, xlam
from core.dialects.dialect import TURN_LISTS, Dialect, Outline
from core.dialects.draft import RawRecord
from core.errors import InputError

_ORDER: tuple[Dialect, ...] = (
    pairs.PRETOKENIZED,
    oasst.FLAT,
    oasst.NESTED,
    pairs.PREFERENCE,
    xlam.XLAM,
    flat_text.GLAIVE,
    other_lists.SWE_AGENT,
    other_lists.INPUT_OUTPUT,
    other_lists.SWE_SMITH,
    openai.ANTHROPIC,
    sharegpt.TOOLACE,
    sharegpt.HERMES_JSON,
    sharegpt.HERMES,
    sharegpt.LLAMA_FACTORY,
    sharegpt.SHAREGPT,
    openai.SPLIT_ROLES,
    openai.FUNCTION_XML,
    openai.TOOLS_IN_METADATA,
    openai.TOOLS_UNDER_CONVERSATIONS,
    openai.TOOLS,
    flat_text.PREFORMATTED,
    other_lists.JSON_TEXT,
    other_lists.FLAT_LIST,
    openai.MESSAGES,
    pairs.EVALUATION,
    pairs.ALPACA,
    pairs.INSTRUCTION,
    pairs.PROBLEM,
    pairs.SYSTEM_QUESTION,
    pairs.QUESTION_ANSWER,
    pairs.PROMPT_RESPONSE,
    pairs.PROMPT_ONLY,
)

DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in _ORDER}
"""By name. A name can be given to `convert` to read every row by it."""

_MOST_COLUMN_SETS = 4096
_by_columns: dict[frozenset[str], tuple[Dialect, ...]] = {}


class UnknownDialect(InputError):
    """A dialect name that is not registered."""


def dialect_named(name: str) -> Dialect:
    """The dialect of that name; raises `UnknownDialect`."""
    if name not in DIALECTS:
        raise UnknownDialect(f"No dialect is called {name!r}: choose one of {', '.join(sorted(DIALECTS))}.")
    return DIALECTS[name]


def recognise(record: RawRecord) -> Dialect | None:
    """The most specific dialect whose signature the row shows."""
    keys = frozenset(record)
    candidates = _by_columns.get(keys)
    if candidates is None:
        candidates = tuple(dialect for dialect in _ORDER if dialect.columns(keys))
        if len(_by_columns) < _MOST_COLUMN_SETS:
            _by_columns[keys] = candidates
    row = Outline(record)
    found = next((dialect for dialect in candidates if dialect.matches(row)), None)
    if found is openai.MESSAGES and row.turns_key is None:
        # Rows of several shapes in one column store: the column of turns is there, and null, in rows of the other shapes.
        rest = {key: value for key, value in record.items() if value is not None or key not in TURN_LISTS}
        return (recognise(rest) or found) if len(rest) < len(record) else found
    return found
