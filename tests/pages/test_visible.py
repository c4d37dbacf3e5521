from hypothesis import given
from hypothesis import strategies as st

from pages.components.visible import escaped, visible


def test_markup_is_inert():
    assert escaped("<script>alert('x')</script>") == "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;"


def test_characters_that_hide_or_reorder_text_are_named():
    shown = escaped("a\u202eb\u200bc\x1b[31m\x00")
    assert "RLO" in shown
    assert "ZWSP" in shown
    assert "ESC" in shown
    assert all(hidden not in shown for hidden in "\u202e\u200b\x1b\x00")


def test_a_lone_surrogate_can_be_sent_to_a_browser():
    assert "U+D800" in escaped("\ud800")


def test_line_breaks_tabs_and_unnoticeable_spaces_show():
    assert visible(" ").count("·") == 1
    assert visible("a  b").count("·") == 2
    assert visible("end ").count("·") == 1
    assert visible("two words") == "two words"
    assert "⏎" in visible("a\n")
    assert "⇥" in visible("\tx")


@given(st.text())
def test_no_text_whatever_opens_a_tag_of_its_own(text):
    shown = visible(text)
    for ours in ('<span class="md-ws">', '<span class="md-ctl" title=', "</span>"):
        shown = shown.replace(ours, "")
    assert "<" not in shown
    shown.encode("utf-8")
