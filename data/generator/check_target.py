"""Measures the demo target on held-out prompts: exact tool arguments, right sums, function text, facts; writes `report.json`.

    python -m data.generator.check_target --prompts 200

Greedy decoding through transformers, as people would use the model. It knows how to ask and compare, not how the model was made.
"""

import argparse
import ast
import json
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase, Qwen3ForCausalLM

from core.conversation import Conversation, JSONObject, ToolCall
from data.generator import arithmetic, calls, facts, functions, trajectories
from data.generator.rendering import TARGET, prompt

_CALL = re.compile(r"<tool_call>\n<function=(.+?)>\n(.*?)</function>\n</tool_call>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=(.+?)>\n(.*?)\n</parameter>\n", re.DOTALL)
BATCH = 25


@dataclass(frozen=True)
class Target:
    """Model and tokenizer, loaded as anyone would load them."""

    model: Qwen3ForCausalLM
    tokenizer: PreTrainedTokenizerBase

    @classmethod
    def load(cls, folder: Path = TARGET) -> "Target":
        """Loads both from a folder, in float32 on the CPU."""
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        return cls(AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval(), tokenizer)

    def answers(self, prompts: Iterable[str], max_new_tokens: int = 160) -> list[str]:
        """The greedy answer to each rendered prompt, without its end-of-turn token."""
        texts, found = list(prompts), list[str]()
        for start in range(0, len(texts), BATCH):
            part = self.tokenizer(texts[start : start + BATCH], return_tensors="pt", padding=True, add_special_tokens=False)
            with torch.inference_mode():
                out = self.model.generate(**part, max_new_tokens=max_new_tokens, do_sample=False)
            fresh = out[:, part["input_ids"].shape[1] :]
            found += [self.tokenizer.decode(row, skip_special_tokens=False).split("<|im_end|>")[0] for row in fresh]
        return found


def written_calls(text: str) -> list[tuple[str, dict[str, str]]]:
    """The calls of an answer, names and parameter texts."""
    return [(name, dict(_PARAMETER.findall(body))) for name, body in _CALL.findall(text)]


def wanted_calls(made: tuple[ToolCall, ...]) -> list[tuple[str, dict[str, str]]]:
    """The same for the calls of a conversation."""
    return [(c.name, {k: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for k, v in c.arguments.items()}) for c in made]


def _first_turns(kind: str, count: int, seed: str) -> list[tuple[Conversation, int]]:
    """Held-out conversations of a kind and the turn to be answered."""
    rng = random.Random(f"held-out {kind} {seed}")
    makers = {
        "tools": calls.any_talk,
        "sums": arithmetic.single,
        "functions": functions.single,
        "facts": facts.single,
        "agent": trajectories.trajectory,
    }
    found: list[tuple[Conversation, int]] = []
    while len(found) < count:
        talk = makers[kind](rng)
        turns = [i for i, m in enumerate(talk.messages) if m.role == "assistant"]
        if kind in ("tools", "agent"):
            turns = [i for i in turns if talk.messages[i].tool_calls]
        if turns:
            found.append((talk, rng.choice(turns)))
    return found


def _right(kind: str, talk: Conversation, turn: int, answer: str) -> bool:
    wanted = talk.messages[turn]
    if kind in ("tools", "agent"):
        return written_calls(answer) == wanted_calls(wanted.tool_calls)
    if kind == "sums":
        goal = re.findall(r"= (\d+)", wanted.content + (wanted.reasoning_content or ""))[-1]
        said = answer.rsplit("</think>", maxsplit=1)[-1]
        return goal in re.findall(r"\d+", said) and re.findall(r"\d+", said)[-1] == goal
    if kind == "functions":
        fence = re.search(r"```python\n(.*?)```", answer, re.DOTALL)
        return fence is not None and _parses(fence[1])
    return answer.rsplit("</think>", maxsplit=1)[-1].strip() == wanted.content


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


def measure(target: Target, kind: str, count: int, seed: str = "report", samples: int = 3) -> JSONObject:
    """`{right, prompts, share, samples}` for one kind of prompt."""
    asked = _first_turns(kind, count, seed)
    answers = target.answers((prompt(talk, turn) for talk, turn in asked), 256 if kind in ("functions", "agent") else 160)
    right = [_right(kind, talk, turn, answer) for (talk, turn), answer in zip(asked, answers, strict=True)]
    shown = [
        {"asked": talk.messages[turn - 1].content, "answered": answer, "right": ok}
        for (talk, turn), answer, ok in zip(asked, answers, right, strict=True)
    ][:samples]
    return {"right": sum(right), "prompts": count, "share": round(sum(right) / count, 4), "samples": shown}


KINDS = {
    "tools": "the calls carry exactly the wanted names and arguments",
    "sums": "the final number is right",
    "functions": "the answer holds Python that parses",
    "facts": "the answer is word for word one that the world knows (several wordings would do)",
    "agent": "the next step of a coding trajectory is exactly the wanted one (often another would do)",
}


def main() -> None:
    """Measures every kind, prints the figures, writes the report."""
    parser = argparse.ArgumentParser(description="Measure the demo target on held-out prompts.")
    parser.add_argument("--prompts", type=int, default=200, help="prompts of each kind")
    parser.add_argument("--target", type=Path, default=TARGET)
    parser.add_argument("--out", type=Path, default=None, help="where to write the report; default: the target's folder")
    options = parser.parse_args()
    target = Target.load(options.target)
    report = {kind: {"measures": meaning, **measure(target, kind, options.prompts)} for kind, meaning in KINDS.items()}
    for kind, figures in report.items():
        print(f"{kind}: {figures['right']} of {figures['prompts']} ({figures['share']:.0%}): {figures['measures']}")  # noqa: T201
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    (options.out or options.target / "report.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
