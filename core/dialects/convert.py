"""Raw rows to outcomes, one for each, in bounded memory (but for message rows of trees, which must all be seen).

Whatever a row holds, converting it never raises: what nobody foresaw is quarantined too.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from core.dialects.codes import CODES, Policy
from core.dialects.detect import ENOUGH_ROWS, detect
from core.dialects.dialect import Dialect
from core.dialects.draft import RawRecord
from core.dialects.handling import Handling, Quarantined
from core.dialects.oasst import NotChosen, gather
from core.dialects.opening import NotARecord, record_of
from core.dialects.registry import dialect_named, recognise
from core.dialects.rows import Outcome, RawRow
from core.dialects.settle import settle
from core.dialects.tree import EXCLUSIONS

_DEFAULT = Policy()


def convert(rows: Iterable[RawRow], dialect: str | Dialect | None = None, policy: Policy = _DEFAULT) -> Iterator[Outcome]:
    """One outcome for each raw row, in order; message rows of trees come last, in their own order.

    With `dialect` (a name, or one made by a `ColumnMap`) every row is read by it. Without, each row by the dialect it shows, and a
    row that shows none by the one that most of the first rows show, which gives the better reason. Raises `UnknownDialect` at once.
    """
    return _outcomes(iter(rows), dialect_named(dialect) if isinstance(dialect, str) else dialect, policy)


def _outcomes(rows: Iterator[RawRow], forced: Dialect | None, policy: Policy) -> Iterator[Outcome]:
    head = list(islice(rows, ENOUGH_ROWS)) if forced is None else []
    found = detect(head).dialect if head else None
    usual = dialect_named(found) if found else None
    gathered: list[RawRow] = []
    for raw in chain(head, rows):
        outcome = _outcome(raw, forced, usual, policy)
        if outcome is None:
            gathered.append(raw)
        else:
            yield outcome
    if gathered:
        yield from gather(gathered, policy)


def _outcome(raw: RawRow, forced: Dialect | None, usual: Dialect | None, policy: Policy) -> Outcome | None:
    """The outcome of a row that is a conversation of its own, None for one that must be gathered with others."""
    handling = Handling(policy)
    chosen = forced
    try:
        if raw.problem is not None:
            raise Quarantined(raw.problem if raw.problem in CODES else "unreadable", raw.detail or raw.problem)
        record = record_of(raw.value, handling)
        chosen = _dialect(record, forced, usual)
        if chosen.gathers and "rows" not in record:
            return None
        settled = settle(chosen.convert(record, handling), handling)
    except Quarantined as refusal:
        return _refused(raw, chosen, handling, refusal)
    except NotARecord as error:
        return _refused(raw, chosen, handling, Quarantined("not_an_object", str(error)))
    except NotChosen as choice:
        name = chosen.name if chosen else None
        return Outcome(raw.position, "not_chosen", None, name, (), choice.reason, None, EXCLUSIONS[choice.reason], raw.value)
    except RecursionError:
        return _refused(raw, chosen, handling, Quarantined("too_deeply_nested"))
    except Exception as error:  # noqa: BLE001 - a row must never stop a source, whatever it holds
        return _refused(raw, chosen, handling, Quarantined("unforeseen", f"{type(error).__name__}: {error}"))
    return Outcome(raw.position, settled.ending, settled.conversation, chosen.name, handling.repairs, None, None, None, raw.value)


def _dialect(record: RawRecord, forced: Dialect | None, usual: Dialect | None) -> Dialect:
    """Which dialect reads the row. Raises `Quarantined` when the one asked for cannot, or none is known."""
    keys = frozenset(record)
    columns = "columns: " + ", ".join(str(key) for key in list(record)[:16])
    if forced is not None:
        if not forced.columns(keys):
            raise Quarantined("dialect_mismatch", columns)
        return forced
    shown = recognise(record)
    if shown is None and usual is not None and usual.columns(keys):
        return usual
    if shown is None:
        raise Quarantined("unknown_dialect", columns)
    return shown


def _refused(raw: RawRow, dialect: Dialect | None, handling: Handling, refusal: Quarantined) -> Outcome:
    name = dialect.name if dialect else None
    detail = refusal.detail or None
    return Outcome(raw.position, "quarantined", None, name, handling.repairs, refusal.reason, refusal.field, detail, raw.value)
