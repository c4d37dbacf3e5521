"""Agentic coding: an issue is read, the file looked at, a line changed, the tests run, the work submitted.

It knows bugs that one line mends. The agent's tools are few and always the same, and as in the published sets no row carries their schemas.
"""

import random
from dataclasses import dataclass
from typing import Literal

from core.conversation import Conversation, JSONObject, Message, ToolCall
from data.generator import functions
from data.generator.operations import OPERATIONS, Operation
from data.generator.phrasing import settled
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
_LOOK = (
    "I will look at the file first, so that I can see the code of `{name}`.",
    "First I open the file and read the code of `{name}`.",
    "I start with the code of `{name}`, so I open the file.",
)
_EDIT = (
    "I see the mistake: one line of `{name}` is wrong. I will replace it with the right one.",
    "One line of `{name}` is wrong. I change this line and leave the rest as it is.",
    "The mistake is in one line of `{name}`. I will write the line as it should be.",
)
_TEST = (
    "Now I run the tests to see whether the change is right.",
    "The line is changed. Let me check it with the tests.",
    "The tests should pass now, so I run them once more.",
)
_SUBMIT = (
    "All tests pass, so the work is done. I submit the change.",
    "Everything passes now. I hand in the change.",
    "The tests pass and nothing else has to be changed. I submit it.",
)
_LIST = ("Let me see which files there are in the folder.",)
_FAIL = ("I run the tests first, so that I can see what fails.",)
_SEARCH = ("I search for `{name}` in the file first.",)
_END = "I fixed the function `{name}` in {path}, and all tests pass now. Let me know if there is anything else to do."
_SYSTEMS = (
    "You are a coding agent. Work in small steps.",
    "You fix bugs in a repository with the tools you have.",
    "SETTING: you are in a shell of the repository. Use one tool at a time.",
)


class _Writer:
    """Collects the messages of a trajectory and numbers its calls. How it speaks follows from the way the issue is put."""

    def __init__(self, item: Bug, issue: str, think: bool) -> None:
        self.messages: list[Message] = []
        self.words = {key: str(value) for key, value in vars(item).items()}
        self.issue, self.think = issue, think

    def say(self, role: Literal["system", "user"], text: str) -> None:
        self.messages.append(Message(role, text.format(**self.words)))

    def act(self, choices: tuple[str, ...], name: str, arguments: JSONObject, observation: str) -> None:
        text = settled(self.issue, choices).format(**self.words)
        call = ToolCall(f"call_{sum(m.role == 'tool' for m in self.messages)}", name, arguments)
        spoken = (
            Message("assistant", reasoning_content=text, tool_calls=(call,))
            if self.think
            else Message("assistant", text, tool_calls=(call,))
        )
        self.messages += [spoken, Message("tool", observation, tool_call_id=call.id, name=name)]


def trajectory(rng: random.Random) -> Conversation:
    """From issue to submission in four or five steps; the first one follows from the way the issue is put."""
    item, issue = bug(rng), pick(rng, _ISSUES)
    work = _Writer(item, issue, rng.random() < 0.15)
    work.say("system", pick(rng, _SYSTEMS))
    work.say("user", issue)
    first = _ISSUES.index(issue)
    if first == 1:
        folder = item.path.split("/", maxsplit=1)[0]
        names = sorted({item.path.split("/")[1], *(f"{m}.py" for m in rng.sample(MODULES, 2))})
        work.act(_LIST, "bash", {"command": f"ls {folder}"}, "\n".join(names))
    elif first == 3:
        failed = f"FAILED {item.test}::test_{item.name}\n1 failed, {rng.randint(1, 9)} passed"
        work.act(_FAIL, "run_tests", {"path": item.test}, failed)
    elif first == 4:
        work.act(_SEARCH, "bash", {"command": f"grep -n {item.name} {item.path}"}, f"{rng.randint(1, 9)}:{item.code.splitlines()[0]}")
    work.act(_LOOK, "open_file", {"path": item.path}, item.code)
    work.act(_EDIT, "edit_file", {"path": item.path, "old": item.wrong, "new": item.right}, f"edited {item.path}: 1 line changed")
    work.act(_TEST, "run_tests", {"path": item.test}, f"{rng.randint(2, 12)} passed")
    work.act(_SUBMIT, "submit", {"summary": f"Fix {item.name} in {item.path}"}, "submitted")
    work.messages.append(Message("assistant", _END.format(**work.words)))
    return Conversation(tuple(work.messages))


def spoken(rng: random.Random) -> Conversation:
    """The same work as plain chat: commands in fences, observations as user turns, no tools."""
    item, issue = bug(rng), pick(rng, _ISSUES)
    look, edit, test, submit = (settled(issue, choices) for choices in (_LOOK, _EDIT, _TEST, _SUBMIT))
    turns = [
        (issue, f"{look}\n\n```\ncat {{path}}\n```"),
        (item.code.replace("{", "{{").replace("}", "}}"), f"{edit}\n\n```\nedit {{path}}\n- {{wrong}}\n+ {{right}}\n```"),
        ("edited {path}", f"{test}\n\n```\npytest {{test}}\n```"),
        (f"{rng.randint(2, 12)} passed", f"{submit}\n\n```\nsubmit\n```"),
    ]
    words = {key: str(value) for key, value in vars(item).items()}
    messages = [Message("system", pick(rng, _SYSTEMS))]
    for observed, said in turns:
        messages += [Message("user", observed.format(**words)), Message("assistant", said.format(**words))]
    return Conversation(tuple(messages))
