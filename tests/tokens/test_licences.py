import pytest

from core.tokens.licences import RESTRICTED, UNKNOWN, asks


@pytest.mark.parametrize("licence", ["CC-BY-4.0", "cc-by-4.0", "cc by 3.0", "CC_BY_4.0"])
def test_a_licence_is_known_in_any_spelling_and_version(licence):
    assert "Name the authors" in asks(licence)
    assert "same licence" not in asks(licence)


def test_share_alike_and_non_commercial_are_said():
    assert "same licence" in asks("CC-BY-SA-3.0")
    assert "commercial" in asks("cc-by-nc-4.0")
    assert "NOTICE" in asks("Apache-2.0")
    assert "NOTICE" in asks("Apache License 2.0")
    assert "copyright notice" in asks("BSD-3-Clause")
    assert "same licence" in asks("GPL-3.0-or-later")


def test_a_remark_in_brackets_is_not_lost():
    assert asks("ODC-BY-1.0 (parts non-commercial)").endswith(RESTRICTED)


@pytest.mark.parametrize("licence", [None, "", "other", "mitigated", "llama3.1"])
def test_an_unknown_licence_is_said_to_be_unknown(licence):
    assert asks(licence) == UNKNOWN
