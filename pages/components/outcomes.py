"""What a run came to, in a few words for a table. It knows the results of the kinds of runs there are."""

from typing import Any

from core.runs import Run
from pages.components.numbers import count, short


def outcome(run: Run) -> str:
    """One short phrase; empty while there is nothing to say."""
    if run.error:
        return run.error
    if run.state != "done" or not run.result:
        return ""
    words = _WORDS.get(run.kind)
    return words(run.result) if words else ""


def _imported(result: dict[str, Any]) -> str:
    ledgers = result["sources"].values()
    kept, bad = (sum(ledger[state] for ledger in ledgers) for state in ("kept", "quarantined"))
    return f"{count(kept)} conversations kept, {count(bad)} quarantined"


def _checked(result: dict[str, Any]) -> str:
    removed = sum(sum(rules.values()) for rules in result["removed"].values())
    found = [f"{count(result[what])} groups of {what}" for what in ("duplicates", "matches") if result[what] is not None]
    return ", ".join([*found, f"{count(removed)} rows not usable"])


def _tokenized(result: dict[str, Any]) -> str:
    proof = "verified" if result["verified"] else "not verified"
    return f"{count(result['rows'])} rows, {short(result['tokens'])} tokens, {proof}"


def _trained(result: dict[str, Any]) -> str:
    report = result.get("evaluation")
    return _accepted(report) if report else f"{count(result['train']['steps'])} steps"


def _evaluated(result: dict[str, Any]) -> str:
    return _accepted(result["evaluation"])


def _accepted(report: dict[str, Any]) -> str:
    return f"{report['acceptance_length']:.2f} tokens per round, {'lossless' if report['lossless'] else 'NOT lossless'}"


def _demonstrated(result: dict[str, Any]) -> str:
    return _accepted(result["drafter"])


_WORDS = {"import": _imported, "check": _checked, "tokenize": _tokenized, "train": _trained, "evaluate": _evaluated, "demo": _demonstrated}
