from core.chat.characters import full_name, short_name, spelled_out


def test_nothing_is_left_that_acts_on_a_terminal():
    shown = spelled_out("a\x1b[31mb\u202ec\u200bd\u00a0e\x07\r\x9b2J\nf\tg")
    assert shown == "a‹ESC›[31mb‹RLO›c‹ZWSP›d‹NBSP›e‹␇›‹␍›‹U+009B›2J\nf\tg"


def test_a_character_has_a_short_and_a_full_name():
    assert short_name("\u00ad") == "U+00AD"
    assert full_name("\u200b") == "U+200B ZERO WIDTH SPACE"
    assert full_name("\x1b") == "U+001B control character"
