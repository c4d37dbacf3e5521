import html
import re

from core.chat import ExplainedToken
from pages.components.token_view import token_view


def token(text, *, trainable=False, why="user message 1", octets=None, number=7):
    return ExplainedToken(number, text, text.encode() if octets is None else octets, trainable, 0, "user", why)


def text_of(span: str) -> str:
    """What a browser would copy of some HTML."""
    return html.unescape(re.sub(r"<[^>]*>", "", span))


def test_trainable_and_masked_tokens_differ_in_class_and_in_words():
    shown = token_view([token("Hi"), token(" there", trainable=True, why="assistant turn 1, sampled by the target")])
    drawn = re.findall(r'<span class="md-tok( on)?"[^>]*>(.*?)</span>', shown)
    assert [(look, text_of(text)) for look, text in drawn] == [("", "Hi"), (" on", " there")]
    assert "<b>trainable</b>, 1 token" in shown
    assert "<b>masked</b>, 1 token" in shown


def test_every_token_can_be_reached_by_keyboard_and_says_why():
    shown = token_view([token("é", why="user message 1", number=9)])
    assert 'tabindex="0"' in shown
    (tip,) = re.findall(r'aria-label="([^"]*)"', shown)
    assert tip.splitlines() == [
        "masked: user message 1",
        "The target reads this; it never writes it.",
        "id 9 · position 0",
        "bytes c3 a9",
        "from message 1 (user)",
        "U+00E9 LATIN SMALL LETTER E WITH ACUTE",
    ]


def test_spaces_show_and_stay_spaces():
    shown = token_view([token("a  b\tc\u00a0d")])
    assert shown.count('class="md-sp"') == 2
    assert "⇥" in shown and "NBSP" in shown


def test_tokens_that_differ_are_marked_and_say_so():
    shown = token_view([token("a", number=1), token("b", number=2)], differing={1})
    assert re.findall(r'class="md-tok( diff)?"', shown) == ["", " diff"]
    assert shown.count("differs from the other side") == 1


def test_pieces_of_one_character_are_one_group():
    octets = "é".encode()
    shown = token_view([token("\ufffd", octets=octets[:1], number=1), token("\ufffd", octets=octets[1:], number=2), token("x", number=3)])
    assert re.findall(r'data-id="([^"]*)"', shown) == ["1, 2", "3"]
    assert ">é</span>" in shown
    assert "one character in 2 tokens" in shown


def test_bytes_that_are_no_character_still_show():
    assert re.findall(r'data-id="([^"]*)"', token_view([token("\ufffd", octets=b"\xff", number=1), token("a", number=2)])) == ["1", "2"]


def test_only_the_window_is_drawn():
    shown = token_view([token("x", number=place) for place in range(100)], start=10, window=5)
    assert re.findall(r'data-id="(\d+)"', shown) == ["10", "11", "12", "13", "14"]
    assert "position 10\n" in shown


def test_a_token_cannot_close_its_element():
    assert "<script>" not in token_view([token("</span><script>", why="<script>")])
