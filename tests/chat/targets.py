"""Small targets for tests: a byte-level BPE tokenizer made in memory, with any template, in a folder as a model has it."""

import json
from functools import cache
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers.normalizers import NFC

TEMPLATES = Path(__file__).parent / "templates"
CHATML = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|mask|>"]
TAGS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
OTHERS = [
    "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]",
    "<bos>", "<start_of_turn>", "<end_of_turn>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>",
    "<|start|>", "<|end|>", "<|message|>",
    "<|channel|>", "<|return|>", "<|call|>",
]  # fmt: skip
NAMED = {
    "llama3": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
    "mistral": {"bos_token": "<s>", "eos_token": "</s>"},
    "gemma": {"bos_token": "<bos>", "eos_token": "<end_of_turn>"},
    "deepseek": {"bos_token": "<|begin_of_text|>", "eos_token": "<｜end▁of▁sentence｜>"},
    "harmony": {"eos_token": "<|return|>"},
}

# Words, digits, punctuation with the newlines after it, newlines with the blanks before them, blanks.
_SPLIT = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

_TEXT = """Hello there, the answer is 42. You are a helpful assistant that can call one or more functions.
<|im_start|>system user assistant tool {"name": "get_weather", "arguments": {"city": "Paris"}} <function=add> <parameter=n>
def f(x):\n    return x\n\n\nThe user wants to know the weather.\n\n"""


@cache
def tokenizer_json(special: bool = True) -> str:
    """A byte-level BPE like Qwen's: splits as GPT-4 does, merges newlines, adds ChatML and other families' tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(_SPLIT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator([_TEXT, "\n\n" * 9, " \n\n" * 9], trainer)
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in (CHATML + OTHERS if special else CHATML)])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in TAGS])
    return str(tokenizer.to_str())


def make_target(folder: Path, template: str | None, named: dict[str, str] | None = None, config: dict[str, object] | None = None) -> Path:
    """Write a target folder (no weights) and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(tokenizer_json(), encoding="utf-8")
    named = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"} if named is None else named
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **named, **(config or {})}), encoding="utf-8"
    )
    if template is not None:
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    return folder
