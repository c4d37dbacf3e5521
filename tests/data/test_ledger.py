"""The bundled sources through the readers and dialects: every planted break is handled as it should be, and nothing else is lost."""

import json
from collections import Counter

import pytest

from core.dialects import convert, detect
from core.sources import read_rows
from data.generator.sources import FOLDER

EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
DIALECTS = {
    "openorca": "system_question_response",
    "evol-codealpaca": "instruction_pair",
    "magicoder": "problem_solution",
    "code-alpaca": "alpaca",
    "sharegpt": "sharegpt",
    "ultrachat": "openai_messages",
    "openassistant": "oasst_flat_messages",
    "agentic-coding": "messages_json_string",
    "glaive": "glaive_flat",
    "hermes": "hermes_xml",
    "hermes-single": "hermes_xml",
    "qwen35-tools": "split_reasoning_roles",
    "toolmind": "openai_tools_under_conversations_key",
    "xlam": "xlam_json_strings",
    "gsm8k": "question_answer",
}


@pytest.mark.parametrize("name", list(DIALECTS))
def test_a_source_is_detected_and_loses_only_the_rows_that_were_planted(name: str) -> None:
    rows = list(read_rows(FOLDER / name / EXPECTED[name]["file"]))
    assert len(rows) == EXPECTED[name]["raw_rows"]
    assert detect(rows).dialect == DIALECTS[name]
    outcomes = {outcome.row: outcome for outcome in convert(rows)}
    assert sorted(outcomes) == list(range(len(rows)))
    for entry in EXPECTED[name]["planted"]:
        outcome = outcomes[entry["row"]]
        if entry["handling"] == "quarantine":
            assert outcome.status == "quarantined", entry
        else:
            assert outcome.status in ("kept", "prompt_only"), entry
            assert outcome.repairs or entry["handling"] == "keep", entry
    wanted = sum(entry["handling"] == "quarantine" for entry in EXPECTED[name]["planted"])
    assert Counter(outcome.status for outcome in outcomes.values())["quarantined"] == wanted
