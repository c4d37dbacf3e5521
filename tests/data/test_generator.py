"""What the generator says is true and never twice the same."""

import ast
import itertools
import random
import re

from data.generator import arithmetic, calls, functions, trajectories
from data.generator.corpus import conversations
from data.generator.operations import OPERATIONS
from data.generator.toolbox import TOOLS


def test_the_same_seed_gives_the_same_stream_and_another_seed_another() -> None:
    first, again, other = (list(itertools.islice(conversations(seed), 40)) for seed in ("a", "a", "b"))
    assert first == again
    assert first != other


def test_sums_are_right() -> None:
    rng = random.Random("sums")
    for _ in range(300):
        item = arithmetic.problem(rng)
        for step in item.steps:
            left, right = step.split(" = ")
            a, sign, b = left.split()
            assert int(a) + (int(b) if sign == "+" else -int(b)) == int(right)
        assert item.steps[-1].endswith(f"= {item.result}")
        assert arithmetic.gold(item).endswith(f"#### {item.result}")


def test_every_operation_gives_a_function_that_parses_and_returns_what_the_answer_says() -> None:
    rng = random.Random("functions")
    for operation in OPERATIONS:
        item = functions.draft(rng, operation)
        scope: dict[str, object] = {}
        exec(compile(ast.parse(item.code), "draft", "exec"), scope)
        assert repr(eval(item.call, scope)) == item.result


def test_tool_calls_carry_the_requests_own_values_and_only_declared_parameters() -> None:
    rng = random.Random("tools")
    assert len(TOOLS) >= 40
    for tool in TOOLS:
        for _ in range(5):
            ask, arguments = tool.request(rng)
            schema = tool.schema()["function"]["parameters"]
            assert arguments.keys() <= schema["properties"].keys()
            for value in arguments.values():
                for part in value if isinstance(value, list) else [value]:
                    assert str(part) in ask


def test_requests_name_every_required_argument() -> None:
    required = {tool.name: set(tool.schema()["function"]["parameters"]["required"]) for tool in TOOLS}
    rng = random.Random("required")
    for talk in [calls.any_talk(rng) for _ in range(300)]:
        for message in talk.messages:
            for call in message.tool_calls:
                assert required[call.name] <= call.arguments.keys()


def test_every_call_is_answered_by_a_result_with_its_id() -> None:
    rng = random.Random("ids")
    for talk in [calls.any_talk(rng) for _ in range(200)] + [trajectories.trajectory(rng) for _ in range(50)]:
        made = [call.id for message in talk.messages for call in message.tool_calls]
        assert made == [message.tool_call_id for message in talk.messages if message.role == "tool"]
        assert len(set(made)) == len(made)


def test_a_trajectory_mends_the_line_that_is_wrong() -> None:
    rng = random.Random("bugs")
    for _ in range(60):
        item = trajectories.bug(rng)
        assert item.wrong in item.code
        assert item.wrong != item.right
        mended = item.code.replace(item.wrong, item.right, 1)
        scope: dict[str, object] = {}
        exec(mended, scope)
        assert repr(eval(item.call, scope)) == item.result


def test_no_text_has_an_unfilled_placeholder() -> None:
    for talk in itertools.islice(conversations("placeholders"), 400):
        for message in talk.messages:
            assert not re.search(r"\{\w+\}", message.content), message.content
