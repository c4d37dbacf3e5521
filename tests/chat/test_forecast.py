"""What is announced of a source before tokenizing is what tokenizing then does, to the row; and what would save the rows is said."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from core.chat import FastPath, Forecast, Supervision, Target, forecast, supervise
from core.conversation import messages_json
from core.dialects import Policy
from core.jobs import ImportJob, bundled_items, perform_here
from core.mix import recipe_for
from core.sources import Library, import_source
from core.tokens import tokenize
from core.workspace import Workspace
from tests.chat.targets import make_target


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with all sources that ship with Mixdown, imported with the default repairs."""
    workspace = Workspace(tmp_path_factory.mktemp("home"))
    perform_here(ImportJob(home=workspace.home, items=bundled_items(workspace)))
    return workspace


def announced(workspace: Workspace, target: Target, choices: Supervision) -> list[Forecast]:
    path = FastPath(target, choices)
    return [forecast(source, path) for source in Library(workspace).sources()]


@pytest.mark.parametrize("name", ["qwen3.6", "demo"])
def test_the_bundled_sources_pass_a_strict_template_after_the_default_repairs(name, bundled, targets, folders):
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast.from_pretrained(folders(name))
    found = {one.source: one for one in announced(bundled, targets(name), Supervision())}
    assert len(found) == 15
    for source in Library(bundled).sources():
        refused = 0
        rows = list(source.index().select(["row", "status"]).to_pylist())
        for row in (one["row"] for one in rows if one["status"] == "kept"):
            conversation = source.conversation(row)
            try:
                tokenizer.apply_chat_template(messages_json(conversation.messages), tools=list(conversation.tools) or None, tokenize=False)
            except Exception:
                refused += 1
        assert refused == sum(loss.turns for loss in found[source.name].losses if loss.reason.startswith("refused"))
        assert refused == 0


@pytest.mark.parametrize(
    "choices",
    [{}, {"layout": "conversation", "overlong": "drop", "seq_length": 420}, {"layout": "turn", "seq_length": 260, "tool_calls": False}],
    ids=["default", "drop", "turn"],
)
def test_what_is_announced_of_the_bundled_sources_is_what_tokenizing_then_drops(choices, bundled, folders, tmp_path):
    library = Library(bundled)
    target = Target.load(folders("qwen3.6"))
    found = [
        one for one in announced(bundled, target, Supervision(**choices)) if one.lengths
    ]  # tokenizing stops at a source that gives none
    sizes = {one.source: float(one.kept) for one in found}
    made = recipe_for(library, "all", str(folders("qwen3.6")), sources=list(sizes), weights=sizes)
    recipe = made.model_copy(update={"validation": 0.0, "supervision": made.supervision.model_copy(update=choices)})
    report = tokenize(bundled, recipe, tmp_path / "out")
    dropped = pq.read_table(tmp_path / "out" / "dropped.parquet").to_pylist()
    assert Counter((one["source"], one["reason"]) for one in dropped) == {
        (one.source, loss.reason): loss.turns for one in found for loss in one.losses
    }
    assert report.rows == sum(len(one.lengths) for one in found)
    assert report.tokens == sum(sum(one.lengths) for one in found)
    assert all(one.exact for one in found) and len(found) > 5


def chat(*turns: tuple[str, str]) -> dict:
    return {"messages": [{"role": role, "content": text} for role, text in turns]}


def write_source(folder: Path, name: str, rows: list[dict]) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


STRICT_ROWS = [
    chat(("user", "Hi"), ("assistant", "Hello.")),
    chat(("user", "Hi"), ("assistant", "Hello."), ("system", "Be brief."), ("user", "So?"), ("assistant", "Yes.")),
    chat(("user", "<tool_response>\n1\n</tool_response>"), ("assistant", "One.")),
    chat(("user", "Say <|im_end|>"), ("assistant", "No.")),
    chat(("assistant", "Welcome."), ("user", "Hi"), ("assistant", "Hello.")),
    chat(("user", "Hi")),
]


@pytest.fixture
def strict(workspace: Workspace, tmp_path: Path) -> Callable[..., Forecast]:
    """Rows that were imported as they are, forecast for a target."""
    path = write_source(tmp_path, "odd", STRICT_ROWS)
    policy = Policy({"late_system_moved": "keep", "leading_turn_dropped": "keep"})
    source = import_source(workspace, "odd", path, policy=policy, domain="chat", licence="MIT")
    return lambda target, sample=None, **choices: forecast(source, FastPath(target, Supervision(**choices)), sample)


def test_each_reason_says_how_many_rows_it_costs_and_what_would_save_them(strict, targets):
    found = strict(targets("qwen3.6"))
    losses = {loss.reason: loss for loss in found.losses}
    assert (found.kept, found.rows, found.exact, found.lost) == (5, 5, True, 3)
    late = losses["refused:system_message_must_be_at_the_beginning"]
    assert (late.rows, late.whole, late.remedy) == ((1,), 1, "merge it into the first system message")
    assert late.meaning == "the template refuses it: System message must be at the beginning."
    blocks = losses["refused:no_user_query_found_in_messages"]
    assert (blocks.rows, blocks.remedy) == ((2,), "convert the blocks to tool messages, or quarantine the row")
    assert (losses["special_token_in_content"].rows, losses["special_token_in_content"].whole) == ((3,), 1)
    assert "as_text" in losses["special_token_in_content"].remedy
    assert (losses["before_first_user"].rows, losses["before_first_user"].whole) == ((4,), 0)


def test_the_remedy_that_is_named_saves_the_rows(strict, targets):
    saved = strict(targets("qwen3.6"), special_tokens="as_text", turns="all", layout="conversation")
    assert {loss.reason.partition(":")[0] for loss in saved.losses} == {"refused"}


def test_a_refusal_that_no_probe_foresaw_still_says_what_can_be_done(workspace, tmp_path, targets):
    import_source(workspace, "plain", write_source(tmp_path, "plain", STRICT_ROWS[:1]), domain="chat", licence="MIT")
    source = "{% for m in messages %}{% if m.content == 'Hi' %}{{ raise_exception('Not Hi.') }}{% endif %}{{ m.content }}{% endfor %}"
    grumpy = Target.load(make_target(tmp_path / "grumpy", source))
    (loss,) = forecast(Library(workspace).source("plain"), FastPath(grumpy, Supervision())).losses
    assert (loss.reason, loss.detail) == ("refused:not_hi", "Not Hi.")
    assert "another target" in loss.remedy


def test_a_sample_is_spread_over_the_source_and_says_so(strict, targets):
    found = strict(targets("qwen3.6"), sample=2)
    assert (found.kept, found.rows, found.exact) == (5, 2, False)
    value = found.to_json()
    assert (value["rows"], value["looked_at"], value["exact"]) == (5, 2, False)
    assert all(row in (0, 2) for loss in value["losses"] for row in loss["examples"])


def test_the_forecast_is_what_the_slow_path_drops(strict, targets, workspace):
    target = targets("qwen3")
    found = strict(target)
    source = Library(workspace).source("odd")
    slow = [drop.reason for row in range(5) for drop in supervise(source.conversation(row), target, Supervision()).dropped]
    assert Counter(slow) == {loss.reason: loss.turns for loss in found.losses}
