"""Training rows: equal to the slow definition, and to masks written out by hand, for every choice."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, pre_tokenizers

from core.chat import BadChoice, Supervision, Target, TrainingRow, generation_prompt, supervise
from core.conversation import Conversation, Message, ToolCall
from tests.chat.conftest import ALL
from tests.chat.conversations import conversations
from tests.chat.definition import Definition
from tests.chat.targets import make_target

CHATML = ["qwen2.5", "qwen3", "qwen3.6", "demo", "generation"]
CHOICES = st.builds(
    Supervision,
    supervise=st.sampled_from(["sampled", "boundary", "content"]),
    thinking=st.sampled_from(["auto", "on", "off", "default"]),
    layout=st.sampled_from(["auto", "turn", "conversation"]),
    seq_length=st.just(100_000),
)
PROPERTY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def definitions(folders: Callable[[str], Path]):
    from transformers import PreTrainedTokenizerFast

    @cache
    def definition(name: str) -> Definition:
        target = Target.load(folders(name))
        return Definition(PreTrainedTokenizerFast.from_pretrained(folders(name)), target.template.takes_thinking)

    return definition


def trained_text(target: Target, row: TrainingRow) -> list[str]:
    """The text of each run of trained-on tokens."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], row.loss_mask.astype(np.int8), [0]])))
    return [target.encoder.decode(row.input_ids[start:end].tolist()) for start, end in edges.reshape(-1, 2)]


@pytest.mark.parametrize("name", CHATML)
def test_rows_equal_the_slow_definition(name, targets, definitions):
    target, definition = targets(name), definitions(name)

    @PROPERTY
    @given(conversations(with_tools=name != "generation"), CHOICES)
    def check(conversation, choices):
        strings = [text for message in conversation.messages for text in (message.content, message.reasoning_content or "x")]
        assume("</think>" not in "".join(strings))  # the template reads reasoning out of content: not canonical
        assume(all(text.strip() for text in strings[1::2]) or choices.thinking != "auto")  # blank reasoning: neither with nor without
        made = supervise(conversation, target, choices)
        assume(not any(dropped.reason.startswith("refused") for dropped in made.dropped))
        expected = [row for row in definition.rows(conversation, choices.supervise, choices.thinking, choices.layout) if any(row[2])]
        assert [(row.turn, row.input_ids.tolist(), row.loss_mask.tolist()) for row in made.rows] == expected

    check()


TOOL = {"type": "function", "function": {"name": "tide", "description": "Tide.", "parameters": {"type": "object", "properties": {}}}}
CHAT = Conversation(
    (
        Message("system", "Be brief."),
        Message("user", "What is 2+3?"),
        Message("assistant", "5", reasoning_content="Two and three."),
        Message("user", "Thanks"),
        Message("assistant", "Welcome."),
    ),
    row_id="s:1",
)
AGENT = Conversation(
    (
        Message("user", "Tide at Brest?"),
        Message("assistant", "", "Need it.", (ToolCall("a", "tide", {"port": "Brest"}), ToolCall("b", "tide", {"n": 2}))),
        Message("tool", "4.2", tool_call_id="a"),
        Message("tool", "4.4", tool_call_id="b"),
        Message("assistant", "4.2 m.", "Got it."),
    ),
    (TOOL,),
    row_id="s:2",
)
JSON_CALLS = (
    '<tool_call>\n{"name": "tide", "arguments": {"port": "Brest"}}\n</tool_call>\n'
    '<tool_call>\n{"name": "tide", "arguments": {"n": 2}}\n</tool_call>'
)
XML_CALLS = (
    "<tool_call>\n<function=tide>\n<parameter=port>\nBrest\n</parameter>\n</function>\n</tool_call>\n"
    "<tool_call>\n<function=tide>\n<parameter=n>\n2\n</parameter>\n</function>\n</tool_call>"
)
THOUGHT = "<think>\nTwo and three.\n</think>\n\n5<|im_end|>"
EMPTY = "<think>\n\n</think>\n\n"


@pytest.mark.parametrize(
    ("name", "conversation", "choices", "expected"),
    [
        ("qwen2.5", CHAT, {}, {None: ["5<|im_end|>", "Welcome.<|im_end|>"]}),
        ("qwen2.5", CHAT, {"supervise": "boundary"}, {None: ["5<|im_end|>\n", "Welcome.<|im_end|>\n"]}),
        ("qwen2.5", CHAT, {"supervise": "content"}, {None: ["5", "Welcome."]}),
        ("qwen2.5", CHAT, {"layout": "turn"}, {2: ["5<|im_end|>"], 4: ["Welcome.<|im_end|>"]}),
        ("qwen2.5", AGENT, {}, {None: [JSON_CALLS + "<|im_end|>", "4.2 m.<|im_end|>"]}),
        ("qwen3", CHAT, {}, {2: [THOUGHT], 4: ["Welcome.<|im_end|>"]}),
        ("qwen3", CHAT, {"layout": "conversation"}, {None: ["5<|im_end|>", "Welcome.<|im_end|>"]}),
        ("qwen3", CHAT, {"layout": "conversation", "supervise": "content"}, {None: ["5", EMPTY + "Welcome."]}),
        ("qwen3", CHAT, {"thinking": "default"}, {2: [THOUGHT], 4: [EMPTY + "Welcome.<|im_end|>"]}),
        ("qwen3", AGENT, {},
         {None: [f"<think>\nNeed it.\n</think>\n\n{JSON_CALLS}<|im_end|>", "<think>\nGot it.\n</think>\n\n4.2 m.<|im_end|>"]}),
        ("qwen3.6", CHAT, {}, {2: ["Two and three.\n</think>\n\n5<|im_end|>"], 4: ["Welcome.<|im_end|>"]}),
        ("qwen3.6", CHAT, {"supervise": "boundary"}, {2: ["Two and three.\n</think>\n\n5<|im_end|>\n"], 4: ["Welcome.<|im_end|>\n"]}),
        ("qwen3.6", CHAT, {"supervise": "content"}, {2: ["<think>\nTwo and three.\n</think>\n\n5"], 4: [EMPTY + "Welcome."]}),
        ("qwen3.6", CHAT, {"layout": "conversation"}, {None: ["5<|im_end|>", "Welcome.<|im_end|>"]}),
        ("qwen3.6", AGENT, {}, {None: [f"Need it.\n</think>\n\n{XML_CALLS}<|im_end|>", "Got it.\n</think>\n\n4.2 m.<|im_end|>"]}),
        # Under a setting that the recorded turn contradicts, the turn counts from where it leaves the prompt.
        ("qwen3.6", CHAT, {"thinking": "off"}, {2: ["\nTwo and three.\n</think>\n\n5<|im_end|>"], 4: ["Welcome.<|im_end|>"]}),
        ("qwen3.6", CHAT, {"thinking": "on"}, {2: ["Two and three.\n</think>\n\n5<|im_end|>"], 4: ["\n\n</think>\n\nWelcome.<|im_end|>"]}),
    ],
)  # fmt: skip
def test_the_trained_text_is_what_a_person_would_mark(name, conversation, choices, expected, targets):
    target = targets(name)
    made = supervise(conversation, target, Supervision(**choices))
    assert made.dropped == []
    assert {row.turn: trained_text(target, row) for row in made.rows} == expected
    assert all(row.row == conversation.row_id for row in made.rows)
    assert all(row.input_ids.dtype == np.int32 and row.loss_mask.dtype == np.bool_ for row in made.rows)


def test_a_row_whose_history_the_template_rewrites_is_flagged_and_others_are_not(targets):
    whole = Supervision(layout="conversation")
    assert [row.history_rewritten for row in supervise(CHAT, targets("qwen3.6"), whole).rows] == [True]
    assert [row.history_rewritten for row in supervise(AGENT, targets("qwen3.6"), whole).rows] == [False]
    assert [row.history_rewritten for row in supervise(CHAT, targets("qwen3.6"), Supervision()).rows] == [False, False]


@pytest.mark.parametrize(
    "name", ["qwen2.5", "qwen3", "qwen3.6", "demo", "llama3", "mistral", "gemma", "deepseek", "harmony", "generation", "indexed"]
)
def test_context_is_the_servers_prompt_and_trained_tokens_follow_it(name, targets):
    target = targets(name)
    conversation = Conversation(
        (Message("user", "Hi"), Message("assistant", "Hello."), Message("user", "Bye"), Message("assistant", "See you."))
    )
    made = supervise(conversation, target, Supervision(layout="turn"))
    assert [row.turn for row in made.rows] == [1, 3]
    for row, words in zip(made.rows, ["Hello.", "See you."], strict=True):
        text = "".join(trained_text(target, row))
        assert words in text
        assert "Hi" not in text
        end = target.encoder.token(target.frame.end_ids[0])
        assert text.endswith(end) and text.count(end) == 1
        prompt = generation_prompt(conversation, row.turn, target, Supervision())
        context = row.input_ids[: int(row.loss_mask.argmax())].tolist()
        # DeepSeek's prompt opens a thought that this answer does not have; all others are the context to the token.
        assert context == (prompt if name != "deepseek" else prompt[: len(context)])


def test_the_mask_is_made_first_and_cut_after(targets):
    target = targets("qwen2.5")
    (whole,) = supervise(CHAT, target, Supervision()).rows
    cut_at = int(whole.loss_mask.nonzero()[0][0]) + 1
    (cut,) = supervise(CHAT, target, Supervision(seq_length=cut_at)).rows
    assert cut.truncated and not whole.truncated
    assert cut.input_ids.tolist() == whole.input_ids[:cut_at].tolist()
    assert cut.loss_mask.tolist() == whole.loss_mask[:cut_at].tolist()
    nothing = supervise(CHAT, target, Supervision(seq_length=cut_at - 1))
    assert nothing.rows == []
    assert [dropped.reason for dropped in nothing.dropped] == ["no_supervised_token"]


def test_a_turn_whose_context_fills_the_limit_is_dropped_alone(targets):
    target = targets("qwen3.6")
    first, second = supervise(CHAT, target, Supervision()).rows
    made = supervise(CHAT, target, Supervision(seq_length=len(first.input_ids)))
    assert [row.turn for row in made.rows] == [2]
    assert [(dropped.turn, dropped.reason) for dropped in made.dropped] == [(4, "no_supervised_token")]
    assert len(second.input_ids) > len(first.input_ids)


def test_assistant_turns_before_the_first_user_are_context_only(targets):
    conversation = Conversation((Message("assistant", "Ask me."), Message("user", "Hi"), Message("assistant", "Hello.")))
    made = supervise(conversation, targets("qwen2.5"), Supervision())
    assert [trained_text(targets("qwen2.5"), row) for row in made.rows] == [["Hello.<|im_end|>"]]
    assert [(dropped.turn, dropped.reason) for dropped in made.dropped] == [(0, "before_first_user")]


@pytest.mark.parametrize("messages", [(Message("user", "Hi"),), (Message("system", "x"), Message("assistant", "y")), ()])
def test_a_conversation_without_an_answer_gives_no_row_and_a_reason(messages, targets):
    made = supervise(Conversation(messages), targets("qwen2.5"), Supervision())
    assert made.rows == []
    assert made.dropped[-1].reason == "no_assistant_turn"


def test_a_refusal_is_counted_once_with_the_templates_words(targets):
    conversation = Conversation((Message("user", "<tool_response>x</tool_response>"), Message("assistant", "a"), Message("assistant", "b")))
    made = supervise(conversation, targets("qwen3.6"), Supervision())
    assert [(dropped.turn, dropped.reason, dropped.detail) for dropped in made.dropped] == [
        (None, "refused:no_user_query_found_in_messages", "No user query found in messages.")
    ]


def test_two_answers_in_a_row_under_a_template_that_reprints_the_first_one_lose_only_the_second(targets):
    conversation = Conversation((Message("user", "Hi"), Message("assistant", "One."), Message("assistant", "Two.")))
    made = supervise(conversation, targets("qwen3"), Supervision())
    assert [row.turn for row in made.rows] == [1]
    assert [(dropped.turn, dropped.reason) for dropped in made.dropped] == [(2, "boundary_unstable")]


def test_a_lone_surrogate_drops_the_row_by_name(targets):
    made = supervise(Conversation((Message("user", "a\ud800"), Message("assistant", "b"))), targets("qwen2.5"), Supervision())
    assert [dropped.reason for dropped in made.dropped] == ["unencodable_text"]


def test_a_template_that_cannot_turn_thinking_off_is_used_with_thinking_on(tmp_path):
    source = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n"
        "{% if m.role == 'assistant' %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}"
        "{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}"
        "{% if enable_thinking is false %}{{ raise_exception('Disabling thinking is not supported.') }}{% endif %}"
        "<|im_start|>assistant\n<think>\n{% endif %}"
    )
    target = Target.load(make_target(tmp_path, source))
    conversation = Conversation((Message("user", "Hi"), Message("assistant", "Yo.")))
    (row,) = supervise(conversation, target, Supervision()).rows
    assert trained_text(target, row) == ["\n\n</think>\n\nYo.<|im_end|>"]
    refused = supervise(conversation, target, Supervision(thinking="off"))
    assert [dropped.reason for dropped in refused.dropped] == ["refused:disabling_thinking_is_not_supported"]


def test_a_thinking_argument_of_the_target_wins_over_the_choice(folders):
    target = Target.load(folders("qwen3.6"), args={"enable_thinking": False})
    assert target.encoder.decode(generation_prompt(CHAT, 2, target, Supervision(thinking="on"))).endswith("<think>\n\n</think>\n\n")


def test_a_prompt_only_conversation_has_a_generation_prompt(targets):
    target = targets("qwen2.5")
    prompt = generation_prompt(Conversation((Message("user", "Hi"),)), 1, target, Supervision())
    assert target.encoder.decode(prompt).endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.parametrize("wrong", [{"supervise": "all"}, {"thinking": "maybe"}, {"layout": "rows"}, {"seq_length": 0}, {"seq_length": "8"}])
def test_a_choice_that_does_not_exist_is_refused(wrong):
    with pytest.raises(BadChoice, match=next(iter(wrong))):
        Supervision(**wrong)


def test_a_token_that_reaches_over_the_boundary_belongs_to_the_answer(targets):
    # The header ends with a newline and so begins the answer: the tokenizer makes one token of both.
    target = targets("qwen2.5")
    (row,) = supervise(Conversation((Message("user", "Hi"), Message("assistant", "\nYo."))), target, Supervision()).rows
    assert trained_text(target, row) == ["\n\nYo.<|im_end|>"]


def test_tokens_of_the_prompt_alone_are_never_trained_on_where_the_tokenizer_splits_it_otherwise(tmp_path):
    # GPT-2's splitting keeps "\n\n" whole at the end of a text and cuts it in two before a letter, so the prompt's tokens
    # are no prefix of the turn's. speculators 0.9 trains on the header's newlines here; the server sends them.
    source = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n\n{{ m.content }}<|im_end|>{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n\n{% endif %}"
    )
    folder = make_target(tmp_path, source)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.save(str(folder / "tokenizer.json"))
    target = Target.load(folder)
    conversation = Conversation((Message("user", "Hi"), Message("assistant", "Yo.")))
    (row,) = supervise(conversation, target, Supervision()).rows
    prompt = generation_prompt(conversation, 1, target, Supervision())
    assert row.input_ids[: len(prompt)].tolist() != prompt
    assert trained_text(target, row) == ["Yo.<|im_end|>"]
    assert target.encoder.decode(row.input_ids[: int(row.loss_mask.argmax())].tolist()) == target.encoder.decode(prompt)


@pytest.mark.parametrize("name", ALL)
def test_context_never_holds_text_that_the_prompt_does_not(name, targets):
    target = targets(name)

    @PROPERTY
    @given(conversations(ragged=False))
    def check(conversation):
        for row in supervise(conversation, target, Supervision(layout="turn", seq_length=100_000)).rows:
            prompt = target.encoder.decode(generation_prompt(conversation, row.turn, target, Supervision()))
            context = target.encoder.decode(row.input_ids[: int(row.loss_mask.argmax())].tolist())
            assert prompt.startswith(context)

    check()
