"""Rows are held back until none of them can turn out wrong, and made again where a check failed later."""

import core.chat.fast as fast
from core.chat import FastPath, Supervision, settled, supervise
from core.chat.fast import same
from core.conversation import Conversation, Message
from tests.chat.test_fast import begin_too_late, retold

HELLO = Conversation((Message("user", "Hi"), Message("assistant", "Hello.")))


def test_rows_made_before_a_check_failed_are_made_again(targets, monkeypatch):
    target, choices = targets("qwen2.5"), Supervision()
    path = FastPath(target, choices)
    path.supervise_batch([retold(HELLO, words) for words in "abcd"])  # learned; 2 of them went fast
    monkeypatch.setattr(fast, "EVERY", 9)  # the 7th of the following rows is made again
    begin_too_late(monkeypatch)
    chats = [retold(HELLO, words) for words in "efghijklmno"]
    found = list(settled(path, enumerate(chats), batch=3))
    assert path.report.mismatched
    assert [key for key, _ in found] == list(range(len(chats)))
    for chat, (_, made) in zip(chats, found, strict=True):
        assert made is not None and same(made, supervise(chat, target, choices))


def test_keys_without_a_conversation_stay_in_their_place(targets):
    path = FastPath(targets("qwen2.5"), Supervision())
    found = list(settled(path, [("a", None), ("b", HELLO), ("c", None)], batch=2))
    assert [(key, made is None) for key, made in found] == [("a", True), ("b", False), ("c", True)]
    assert list(settled(path, [])) == []
