"""A small target with a strict template, and a workspace with two imported sources."""

import json
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from core.mix import Recipe
from core.sources import import_source
from core.workspace import Workspace

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = """\
{%- if not messages or messages[-1].role == 'system' %}{{- raise_exception('No user query found in messages.') }}{%- endif %}
{%- for message in messages %}
{%- if 'forbidden' in message.content %}{{- raise_exception('This word cannot be said.') }}{%- endif %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""


@pytest.fixture(scope="session")
def target(tmp_path_factory) -> Path:
    """A target folder: byte-level tokenizer, ChatML template that refuses a word, config without weights."""
    folder = tmp_path_factory.mktemp("target")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, special_tokens=SPECIAL, show_progress=False)
    tokenizer.train_from_iterator(["user assistant system what is the answer to question"], trainer)
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in SPECIAL])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "config.json").write_text(json.dumps({"vocab_size": 320, "model_type": "qwen3"}))
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return folder


def chat(*turns: tuple[str, str]) -> dict:
    return {"messages": [{"role": role, "content": text} for role, text in turns]}


@pytest.fixture
def add_source(workspace: Workspace, tmp_path: Path):
    """Import conversations (`chat(...)` values) as a source of the workspace."""

    def add(name: str, rows: list[dict]) -> None:
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        import_source(workspace, name, path, domain="chat", licence="MIT")

    return add


@pytest.fixture
def two_sources(workspace: Workspace, add_source) -> Workspace:
    """`facts` (200 one-turn rows) and `talks` (100 two-turn rows, of which the template refuses each tenth)."""
    add_source("facts", [chat(("user", f"what is {n} plus {n}?"), ("assistant", f"the answer is {2 * n}")) for n in range(200)])
    talks = []
    for n in range(100):
        more = "forbidden" if n % 10 == 0 else "more"
        answer = ("assistant", f"reply {n} " * (1 + n % 7))
        talks.append(chat(("user", f"hello number {n}"), ("assistant", "hi"), ("user", more), answer))
    add_source("talks", talks)
    return workspace


@pytest.fixture
def recipe(target: Path) -> Recipe:
    """Everything of both sources, a tenth held out."""
    return Recipe.model_validate(
        {
            "name": "both",
            "validation": 0.1,
            "target": {"path": str(target)},
            "supervision": {"seq_length": 256},
            "sources": [{"name": "facts", "weight": 2}, {"name": "talks", "weight": 1}],
        }
    )


@pytest.fixture
def conversation_row():
    """Makes a raw row from (role, text) turns."""
    return chat
