"""The choices beside the boundary: which turns and parts are trained on, special tokens as text, rows that are too long."""

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.chat import BadChoice, DegenerateMask, Supervision, check_source_mask, explain, generation_prompt, supervise
from core.conversation import Conversation, Message
from tests.chat.conversations import conversations
from tests.chat.targets import CHATML
from tests.chat.test_forgery import FIELDS, conversation_with
from tests.chat.test_supervision import AGENT, CHAT, JSON_CALLS, trained_text

PROPERTY = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize(
    ("name", "conversation", "choices", "expected"),
    [
        ("qwen2.5", CHAT, {"turns": "last"}, {None: ["Welcome.<|im_end|>"]}),
        ("qwen3", CHAT, {"turns": "last"}, {None: ["Welcome.<|im_end|>"]}),
        ("qwen3", CHAT, {"reasoning": False}, {2: ["5<|im_end|>"], 4: ["Welcome.<|im_end|>"]}),
        ("qwen3", AGENT, {"reasoning": False}, {None: [f"{JSON_CALLS}<|im_end|>", "4.2 m.<|im_end|>"]}),
        ("qwen3", AGENT, {"tool_calls": False},
         {None: ["<think>\nNeed it.\n</think>\n\n", "<think>\nGot it.\n</think>\n\n4.2 m.<|im_end|>"]}),
        ("qwen3", AGENT, {"tool_calls": False, "reasoning": False}, {None: ["4.2 m.<|im_end|>"]}),
        ("qwen3.6", AGENT, {"tool_calls": False, "supervise": "content", "reasoning": False}, {None: ["4.2 m."]}),
        ("harmony", AGENT, {"tool_calls": False, "reasoning": False, "layout": "turn"}, {4: ["4.2 m.<|return|>"]}),
    ],
)  # fmt: skip
def test_the_trained_text_is_what_the_choice_says(name, conversation, choices, expected, targets):
    target = targets(name)
    if name == "harmony":  # it prints one call a turn
        conversation = dataclasses.replace(
            conversation,
            messages=(
                *conversation.messages[:1],
                dataclasses.replace(conversation.messages[1], tool_calls=conversation.messages[1].tool_calls[:1]),
                *conversation.messages[2:],
            ),
        )
    made = supervise(conversation, target, Supervision(**choices))
    assert {row.turn: trained_text(target, row) for row in made.rows} == expected
    tokens = explain(conversation, target, Supervision(**choices))
    assert [[token.trainable for token in row] for row in tokens] == [row.loss_mask.tolist() for row in made.rows]


def test_a_turn_that_is_all_tool_call_is_dropped_when_calls_are_not_trained_on(targets):
    made = supervise(AGENT, targets("qwen2.5"), Supervision(tool_calls=False, layout="turn"))
    assert [row.turn for row in made.rows] == [4]
    assert [(drop.turn, drop.reason) for drop in made.dropped] == [(1, "no_supervised_token")]


def test_turns_before_the_first_user_are_trained_on_only_when_all_are_chosen(targets):
    chat = Conversation((Message("assistant", "Ask me."), Message("user", "Hi"), Message("assistant", "Hello.")))
    target = targets("qwen2.5")
    whole = supervise(chat, target, Supervision(turns="all", layout="conversation", supervise="content"))
    assert [trained_text(target, row) for row in whole.rows] == [["Ask me.", "Hello."]]


def test_flags_of_the_data_decide_only_when_asked_to(targets):
    messages = (Message("user", "Hi"), Message("assistant", "No.", train=False), Message("user", "So?"), Message("assistant", "Yes."))
    target, chat = targets("qwen2.5"), Conversation(messages)
    made = supervise(chat, target, Supervision(turns="flagged"))
    assert [trained_text(target, row) for row in made.rows] == [["Yes.<|im_end|>"]]
    assert [(drop.turn, drop.reason) for drop in made.dropped] == [(1, "flagged_off")]
    assert "flagged by the data" in "".join(token.why for token in explain(chat, target, Supervision(turns="flagged"))[0])
    assert len(trained_text(target, supervise(chat, target, Supervision()).rows[0])) == 2
    assert Conversation.from_json(chat.to_json()) == chat


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3.6", "demo"])
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("token", CHATML)
def test_special_tokens_taken_as_text_stand_in_the_row_and_forge_nothing(name, field, token, targets):
    target = targets(name)
    choice = Supervision(special_tokens="as_text", layout="conversation")
    clean = supervise(conversation_with(field, ""), target, choice).rows
    made = supervise(conversation_with(field, token), target, choice)
    assert made.dropped == []
    (row,), (harmless,) = made.rows, clean
    guarded = target.forgeries.guarded_ids
    assert [i for i in row.input_ids.tolist() if i in guarded] == [i for i in harmless.input_ids.tolist() if i in guarded]
    assert target.encoder.decode(row.input_ids.tolist()) == target.template.render(
        conversation_with(field, token), **({"enable_thinking": False} if target.template.takes_thinking else {})
    )


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3.6", "demo", "llama3", "mistral", "gemma", "deepseek", "harmony", "generation"])
def test_no_row_holds_more_special_tokens_than_the_template_wrote_whatever_the_text(name, targets):
    target = targets(name)
    guarded = target.forgeries.guarded_ids
    pieces = [target.encoder.token(token_id) for token_id in sorted(guarded)]
    hostile = st.lists(st.sampled_from([*pieces, "<|im_<|im_end|>end|>", "x", " ", "\n", "é"]), max_size=4).map("".join)

    @PROPERTY
    @given(conversations(with_tools=False, with_reasoning=False, ragged=False), st.lists(hostile, min_size=8, max_size=8))
    def check(conversation, texts):
        changed = tuple(
            dataclasses.replace(message, content=f"a{texts[place % 8]}b") for place, message in enumerate(conversation.messages)
        )
        plain = tuple(dataclasses.replace(message, content="ab") for message in conversation.messages)
        choice = Supervision(special_tokens="as_text", layout="conversation", seq_length=10**6)
        made = supervise(Conversation(changed), target, choice)
        clean = supervise(Conversation(plain), target, choice)
        for row, harmless in zip(made.rows, clean.rows, strict=False):
            assert [i for i in row.input_ids.tolist() if i in guarded] == [i for i in harmless.input_ids.tolist() if i in guarded]
        if not any(drop.turn is None for drop in clean.dropped):
            assert {drop.reason for drop in made.dropped} <= {drop.reason for drop in clean.dropped} | {"special_token_in_content"}

    check()


def test_a_prompt_holds_special_tokens_as_text_too(targets):
    target, chat = targets("qwen2.5"), Conversation((Message("user", "<|im_end|>"), Message("assistant", "Yo.")))
    choice = Supervision(special_tokens="as_text")
    (row,) = supervise(chat, target, choice).rows
    prompt = generation_prompt(chat, 1, target, choice)
    assert row.input_ids[: len(prompt)].tolist() == prompt
    assert prompt.count(target.frame.end_ids[0]) == 2  # of the default system message and of the user's


@pytest.mark.parametrize("layout", ["conversation", "turn"])
@pytest.mark.parametrize("name", ["qwen3", "harmony", "mistral-pieces", "gemma-pieces"])
def test_special_tokens_are_text_beside_characters_that_the_tokenizer_changes(name, layout, targets):
    target, choice = targets(name), Supervision(special_tokens="as_text", layout=layout)
    token = target.encoder.token(target.frame.end_ids[0])
    odd = "e\u0301 \u212b"  # NFC makes one character of the first two and another one of the last
    chat = Conversation(
        (
            Message("user", f"{odd} {token}?"),
            Message("assistant", f"Ye {odd}.", "Hm." if name == "qwen3" else None),
            Message("user", odd),
            Message("assistant", "Yo."),
        )
    )
    made = supervise(chat, target, choice)
    assert made.dropped == [] and made.rows
    tokens = explain(chat, target, choice)
    assert [[one.trainable for one in row] for row in tokens] == [row.loss_mask.tolist() for row in made.rows]
    assert all("Yo" in text or "Ye" in text for row in made.rows for text in trained_text(target, row))
    plain = [message for one in tokens[0] if (message := one.message) is not None and one.text == "?"]
    assert plain == [0]


LONG = Conversation(
    (
        Message("system", "Be brief."),
        *(message for n in range(6) for message in (Message("user", f"Question {n}?"), Message("assistant", f"Answer {n}."))),
    )
)


@pytest.mark.parametrize("layout", ["conversation", "turn", "auto"])
@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3.6"])
def test_a_row_too_long_keeps_its_system_message_and_its_last_turns(name, layout, targets):
    target = targets(name)
    free = supervise(LONG, target, Supervision(layout=layout)).rows
    limit = max(len(row.input_ids) for row in free) * 2 // 3
    choice = Supervision(layout=layout, seq_length=limit, overlong="keep_last_turns")
    made = supervise(LONG, target, choice)
    assert made.dropped == []
    assert [row.turn for row in made.rows] == [row.turn for row in free]
    last, whole = made.rows[-1], free[-1]
    assert last.shortened and not last.truncated and last.cut_turn is None
    text = target.encoder.decode(last.input_ids.tolist())
    assert "Be brief." in text and "Question 0" not in text and "Answer 5." in text
    assert trained_text(target, last)[-1] == trained_text(target, whole)[-1]
    names = {token.message for token in explain(LONG, target, choice)[-1] if token.message is not None}
    assert {0, 11, 12} <= names and 1 not in names


def test_a_row_too_long_can_be_dropped(targets):
    made = supervise(LONG, targets("qwen2.5"), Supervision(seq_length=60, overlong="drop"))
    assert made.rows == []
    assert [drop.reason for drop in made.dropped] == ["too_long"]


def test_an_exchange_longer_than_the_limit_is_cut(targets):
    chat = Conversation((*LONG.messages, Message("user", "More"), Message("assistant", "word " * 200)))
    (row,) = supervise(chat, targets("qwen2.5"), Supervision(seq_length=100, overlong="keep_last_turns")).rows
    assert row.shortened and row.truncated and row.cut_turn == 14 and len(row.input_ids) == 100


def test_a_turn_cut_in_the_middle_is_named_and_one_cut_off_whole_is_not(targets):
    target = targets("qwen2.5")
    (whole,) = supervise(CHAT, target, Supervision()).rows
    trained = np.flatnonzero(whole.loss_mask)
    assert supervise(CHAT, target, Supervision(seq_length=int(trained[-1]))).rows[0].cut_turn == 4
    first_end = int(trained[np.flatnonzero(np.diff(trained) > 1)[0]]) + 1
    (cut,) = supervise(CHAT, target, Supervision(seq_length=first_end)).rows
    assert cut.truncated and cut.cut_turn is None


@pytest.mark.parametrize(
    "wrong", [{"turns": "some"}, {"special_tokens": "keep"}, {"overlong": "pad"}, {"reasoning": "no"}, {"tool_calls": 0}]
)
def test_a_choice_that_does_not_exist_is_refused(wrong):
    with pytest.raises(BadChoice, match=next(iter(wrong))):
        Supervision(**wrong)


def test_a_source_that_is_trained_on_nowhere_or_everywhere_is_an_error():
    check_source_mask("chat", 10, 100, 50)
    check_source_mask("chat", 0, 0, 0)
    with pytest.raises(DegenerateMask, match="Not one token of chat"):
        check_source_mask("chat", 10, 0, 0)
    with pytest.raises(DegenerateMask, match="Every token of chat"):
        check_source_mask("chat", 10, 100, 100)
