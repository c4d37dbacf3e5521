import re

from core.chat import ExplainedToken
from pages.components.token_view import token_view


def token(text, *, trainable=False, why="user message 1", octets=None, number=7):
    return ExplainedToken(number, text, text.encode() if octets is None else octets, trainable, 0, "user", why)


def test_trainable_and_masked_tokens_differ_in_class_and_in_words():
    shown = token_view([token("Hi"), token(" there", trainable=True, why="assistant turn 1, sampled by the target")])
    assert re.search(r'<span class="md-tok" [^>]*>Hi</span>', shown)
    assert re.search(r'<span class="md-tok on" [^>]*> there</span>', shown) or re.search(
        r'<span class="md-tok on" [^>]*>.*there</span>', shown
    )
    assert "<b>trainable</b>, 1 token" in shown
    assert "<b>masked</b>, 1 token" in shown


def test_pieces_of_one_character_are_one_group():
    octets = "é".encode()
    shown = token_view([token("\ufffd", octets=octets[:1], number=1), token("\ufffd", octets=octets[1:], number=2), token("x", number=3)])
    assert re.findall(r'data-id="([^"]*)"', shown) == ["1, 2", "3"]
    assert ">é</span>" in shown


def test_bytes_that_are_no_character_still_show():
    assert re.findall(r'data-id="([^"]*)"', token_view([token("\ufffd", octets=b"\xff", number=1), token("a", number=2)])) == ["1", "2"]


def test_only_the_window_is_drawn():
    shown = token_view([token("x", number=place) for place in range(100)], start=10, window=5)
    assert re.findall(r'data-id="(\d+)"', shown) == ["10", "11", "12", "13", "14"]
    assert "position 10 " in shown


def test_a_token_cannot_close_its_element():
    assert "<script>" not in token_view([token("</span><script>", why="<script>")])
