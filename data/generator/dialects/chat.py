"""Raw rows of the chat sets: OpenOrca, UltraChat, ShareGPT (HTML values), OpenAssistant (message rows of trees)."""

import html
import random
import re

from core.conversation import Conversation, JSONObject, Message
from data.generator.words import first_name, pick

_ORCA_PARTS = ("niv", "flan", "cot", "t0")
_FENCE = re.compile(r"```(\w*)\n(.*?)\n```", re.DOTALL)


def _identifier(rng: random.Random, digits: int) -> str:
    return "".join(pick(rng, "0123456789abcdef") for _ in range(digits))


def uuid(rng: random.Random) -> str:
    """A drawn identifier in UUID form."""
    return "-".join(_identifier(rng, n) for n in (8, 4, 4, 4, 12))


def _split(conversation: Conversation) -> tuple[str, list[Message]]:
    first, *rest = conversation.messages
    return (first.content, rest) if first.role == "system" else ("", [first, *rest])


def openorca(rng: random.Random, conversation: Conversation) -> JSONObject:
    """`id, system_prompt, question, response`; an absent system prompt is the empty string."""
    system, (ask, answer, *_) = _split(conversation)
    name = f"{pick(rng, _ORCA_PARTS)}.{rng.randint(1000, 2_500_000)}"
    return {"id": name, "system_prompt": system, "question": ask.content, "response": answer.content}


def ultrachat(rng: random.Random, conversation: Conversation) -> JSONObject:
    """`prompt, prompt_id, messages`; only user and assistant turns, `prompt` repeats the first one."""
    _, turns = _split(conversation)
    messages = [{"content": m.content, "role": m.role} for m in turns]
    return {"prompt": turns[0].content, "prompt_id": _identifier(rng, 64), "messages": messages}


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def _block(text: str) -> str:
    lines = text.split("\n")
    if all(line.startswith("- ") for line in lines):
        return "<ul>" + "".join(f"<li>{_inline(line[2:])}</li>" for line in lines) + "</ul>"
    if all(re.match(r"\d+\. ", line) for line in lines):
        return "<ol>" + "".join(f"<li>{_inline(line.split('. ', 1)[1])}</li>" for line in lines) + "</ol>"
    return "<p>" + "<br>".join(_inline(line) for line in lines) + "</p>"


def as_html(text: str) -> str:
    """Markdown as the chat page showed it: paragraphs, lists, and code boxes with their `Copy code` button."""
    parts: list[str] = []
    end = 0
    for fence in _FENCE.finditer(text):
        parts += [_block(part) for part in text[end : fence.start()].strip().split("\n\n") if part]
        language, code = fence[1] or "text", html.escape(fence[2], quote=False)
        parts.append(
            f'<pre><div class="bg-black rounded-md mb-4"><div class="flex items-center text-gray-200 px-4 py-2 text-xs">'
            f"<span>{language}</span>"
            f'<button class="flex ml-auto gap-2">Copy code</button></div><div class="p-4 overflow-y-auto">'
            f'<code class="!whitespace-pre hljs language-{language}">{code}\n</code></div></div></pre>'
        )
        end = fence.end()
    parts += [_block(part) for part in text[end:].strip().split("\n\n") if part]
    return f'<div class="markdown prose w-full break-words dark:prose-invert light">{"".join(parts)}</div>'


def sharegpt(rng: random.Random, conversation: Conversation) -> JSONObject:
    """`id, conversations[{from, value}]`; answers are HTML, some pieces begin in the middle of a chat, roles vary a little."""
    system, turns = _split(conversation)
    human, bot = ("human", "gpt") if rng.random() < 0.9 else ("user", pick(rng, ("chatgpt", "bing", "bard", "gpt")))
    rows = [{"from": human if m.role == "user" else bot, "value": m.content if m.role == "user" else as_html(m.content)} for m in turns]
    if system:
        rows.insert(0, {"from": "system", "value": system})
    piece = 0
    if not system and rng.random() < 0.06:
        piece = rng.randint(1, 60)
        rows.insert(0, {"from": "gpt", "value": as_html(f"That was all about {first_name(rng)}. Ask me something else.")})
    return {"id": f"{_identifier(rng, 7)}_{piece}", "conversations": rows}


_OTHER_LANGUAGES = {
    "de": (("Was ist deine Lieblingsfarbe?", "Ich mag Blau, denn der Himmel ist blau."), ("Wie geht es dir?", "Danke, mir geht es gut.")),
    "es": (("¿Qué es un barco de vela?", "Un barco que se mueve con el viento."), ("¿Cómo estás?", "Muy bien, gracias.")),
    "fr": (("Qu'est-ce qu'une lanterne ?", "Une lampe que l'on porte à la main."),),
}
_WORSE = ("I do not know.", "Yes.", "Maybe, I am not sure.", "Please ask somebody else.", "That is a good question.")


class _Tree:
    """Collects the message rows of one tree."""

    def __init__(self, rng: random.Random, lang: str, state: str) -> None:
        self.rng, self.lang, self.state = rng, lang, state
        self.rows: list[JSONObject] = []
        self.root = uuid(rng)

    def add(self, parent: str | None, role: str, text: str, rank: int | None, *, deleted: bool = False) -> str:
        rng = self.rng
        name = self.root if parent is None else uuid(rng)
        self.rows.append(
            {
                "message_id": name,
                "parent_id": parent,
                "user_id": uuid(rng),
                "created_date": f"2023-{rng.randint(1, 4):02d}-{rng.randint(1, 28):02d}T{rng.randint(0, 23):02d}:00:00+00:00",
                "text": text,
                "role": role,
                "lang": self.lang,
                "review_count": rng.randint(2, 4),
                "review_result": True,
                "deleted": deleted,
                "rank": rank,
                "synthetic": False,
                "model_name": None,
                "detoxify": {"toxicity": round(rng.random() / 500, 6), "insult": round(rng.random() / 800, 6)}
                if rng.random() < 0.7
                else None,
                "message_tree_id": self.root,
                "tree_state": self.state,
                "emojis": {"name": ["+1"], "count": [rng.randint(1, 4)]} if rng.random() < 0.3 else None,
                "labels": {"name": ["spam", "quality"], "value": [0.0, round(rng.random(), 4)], "count": [3, 3]}
                if rng.random() < 0.5
                else None,
            }
        )
        return name


def openassistant(rng: random.Random, conversation: Conversation) -> list[JSONObject]:
    """The message rows of one tree: the conversation as its best path, worse answers and other branches beside it."""
    lang, state = "en", "ready_for_export"
    pairs = [(m.role, m.content) for m in _split(conversation)[1]]
    roll = rng.random()
    if roll < 0.05:
        lang = pick(rng, tuple(_OTHER_LANGUAGES))
        pairs = [(role, text) for pair in _OTHER_LANGUAGES[lang][:2] for role, text in zip(("user", "assistant"), pair, strict=True)]
    elif roll < 0.08:
        state = pick(rng, ("growing", "aborted_low_grade", "prompt_lottery_waiting"))
    tree = _Tree(rng, lang, state)
    parent: str | None = None
    for role, text in pairs:
        if role == "user":
            best = tree.add(parent, "prompter", text, None if parent is None else 0)
            if parent is not None and rng.random() < 0.15:
                tree.add(parent, "prompter", pick(rng, ("And what else?", "Tell me more.")), 1)
        else:
            siblings = rng.choice((0, 0, 1, 1, 2))
            best = tree.add(parent, "assistant", text, 0 if siblings else None)
            for rank in range(1, siblings + 1):
                tree.add(parent, "assistant", pick(rng, _WORSE), rank)
            if rng.random() < 0.06:
                tree.add(parent, "assistant", "Buy my product!", None, deleted=True)
        parent = best
    return tree.rows
