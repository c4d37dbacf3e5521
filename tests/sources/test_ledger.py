"""The account of an import."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.dialects import Outcome
from core.errors import InputError
from core.sources import Ledger
from core.sources.ledger import LedgerBroken

STATUSES = ("kept", "prompt_only", "quarantined", "used", "not_chosen")


def outcome(status: str, reason: str | None = None, repairs: tuple[str, ...] = ()) -> Outcome:
    return Outcome(row=0, status=status, conversation=None, dialect=None, repairs=repairs, reason=reason, field=None, detail=None, raw=None)


@given(st.lists(st.tuples(st.sampled_from(STATUSES), st.sampled_from(["a", "b", None]), st.lists(st.sampled_from(["x", "y"]), max_size=3))))
def test_the_sums_hold_whatever_the_outcomes(outcomes: list[tuple[str, str | None, list[str]]]) -> None:
    ledger = Ledger(raw_rows=len(outcomes))
    for status, reason, repairs in outcomes:
        ledger.add(outcome(status, reason, tuple(repairs)))
    ledger.check()
    assert Ledger.from_json(ledger.to_json()) == ledger
    assert all(count <= ledger.kept + ledger.prompt_only for count in ledger.repaired.values())


@pytest.mark.parametrize("field", ["raw_rows", "read", "kept", "prompt_only", "quarantined", "used", "not_chosen"])
def test_a_row_more_or_less_anywhere_is_noticed(field: str) -> None:
    ledger = Ledger(raw_rows=5)
    for status in STATUSES:
        ledger.add(outcome(status, "why"))
    ledger.check()
    with pytest.raises(LedgerBroken, match="does not add up"):
        dataclasses.replace(ledger, **{field: getattr(ledger, field) + 1}).check()


def test_a_broken_ledger_is_not_the_users_mistake() -> None:
    assert not issubclass(LedgerBroken, InputError)


def test_the_main_reasons_come_most_frequent_first() -> None:
    ledger = Ledger(reasons={"rare": 1, "b": 5, "a": 5, "often": 9})
    assert ledger.main_reasons() == [("often", 9), ("a", 5), ("b", 5)]
