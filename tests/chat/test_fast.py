"""The fast path gives what the slow one gives, to the token, for every template and every combination of choices."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.chat import ChatTemplate, FastPath, Supervision, Target, supervise
from core.chat.fast import same
from core.chat.fast_encoding import FastEncoder, fuzz_texts
from core.chat.fast_plan import RowPlan
from core.chat.fast_render import FastRenderer
from core.conversation import Conversation, Message, ToolCall
from tests.chat.conftest import ALL
from tests.chat.conversations import conversations
from tests.chat.targets import CHATML, make_target
from tests.chat.test_choices import LONG
from tests.chat.test_forgery import conversation_with
from tests.chat.test_supervision import AGENT, CHAT

CHOICES = st.builds(
    Supervision,
    supervise=st.sampled_from(["sampled", "boundary", "content"]),
    thinking=st.sampled_from(["auto", "on", "off", "default"]),
    layout=st.sampled_from(["auto", "turn", "conversation"]),
    turns=st.sampled_from(["after_user", "all", "last", "flagged"]),
    reasoning=st.booleans(),
    tool_calls=st.booleans(),
    special_tokens=st.sampled_from(["quarantine", "as_text"]),
    overlong=st.sampled_from(["truncate", "drop", "keep_last_turns"]),
    seq_length=st.sampled_from([24, 64, 200, 100_000]),
)
PROPERTY = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))


def assert_equal(path: FastPath, chats: list[Conversation], choices: Supervision, target: Target) -> None:
    for chat, fast in zip(chats, path.supervise_batch(chats), strict=True):
        slow = supervise(chat, target, choices)
        assert same(fast, slow), (chat, choices, fast, slow)


def begin_too_late(monkeypatch) -> None:
    """Make every plan take the first token of each trained turn for an untrained one."""
    right, one_later = RowPlan.trained, np.array([[0], [0], [1], [0], [0], [0], [0], [0]])
    monkeypatch.setattr(RowPlan, "trained", property(lambda plan: right.func(plan) + one_later))


def retold(chat: Conversation, words: str) -> Conversation:
    """The same shape with other words."""
    messages = tuple(
        Message(
            message.role,
            message.content and f"{words} {message.content}",
            message.reasoning_content and f"{words}{message.reasoning_content}",
            tuple(ToolCall(call.id, call.name, {**call.arguments, "more": words}) for call in message.tool_calls),
            message.tool_call_id,
            message.name,
        )
        for message in chat.messages
    )
    return Conversation(messages, chat.tools, chat.source, chat.row_id)


@pytest.mark.parametrize("name", ALL)
def test_made_conversations_come_out_as_by_the_slow_path(name, targets):
    target = targets(name)

    @PROPERTY
    @given(st.lists(conversations(), min_size=1, max_size=3), CHOICES, st.text(max_size=6), st.text(max_size=6))
    def check(chats, choices, one, other):
        path = FastPath(target, choices)
        assert_equal(path, [*chats, *(retold(chat, one) for chat in chats), *(retold(chat, other) for chat in chats)], choices, target)
        assert_equal(path, [*(retold(chat, one + other) for chat in chats), *chats], choices, target)

    check()


SHAPES = [CHAT, AGENT, LONG, Conversation((Message("user", "Hi"), Message("assistant", "Hello."))), Conversation((Message("user", "Hi"),))]


OPTIONS: dict[str, list[Any]] = {
    "supervise": ["sampled", "boundary", "content"],
    "thinking": ["auto", "on", "off", "default"],
    "layout": ["auto", "turn", "conversation"],
    "turns": ["after_user", "all", "last", "flagged"],
    "reasoning": [True, False],
    "tool_calls": [True, False],
    "special_tokens": ["quarantine", "as_text"],
    "overlong": ["truncate", "drop", "keep_last_turns"],
    "seq_length": [4096, 60],
}


def combinations(seed: str, count: int) -> list[Supervision]:
    """Every choice on its own beside the defaults, and `count` random combinations."""
    rng = random.Random(seed)
    single = [Supervision(**{name: value}) for name, values in OPTIONS.items() for value in values[1:]]
    return [*single, *(Supervision(**{name: rng.choice(values) for name, values in OPTIONS.items()}) for _ in range(count))]


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3.6", "demo", "llama3", "harmony", "generation", "strips", "coder"])
def test_every_choice_and_random_combinations_of_them_are_equal(name, targets):
    target = targets(name)
    for choices in combinations(name, 8):
        path = FastPath(target, choices)
        assert_equal(path, [retold(chat, words) for words in ("Well,", "So é", "Now") for chat in SHAPES], choices, target)


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3.6", "demo", "llama3", "generation", "strips", "coder"])
def test_the_default_choices_are_fast_after_two_rows_of_a_kind(name, targets):
    target = targets(name)
    chats = SHAPES[2:4] if name in ("llama3", "generation") else SHAPES[:4]
    path = FastPath(target, Supervision())
    path.supervise_batch([retold(chat, words) for words in ("Well,", "So", "And", "But")[: 4 if name == "strips" else 2] for chat in chats])
    before = path.report.fast
    path.supervise_batch([retold(chat, words) for words in ("Now", "Then", "Good,") for chat in chats])
    assert path.report.fast - before == 3 * len(chats)
    assert (path.report.renderer, path.report.encoder) == ("minijinja", "fastokens")
    assert path.report.reasons == []


@pytest.mark.parametrize("special_tokens", ["quarantine", "as_text"])
@pytest.mark.parametrize("token", CHATML)
def test_a_special_token_in_a_row_of_a_known_kind_is_seen(token, special_tokens, targets):
    target, choices = targets("qwen3.6"), Supervision(special_tokens=special_tokens)
    path = FastPath(target, choices)
    path.supervise_batch([retold(conversation_with("user", ""), words) for words in ("a", "b", "c")])
    for field in ("user", "reasoning", "value", "key", "tool description", "id", "result name"):
        assert_equal(path, [conversation_with(field, token), conversation_with(field, token[:-1])], choices, target)


def test_a_thought_that_the_template_reads_out_of_content_is_left_to_the_slow_path(targets):
    target, choices = targets("qwen3"), Supervision()
    path = FastPath(target, choices)
    chat = Conversation((Message("user", "a"), Message("assistant", "b"), Message("user", "c"), Message("assistant", "d")))
    assert_equal(path, [retold(chat, words) for words in ("x", "y", "z")], choices, target)
    hidden = Conversation((Message("user", "a"), Message("assistant", "why</think>b"), Message("user", "c"), Message("assistant", "d")))
    assert_equal(path, [hidden], choices, target)


@pytest.mark.parametrize("layout", ["auto", "conversation", "turn"])
@pytest.mark.parametrize("name", ["qwen3.6", "qwen3", "harmony", "gemma"])
def test_a_turn_that_the_template_refuses_by_itself_breaks_nothing(name, layout, targets):
    target, choices = targets(name), Supervision(turns="all", layout=layout)
    chat = Conversation((Message("assistant", "Welcome."), Message("user", "Hi"), Message("assistant", "Hello.")))
    assert_equal(FastPath(target, choices), [retold(chat, words) for words in "abcd"], choices, target)


SCAFFOLDED = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% if enable_thinking is false %}(no thought)\n{% endif %}{% endif %}"
)


def test_turns_that_take_the_other_thinking_prompt_go_fast_and_those_that_begin_with_the_scaffold_do_not(tmp_path):
    # The recorded answers lack the scaffold that the server would send, so the prompt without it is the one that fits.
    target, choices = Target.load(make_target(tmp_path, SCAFFOLDED)), Supervision()
    path = FastPath(target, choices)
    assert_equal(path, [retold(SHAPES[3], words) for words in "abcdefghij"], choices, target)
    assert path.report.fast >= 6
    for text in ("(no thought)\nHi", "(no thought)", "(no thoughts", "(n", "\n(no thought)\n"):
        chat = Conversation((Message("user", "Hi"), Message("assistant", text)))
        assert_equal(path, [chat, retold(SHAPES[3], "z"), chat], choices, target)
    assert path.report.invalid_since is None


def test_the_renderer_leaves_to_jinja2_what_minijinja_prints_otherwise(targets):
    template = targets("qwen3.6").template
    renderer = FastRenderer.proven(template)
    assert isinstance(renderer, FastRenderer)
    for value in (1.0, 1e20, [{"a": -0.0}]):
        call = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"x": value}}}]}
        assert renderer.render([{"role": "user", "content": "a"}, call], None, False, {}) is None
    trimmed = [{"role": "user", "content": "\x1fa\x1f"}, {"role": "assistant", "content": "b"}]
    assert renderer.render(trimmed, None, False, {}) is None
    refused = [{"role": "system", "content": "a"}]
    assert renderer.render(refused, None, False, {}) is None


@pytest.mark.parametrize(
    "source", ["{{ 1e20 }}", "{{ messages[0].content.swapcase() }}", "{% set x %}{{ '%d' | format(3) }}{% endset %}{{ x ~ 1e16 }}"]
)
def test_a_template_that_minijinja_cannot_read_or_prints_otherwise_keeps_jinja2_and_says_why(source):
    renderer = FastRenderer.proven(ChatTemplate(source))
    messages = [{"role": "user", "content": "a"}]
    assert isinstance(renderer, str) or renderer.render(messages, None, False, {}) is None


def test_an_encoder_that_fastokens_gets_wrong_or_cannot_load_is_the_hugging_face_one(targets):
    encoder = targets("qwen2.5").encoder
    fast = FastEncoder(encoder)
    texts = [*fuzz_texts(CHATML), "Hello <|im_start|>x"]
    batch = fast.encode_batch_flat(texts)
    assert fast.name == "fastokens"
    assert [batch.ids[a:b].tolist() for a, b in zip(batch.offsets, batch.offsets[1:], strict=False)] == [encoder.encode(t) for t in texts]

    class Wrong:
        def encode_batch_flat(self, texts):
            import numpy as np

            return np.zeros(len(texts), np.uint32).tobytes(), np.arange(len(texts) + 1, dtype=np.uint64).tobytes()

    fast._fast = Wrong()
    batch = fast.encode_batch_flat(texts)
    assert fast.name == "hf" and fast.reason is not None and "otherwise" in fast.reason
    assert [batch.ids[a:b].tolist() for a, b in zip(batch.offsets, batch.offsets[1:], strict=False)] == [encoder.encode(t) for t in texts]


def test_tools_that_conversations_share_are_printed_like_any_others(targets):
    template = targets("qwen3").template
    renderer = FastRenderer.proven(template)
    assert isinstance(renderer, FastRenderer)
    messages = [{"role": "user", "content": "x"}]
    offered = [[{"type": "function", "function": {"name": f"f{number}", "description": "é <b>"}}] for number in range(150)]
    for tools in (*offered, *offered[::-1], *([dict(tool) for tool in tools] for tools in offered)):  # more than are held
        assert renderer.render(messages, tools, False, {}) == template.render((messages, tools))


def test_a_wrong_plan_is_found_by_the_sample_and_ends_the_fast_path(targets, monkeypatch):
    import core.chat.fast as module

    target, choices = targets("qwen2.5"), Supervision()
    monkeypatch.setattr(module, "EVERY", 2)
    path = FastPath(target, choices)
    chats = [retold(SHAPES[3], words) for words in "abcdefgh"]
    path.supervise_batch(chats[:4])
    begin_too_late(monkeypatch)
    assert_equal(path, chats, choices, target)
    assert any("another row than the slow one" in reason for reason in path.report.reasons)
    assert path.report.invalid_since is not None and path.report.invalid_since < 4


def test_a_lone_surrogate_is_a_reason_not_a_crash(targets):
    target, choices = targets("qwen3.6"), Supervision()
    path = FastPath(target, choices)
    bad = Conversation((Message("user", "\ud800"), Message("assistant", "b")))
    assert_equal(path, [retold(SHAPES[3], "a"), bad, retold(SHAPES[3], "b"), bad], choices, target)


def test_results_do_not_depend_on_how_the_work_is_cut_into_batches(targets):
    target, choices = targets("qwen3.6"), Supervision()
    chats = [retold(chat, words) for words in ("a", "b", "c", "d") for chat in SHAPES]
    at_once, one_by_one = FastPath(target, choices), FastPath(target, choices)
    for left, right in zip(at_once.supervise_batch(chats), (one_by_one.supervise_batch([chat])[0] for chat in chats), strict=True):
        assert same(left, right)
