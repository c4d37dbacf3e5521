"""Agentic coding: an issue is read, the file looked at, a line changed, the tests run, the work submitted.

It knows bugs that one line mends. The agent's tools are few and always the same, and as in the published sets no row carries their schemas.
"""

import random
from dataclasses import dataclass

from core.conversation import Conversation, JSONObject, Message, ToolCall
from data.generator import functions
from data.generator.operations import OPERATIONS, Operation
from data.generator.words import MODULES, PROJECTS, pick

_BREAKS = (
    ("return {x}[0]", "return {x}[1]"),
    ("max(", "min("),
    ("min(", "max("),
    ("[::-1]", "[::1]"),
    (".upper()", ".lower()"),
    (".lower()", ".upper()"),
    (" * 2", " * 3"),
    (" + ", " - "),
    (" - ", " + "),
    ("% 2 == 0", "% 2 == 1"),
    ("% 2 == 1", "% 2 == 0"),
    ("startswith", "endswith"),
    ("endswith", "startswith"),
    ("> 0", "< 0"),
    ("', '", "' '"),
    ("[-1]", "[0]"),
    ("[0]", "[-1]"),
    ("reverse=True", "reverse=False"),
    ("* 60", "* 6"),
    (" == 0", " == 1"),
    (" / ", " * "),
)


@dataclass(frozen=True)
class Bug:
    """A function of a project with one wrong line."""

    project: str
    path: str
    test: str
    name: str
    what: str
    call: str
    result: str
    code: str
    right: str
    wrong: str


def bug(rng: random.Random) -> Bug:
    """A bug whose wrong line differs from the right one in one place."""
    while True:
        operation: Operation = pick(rng, OPERATIONS)
        item = functions.draft(rng, operation, doctest=False)
        lines = item.code.splitlines()
        found = [(i, good, bad) for i, line in enumerate(lines[2:], 2) for good, bad in _BREAKS if good in line]
        if not found:
            continue
        index, good, bad = pick(rng, found)
        right = lines[index].strip()
        wrong = right.replace(good, bad, 1)
        broken = "\n".join([*lines[:index], lines[index].replace(good, bad, 1), *lines[index + 1 :]])
        module = pick(rng, MODULES)
        folder = pick(rng, ("src", "lib", "app", "core"))
        return Bug(
            pick(rng, PROJECTS),
            f"{folder}/{module}.py",
            f"tests/test_{module}.py",
            item.name,
            item.what,
            item.call,
            item.result,
            broken,
            right,
            wrong,
        )


_ISSUES = (
    "In `{project}` the function `{name}` in {path} is wrong: `{call}` should return `{result}`. Please fix it.",
    "Fix `{name}` in {path}. It should be that it {what}.",
    "{path}: `{name}` gives a wrong answer. We expect `{call}` to be `{result}`.",
    "The tests in {test} fail because of `{name}` in {path}. Repair it.",
    "ISSUE ({project}): `{call}` does not return `{result}`. The code is in {path}.",
)
_LOOK = ("I will look at the file first.", "Let me open {path}.", "First I read {path}.", "I start with the code of `{name}`.")
_EDIT = (
    "The line `{wrong}` is wrong. It must be `{right}`.",
    "I see the mistake: `{wrong}` should be `{right}`.",
    "`{name}` has the wrong line `{wrong}`. I change it.",
)
_TEST = ("Now I run the tests.", "Let me check it with the tests.", "The tests should pass now.")
_SUBMIT = ("All tests pass. I hand it in.", "Everything passes, so I submit.", "Done. I submit the change.")
_SYSTEMS = (
    "You are a coding agent. Work in small steps.",
    "You fix bugs in a repository with the tools you have.",
    "SETTING: you are in a shell of the repository. Use one tool at a time.",
)


class _Writer:
    """Collects the messages of a trajectory and numbers its calls."""

    def __init__(self, rng: random.Random, item: Bug, think: bool) -> None:
        self.messages: list[Message] = []
        self.words = {key: str(value) for key, value in vars(item).items()}
        self.rng, self.think = rng, think

    def say(self, role: str, choices: tuple[str, ...]) -> None:
        self.messages.append(Message("system" if role == "system" else "user", pick(self.rng, choices).format(**self.words)))

    def act(self, choices: tuple[str, ...], name: str, arguments: JSONObject, observation: str) -> None:
        text = pick(self.rng, choices).format(**self.words)
        call = ToolCall(f"call_{sum(m.role == 'tool' for m in self.messages)}", name, arguments)
        spoken = (
            Message("assistant", reasoning_content=text, tool_calls=(call,))
            if self.think
            else Message("assistant", text, tool_calls=(call,))
        )
        self.messages += [spoken, Message("tool", observation, tool_call_id=call.id, name=name)]


def trajectory(rng: random.Random) -> Conversation:
    """From issue to submission in three to six steps."""
    item = bug(rng)
    work = _Writer(rng, item, rng.random() < 0.15)
    work.say("system", _SYSTEMS)
    work.say("user", _ISSUES)
    if rng.random() < 0.3:
        folder = item.path.split("/", maxsplit=1)[0]
        names = sorted({item.path.split("/")[1], *(f"{m}.py" for m in rng.sample(MODULES, 2))})
        work.act(("Let me see which files there are.", "I list the files."), "bash", {"command": f"ls {folder}"}, "\n".join(names))
    if rng.random() < 0.3:
        failed = f"FAILED {item.test}::test_{item.name}\n1 failed, {rng.randint(1, 9)} passed"
        work.act(("I run the tests to see the failure.",), "run_tests", {"path": item.test}, failed)
    if rng.random() < 0.2:
        work.act(
            ("I search for `{name}`.",),
            "bash",
            {"command": f"grep -n {item.name} {item.path}"},
            f"{rng.randint(1, 9)}:{item.code.splitlines()[0]}",
        )
    work.act(_LOOK, "open_file", {"path": item.path}, item.code)
    work.act(_EDIT, "edit_file", {"path": item.path, "old": item.wrong, "new": item.right}, f"edited {item.path}: 1 line changed")
    if rng.random() < 0.8:
        work.act(_TEST, "run_tests", {"path": item.test}, f"{rng.randint(2, 12)} passed")
    work.act(_SUBMIT, "submit", {"summary": f"Fix {item.name} in {item.path}"}, "submitted")
    work.messages.append(Message("assistant", f"I fixed `{item.name}` in {item.path}: `{item.right}` now stands where `{item.wrong}` was."))
    return Conversation(tuple(work.messages))


def spoken(rng: random.Random) -> Conversation:
    """The same work as plain chat: commands in fences, observations as user turns, no tools."""
    item = bug(rng)
    turns = [
        (pick(rng, _ISSUES), f"{pick(rng, _LOOK)}\n\n```\ncat {{path}}\n```"),
        (item.code.replace("{", "{{").replace("}", "}}"), f"{pick(rng, _EDIT)}\n\n```\nedit {{path}}\n- {{wrong}}\n+ {{right}}\n```"),
        ("edited {path}", f"{pick(rng, _TEST)}\n\n```\npytest {{test}}\n```"),
        (f"{rng.randint(2, 12)} passed", f"{pick(rng, _SUBMIT)}\n\n```\nsubmit\n```"),
    ]
    words = {key: str(value) for key, value in vars(item).items()}
    messages = [Message("system", pick(rng, _SYSTEMS))]
    for observed, said in turns:
        messages += [Message("user", observed.format(**words)), Message("assistant", said.format(**words))]
    return Conversation(tuple(messages))
