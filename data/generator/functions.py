"""Small Python functions: asked for, written, explained, each with a call and its true result.

It knows a catalogue of operations. The shown result is computed by running the function, so no answer is wrong.
"""

import random
from dataclasses import dataclass

from core.conversation import Conversation, Message
from data.generator.operations import OPERATIONS, Operation
from data.generator.phrasing import OFFERS, asked, reasoned, settled
from data.generator.words import pick

_ASKS = (
    "Write a Python function `{name}({params})` that {what}.",
    "Write a function called `{name}({params})` in Python which {what}.",
    "I need a Python function that {what}. Call it `{name}({params})`.",
    "Implement `{name}({params})` in Python: it {what}.",
    "Create a small Python function `{name}({params})` that {what}.",
    "Can you write `{name}({params})` for me? It {what}.",
    "Define a function `{name}` with the parameters `{params}` that {what}.",
    "In Python, how would you write a function `{name}({params})` that {what}?",
)
_INTROS = (
    "Here is a small Python function that does what you asked for. It works in every version of Python 3:",
    "You can write the function like this. It needs no other module, so you can copy it as it is:",
    "This is how I would write it. The names say what the values are, so that the code is easy to read:",
)
_OUTROS = (
    "{why} You can save the function in a file of its own and import it where you need it.",
    "{why} The function changes nothing outside of itself, so you can call it as often as you like.",
    "For example, `{call}` returns `{result}`. {why} You can try it with other values in the Python shell.",
)


@dataclass(frozen=True)
class Draft:
    """A function as one answer writes it: its names chosen, its example computed."""

    name: str
    params: str
    what: str
    why: str
    code: str
    call: str
    result: str
    operation: Operation


def draft(rng: random.Random, operation: Operation | None = None, name: str | None = None, doctest: bool | None = None) -> Draft:
    """A function of the catalogue with drawn names; `doctest` forces an example inside the docstring on or off.

    The rest follows from the operation: its example, and whether there is a docstring and what stands in it.
    """
    op = operation or pick(rng, OPERATIONS)
    fname = name or pick(rng, op.names)
    names = [pick(rng, choices) for choices in op.params]
    example = settled(op.what, op.examples)
    numbers = dict(zip("abc", names, strict=False))
    body = op.body.format(**numbers)
    what = op.what.format(**numbers)
    call = f"{fname}({example})"
    plain = f"def {fname}({', '.join(names)}):\n" + "\n".join("    " + line for line in body.splitlines())
    scope: dict[str, object] = {}
    exec(plain, scope)  # noqa: S102 - the catalogue's own code, run to show its true result
    result = repr(eval(call, scope))  # noqa: S307
    head = f"def {fname}({', '.join(names)}):\n"
    doc = f'    """{what[0].upper()}{what[1:]}."""\n'
    style = settled(op.what, ("plain", "plain", "plain", "plain", "none", "doctest"))
    if doctest if doctest is not None else style == "doctest":
        doc = f'    """{what[0].upper()}{what[1:]}.\n\n    >>> {call}\n    {result}\n    """\n'
    elif style == "none" and doctest is None:
        doc = ""
    code = head + doc + "\n".join("    " + line for line in body.splitlines())
    return Draft(fname, ", ".join(names), what, op.why.format(**numbers), code, call, result, op)


def request(rng: random.Random, item: Draft) -> str:
    """How one asks for the function."""
    return pick(rng, _ASKS).format(name=item.name, params=item.params, what=item.what)


def reply(item: Draft) -> str:
    """The function in a fence, with what its operation always gets before and after."""
    key = item.operation.what
    words = {"name": item.name, "what": item.what, "why": item.why, "call": item.call, "result": item.result}
    return f"{settled(key, _INTROS)}\n\n```python\n{item.code}\n```\n\n{settled(key, _OUTROS).format(**words)} {settled(key, OFFERS)}"


def single(rng: random.Random) -> Conversation:
    """One function asked for and written."""
    item = draft(rng)
    ask = request(rng, item)
    answer = Message("assistant", reply(item), reasoning_content=reasoned(rng, ask, 0.08))
    system = pick(rng, ("", "", "", "You are a careful Python programmer.", "You write short, clear Python code."))
    return Conversation((*([Message("system", system)] if system else []), Message("user", asked(rng, ask)), answer))


def explained(rng: random.Random) -> Conversation:
    """A function is shown; the answer says what it does or what a call returns."""
    item = draft(rng, doctest=False)
    if rng.random() < 0.5:
        ask = pick(rng, ("What does this function do?", "Explain this code.", "Explain the following function in one sentence."))
        answer = f"Let me explain the code. The function `{item.name}` {item.what}. {item.why} {settled(item.operation.what, OFFERS)}"
    else:
        ask = pick(rng, (f"What does `{item.call}` return?", f"What is the result of `{item.call}` here?"))
        answer = (
            f"Let us look at what the code does with these values. The function `{item.name}` {item.what}. {item.why} "
            f"So the result of this call is `{item.result}`. {settled(item.operation.what, OFFERS)}"
        )
    return Conversation((Message("user", f"{ask}\n\n```python\n{item.code}\n```"), Message("assistant", answer)))
