"""Every token of a row says which message it came from and why it is trained on or not."""

import pytest
from hypothesis import HealthCheck, given, settings

from core.chat import Supervision, explain, explain_rows, rendered_parts, supervise
from core.conversation import Conversation, Message
from tests.chat.conversations import conversations
from tests.chat.test_supervision import AGENT, CHAT


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3.6", "demo", "llama3", "mistral", "harmony", "generation", "indexed"])
def test_the_explained_tokens_are_the_rows_tokens(name, targets):
    target = targets(name)

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(conversations())
    def check(conversation):
        for choices in (Supervision(), Supervision("content", layout="conversation", seq_length=60)):
            rows = supervise(conversation, target, choices).rows
            explained = explain(conversation, target, choices)
            assert [[token.id for token in tokens] for tokens in explained] == [row.input_ids.tolist() for row in rows]
            assert [[token.trainable for token in tokens] for tokens in explained] == [row.loss_mask.tolist() for row in rows]
            for token in (token for tokens in explained for token in tokens):
                assert token.bytes == target.encoder.token_bytes(token.id)
                assert token.role == ("template" if token.message is None else conversation.messages[token.message].role)
                assert not token.trainable or token.role == "assistant"

    check()


def runs(tokens) -> list[tuple[int | None, str, str]]:
    """Neighbouring tokens with the same message and reason, as (message, why, text)."""
    joined: list[list] = []
    for token in tokens:
        if joined and joined[-1][:2] == [token.message, token.why]:
            joined[-1][2] += token.bytes
        else:
            joined.append([token.message, token.why, token.bytes])
    return [(message, why, text.decode()) for message, why, text in joined]


def test_a_chat_in_words(targets):
    first, second = explain(CHAT, targets("qwen3.6"), Supervision())
    assert runs(first) == [
        (0, "system message", "<|im_start|>system\nBe brief.<|im_end|>\n"),
        (1, "user message 1", "<|im_start|>user\nWhat is 2+3?<|im_end|>\n"),
        (2, "generation prompt of assistant turn 1", "<|im_start|>assistant\n<think>\n"),
        (2, "assistant turn 1, sampled by the target", "Two and three.\n</think>\n\n5<|im_end|>"),
        (2, "past the end of assistant turn 1", "\n"),
    ]
    assert runs(second)[2:] == [
        (2, "assistant turn 1, history in this row", "<|im_start|>assistant\n5<|im_end|>\n"),
        (3, "user message 2", "<|im_start|>user\nThanks<|im_end|>\n"),
        (4, "generation prompt of assistant turn 2", "<|im_start|>assistant\n<think>\n\n</think>\n\n"),
        (4, "assistant turn 2, sampled by the target", "Welcome.<|im_end|>"),
        (4, "past the end of assistant turn 2", "\n"),
    ]


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3.6", "demo"])
def test_tool_calls_and_results_are_told_apart(name, targets):
    (tokens,) = explain(AGENT, targets(name), Supervision())
    told = runs(tokens)
    assert told[0][:2] == (None, "written by the template")
    results = [text for message, why, text in told if why.startswith("tool result")]
    assert [("4.2" in text, "4.4" in text) for text in results] == [(True, False), (False, True)]
    trained = [(message, text) for message, why, text in told if why.endswith("sampled by the target")]
    assert [message for message, _ in trained] == [1, 4]
    assert "<tool_call>" in trained[0][1] and trained[1][1].endswith("4.2 m.<|im_end|>")


def test_content_supervision_names_header_and_end(targets):
    (tokens,) = explain(CHAT, targets("qwen2.5"), Supervision("content"))
    assert [run for run in runs(tokens) if run[0] == 2] == [
        (2, "header of assistant turn 1", "<|im_start|>assistant\n"),
        (2, "assistant turn 1, between its header and its end", "5"),
        (2, "end of assistant turn 1, not its content", "<|im_end|>\n"),
    ]


def test_an_early_assistant_turn_says_why_it_is_not_trained_on(targets):
    conversation = Conversation((Message("assistant", "Ask."), Message("user", "Hi"), Message("assistant", "Yo.")))
    (tokens,) = explain(conversation, targets("qwen2.5"), Supervision())
    assert (0, "assistant turn 1, before the first user message: never trained on") in {run[:2] for run in runs(tokens)}


def test_a_token_goes_to_json_with_its_bytes_in_hex(targets):
    token = explain(CHAT, targets("qwen2.5"), Supervision())[0][0].to_json()
    assert token["text"] == "<|im_start|>"
    assert bytes.fromhex(token["bytes"]) == b"<|im_start|>"
    assert set(token) == {"id", "text", "bytes", "trainable", "message", "role", "why"}


def test_rows_and_explanations_are_those_of_supervise_and_the_parts_spell_the_whole_render(targets):
    target, choices = targets("qwen3.6"), Supervision(seq_length=24)
    made, seen = supervise(CHAT, target, choices), explain_rows(CHAT, target, choices)
    assert seen.dropped == made.dropped
    assert [row.made.input_ids.tolist() for row in seen.rows] == [row.input_ids.tolist() for row in made.rows]
    assert [row.tokens for row in seen.rows] == explain(CHAT, target, choices)
    for row in seen.rows:
        ids = target.encoder.encode("".join(part.text for part in row.parts))
        assert ids[: len(row.tokens)] == [token.id for token in row.tokens]
        assert {token.message for token in row.tokens} <= {part.message for part in row.parts}


def test_a_render_by_message_needs_no_trained_turn(targets):
    parts = rendered_parts(Conversation((Message("user", "Hi"),)), targets("qwen2.5"))
    assert [(part.name, part.role) for part in parts if part.message is not None] == [("user message 1", "user")]
    assert "Hi" in "".join(part.text for part in parts)
