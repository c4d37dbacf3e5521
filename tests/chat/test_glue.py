"""Plain chats that are put together from their texts come out as they are rendered, or are rendered."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.chat import FastPath, Supervision, Target
from core.chat.glue import EVERY, PROVEN, Pieces, Trim, glue_of
from core.conversation import Conversation, Message
from tests.chat.conftest import ALL
from tests.chat.targets import make_target
from tests.chat.test_fast import assert_equal

ROLES = ("system", "user", "assistant", "user", "assistant")
BLANKS = st.sampled_from(["", " ", "\n", "\n\n", " \n", "\t", "\u00a0", "\r\n", "\x1c", "\u2028"])
TEXTS = st.builds(lambda left, text, right: left + text + right, BLANKS, st.text(min_size=1).filter(str.strip), BLANKS)
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ PRINTED }}<|im_end|>\n{% endfor %}"


def chat(*texts: str, lead: int = 0, reasons: tuple[str, ...] = ()) -> Conversation:
    """Texts in turn; `reasons`: the reasoning of the assistant's turns, the last ones if there are fewer."""
    messages = [Message(role, text) for role, text in zip(ROLES[lead:], texts, strict=False)]
    answers = [place for place, message in enumerate(messages) if message.role == "assistant"]
    for place, reason in zip(reversed(answers), reversed(reasons), strict=False):
        messages[place] = replace(messages[place], reasoning_content=reason)
    return Conversation(tuple(messages))


def ready(target: Target, lead: int = 0, count: int = 5, reasons: int = 0) -> FastPath:
    """A path that has seen the kind of such chats so often that it puts them together."""
    path = FastPath(target, Supervision(turns="all"))
    for number in range(PROVEN + 6):
        words = (f"word {number} {place}" for place in range(count))
        path.supervise_batch([chat(*words, lead=lead, reasons=tuple(f"why {number} {place}" for place in range(reasons)))])
    return path


def rendered(path: FastPath, chats: list[Conversation], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many of the chats it renders."""
    seen = []
    real = FastPath._render
    monkeypatch.setattr(FastPath, "_render", lambda self, *given: seen.append(given) or real(self, *given))
    path.supervise_batch(chats)
    monkeypatch.undo()
    return len(seen)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    def of(printed: str) -> Target:
        return Target.load(make_target(tmp_path_factory.mktemp("glue"), CHATML.replace("PRINTED", printed)))

    return of


@pytest.mark.parametrize("lead", [0, 1])
@pytest.mark.parametrize("name", ALL)
def test_any_texts_with_any_blanks_come_out_as_by_the_slow_path(name, lead, targets):
    target = targets(name)
    path = ready(target, lead)

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(TEXTS, min_size=5, max_size=5))
    def check(texts):
        assert_equal(path, [chat(*texts, lead=lead)], path.supervision, target)

    check()
    assert not path.report.mismatched


@pytest.mark.parametrize("reasons", [1, 2])
@pytest.mark.parametrize("name", ALL)
def test_any_reasoning_with_any_blanks_comes_out_as_by_the_slow_path(name, reasons, targets):
    target = targets(name)
    path = ready(target, reasons=reasons)

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(TEXTS, min_size=5, max_size=5), st.lists(TEXTS, min_size=reasons, max_size=reasons))
    def check(texts, reasoning):
        assert_equal(path, [chat(*texts, reasons=tuple(reasoning))], path.supervision, target)

    check()
    assert not path.report.mismatched


@pytest.mark.parametrize("reasons", [1, 2])
@pytest.mark.parametrize("name", ["qwen3", "qwen3.6", "demo"])
def test_chats_with_reasoning_are_not_rendered(name, reasons, targets, monkeypatch):
    path = ready(targets(name), reasons=reasons)
    chats = [chat("s", "q", "a", f"q {number}", "b\n", reasons=("\nw", f"x{number}\n")[:reasons]) for number in range(10)]
    assert rendered(path, chats, monkeypatch) <= 1


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3.6", "demo", "llama3"])
def test_chats_of_a_known_kind_are_not_rendered(name, targets, monkeypatch):
    path = ready(targets(name), 1)
    assert rendered(path, [chat(f" a{number}", "b\n", f"c {number} ", "\nd", lead=1) for number in range(10)], monkeypatch) <= 1


@pytest.mark.parametrize(
    "printed",
    [
        "m.content | replace('zebra', 'horse')",
        "m.content | upper",
        "m.content.title()",
        "m.content[:40]",
        "m.content | truncate(20)",
        "m.content.split('\\n')[0]",
        "m.content.strip('!')",
        "m.content if m.content | length < 900 else 'long'",
    ],
)
def test_a_template_that_changes_texts_is_always_asked(printed, made, monkeypatch):
    path = ready(made(printed))
    assert rendered(path, [chat("a", "b", "c", "d", "e")] * 3, monkeypatch) == 3


@pytest.mark.parametrize("changed", ["[:40]", " | upper", "[::-1]", " | replace('zebra', 'horse')"])
def test_a_template_that_changes_reasoning_is_always_asked(changed, made, monkeypatch):
    path = ready(made(f"(m.reasoning_content or ''){changed} ~ m.content"), reasons=2)
    assert rendered(path, [chat("a", "b", "c", "d", "e", reasons=("zebra", "f" * 60))] * 3, monkeypatch) == 3


def test_a_text_that_the_template_may_compare_with_is_rendered(made):
    target = made("'pong' if m.content == 'ping' else m.content")
    path = ready(target)
    assert_equal(path, [chat("a", "ping", "c", "ping", "e"), chat("a", "pings", "c", "d", "e")], path.supervision, target)
    assert not path.report.mismatched


def test_a_text_that_comes_out_otherwise_than_it_stands_makes_all_that_was_given_doubtful(made):
    target = made("m.content if m.content | length != 33 else 'thirty-three'")
    path = ready(target)
    odd = "x" * 33
    path.supervise_batch([chat("a", odd, "c", "d", "e")])  # taken for one that stands as it is
    for _ in range(EVERY):
        assert_equal(path, [chat("a", "b", "c", "d", "e")], path.supervision, target)
    assert not path.report.mismatched
    batch = [chat("a", odd, "c", "d", "e") for _ in range(EVERY)]
    assert_equal(path, batch, path.supervision, target)
    assert path.report.mismatched == 1
    assert path.report.invalid_since is not None
    assert "the template prints a text otherwise than it stands" in path.report.reasons
    assert_equal(path, batch, path.supervision, target)


def test_pieces_say_which_blanks_are_trimmed():
    def printed(messages, count, setting):
        return "".join(f"<{place}>{message['content'].lstrip(chr(10))}" for place, message in enumerate(messages[:count]))

    messages = [{"role": "user", "content": "x"}] * 2
    glue = glue_of(messages, [(2, None)], printed, None)
    assert glue is not None
    assert glue.renders == (Pieces(("<0>", "<1>", ""), (0, 1), (Trim("\n", ""), Trim("\n", ""))),)
    assert glue.renders[0].around(["\n a\n", "\nb "]) == "<0> a\n<1>b "
