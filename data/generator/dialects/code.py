"""Raw rows of the code sets (Evol-CodeAlpaca, Magicoder, Code-Alpaca), of coding sessions, and prompt-only sums."""

import json
import random

from core.conversation import Conversation, JSONObject, Message
from data.generator import arithmetic
from data.generator.dialects.chat import uuid
from data.generator.words import pick

_SESSION_SOURCES = (
    ("swe-smith-claude-3-7-sonnet", "swe-agent", "claude-3-7-sonnet"),
    ("nebius-swe-rebench-openhands", "openhands", "qwen3-coder"),
    ("kwai-klear-swe-smith-mini", "mini-swe-agent", None),
)


def _pair(conversation: Conversation) -> tuple[str, str]:
    ask, answer = conversation.messages[-2:]
    return ask.content, answer.content


def evol_codealpaca(_: random.Random, conversation: Conversation) -> JSONObject:
    """`instruction, output`."""
    ask, answer = _pair(conversation)
    return {"instruction": ask, "output": answer}


def code_alpaca(_: random.Random, conversation: Conversation) -> JSONObject:
    """`output, instruction, input`; the code that a question is about stands in `input`, else it is empty."""
    ask, answer = _pair(conversation)
    instruction, _blank, context = ask.partition("\n\n")
    return {"output": answer, "instruction": instruction, "input": context}


def magicoder(rng: random.Random, conversation: Conversation) -> JSONObject:
    """The OSS columns: `lang, raw_index, index, seed, openai_fingerprint, problem, solution`."""
    ask, answer = _pair(conversation)
    seed = next((line for line in answer.splitlines() if line.startswith(("def ", "    return"))), "pass")
    return {
        "lang": "python",
        "raw_index": rng.randint(0, 150_000),
        "index": rng.randint(0, 75_000),
        "seed": seed,
        "openai_fingerprint": "fp_" + uuid(rng)[:8],
        "problem": ask,
        "solution": answer,
    }


def _session_message(rng: random.Random, message: Message) -> JSONObject:
    value: JSONObject = {"role": message.role, "content": message.content}
    if message.role == "tool" and rng.random() < 0.3:
        value["content"] = [{"type": "text", "text": message.content}]
    if message.tool_calls:
        value["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": json.dumps(c.arguments, ensure_ascii=False)}}
            for c in message.tool_calls
        ]
    if message.tool_call_id is not None:
        value["tool_call_id"] = message.tool_call_id
    if message.reasoning_content is not None:
        value["reasoning_content"] = message.reasoning_content
    return value


def agentic_coding(rng: random.Random, conversation: Conversation) -> JSONObject:
    """A session: `messages_json` is a string; arguments are strings in it, some contents are lists of parts; no schemas."""
    source, framework, model = pick(rng, _SESSION_SOURCES)
    messages = [_session_message(rng, m) for m in conversation.messages]
    length = sum(len(m.content) for m in conversation.messages) // 3
    return {
        "session_id": uuid(rng),
        "source_dataset": source,
        "source_id": f"{pick(rng, ('acme', 'oakley', 'northmark'))}__{uuid(rng)[:6]}",
        "agent_framework": framework,
        "recorded_model": model,
        "messages_json": json.dumps(messages, ensure_ascii=False),
        "n_turns": sum(m.role == "assistant" for m in conversation.messages),
        "max_isl": length,
        "total_tokens": length + 60,
        "ground_truth_meta_json": json.dumps({"resolved": rng.random() < 0.6}),
    }


def gsm8k(rng: random.Random) -> JSONObject:
    """`question, answer`; the gold answer carries `<<...>>` notes and `####`."""
    item = arithmetic.problem(rng)
    return {"question": item.question, "answer": arithmetic.gold(item)}
