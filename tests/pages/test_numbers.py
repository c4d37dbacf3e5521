import pytest

from pages.components.numbers import count, duration, percent, plural, short, size


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (9_999, "9,999"), (41_000, "41 k"), (1_420_000, "1.42 M"), (512e6, "512 M"), (None, "–")]
)
def test_headlines_have_three_figures(value, text):
    assert short(value) == text


@pytest.mark.parametrize(("seconds", "text"), [(3.21, "3.2 s"), (42, "42 s"), (125, "2 min 05 s"), (4320, "1 h 12 min"), (None, "–")])
def test_durations_read_as_people_say_them(seconds, text):
    assert duration(seconds) == text


def test_counts_are_exact_and_agree_with_their_noun():
    assert count(913_786) == "913,786"
    assert plural(1, "row") == "1 row"
    assert plural(2_311, "row") == "2,311 rows"
    assert percent(0.4063) == "40.6\u00a0%"
    assert size(2_600_000_000) == "2.6 GB"
