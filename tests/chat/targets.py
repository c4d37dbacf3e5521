"""Small targets for tests: a byte-level BPE tokenizer made in memory, with any template, in a folder as a model has it."""

import json
from functools import cache
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

TEMPLATES = Path(__file__).parent / "templates"
CHATML = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|mask|>"]
TAGS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
OTHERS = [
    "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]",
    "<bos>", "<start_of_turn>", "<end_of_turn>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>",
    "<|start|>", "<|end|>", "<|message|>",
    "<|channel|>", "<|return|>", "<|call|>",
]  # fmt: skip
PIECES = {"mistral-pieces": "mistral", "gemma-pieces": "gemma"}
"""Targets whose tokenizer writes spaces as "▁" and unknown characters as bytes: name → template."""
NAMED = {
    "llama3": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
    "mistral": {"bos_token": "<s>", "eos_token": "</s>"},
    "gemma": {"bos_token": "<bos>", "eos_token": "<end_of_turn>"},
    "deepseek": {"bos_token": "<|begin_of_text|>", "eos_token": "<｜end▁of▁sentence｜>"},
    "harmony": {"eos_token": "<|return|>"},
}
NAMED |= {name: NAMED[template] for name, template in PIECES.items()}

# Words, digits, punctuation with the newlines after it, newlines with the blanks before them, blanks.
_SPLIT = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

_TEXT = """Hello there, the answer is 42. You are a helpful assistant that can call one or more functions.
<|im_start|>system user assistant tool {"name": "get_weather", "arguments": {"city": "Paris"}} <function=add> <parameter=n>
def f(x):\n    return x\n\n\nThe user wants to know the weather.\n\n"""


@cache
def tokenizer_json(special: bool = True) -> str:
    """A byte-level BPE like Qwen's: splits as GPT-4 does, merges newlines, adds ChatML and other families' tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(_SPLIT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator([_TEXT, "\n\n" * 9, " \n\n" * 9], trainer)
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in (CHATML + OTHERS if special else CHATML)])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in TAGS])
    return str(tokenizer.to_str())


@cache
def pieces_json(prepended: bool) -> str:
    """A BPE like Mistral's and Gemma's: no words, "▁" for spaces (`prepended`: one more before every stretch of text), bytes as a last resort."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.train_from_iterator([_TEXT], trainers.BpeTrainer(vocab_size=260, show_progress=False))
    state = json.loads(tokenizer.to_str())
    vocab, model = state["model"]["vocab"], state["model"]
    for text in ("<unk>", *(f"<0x{byte:02X}>" for byte in range(256))):
        vocab[text] = len(vocab)
    model |= {"byte_fallback": True, "unk_token": "<unk>", "fuse_unk": True}
    tokenizer = Tokenizer.from_str(json.dumps(state))
    spaces = normalizers.Replace(" ", "\u2581")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), spaces]) if prepended else spaces
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in CHATML + OTHERS])
    return str(tokenizer.to_str())


def make_target(
    folder: Path,
    template: str | None,
    named: dict[str, str] | None = None,
    config: dict[str, object] | None = None,
    tokenizer: str | None = None,
) -> Path:
    """Write a target folder (no weights) and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(tokenizer or tokenizer_json(), encoding="utf-8")
    named = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"} if named is None else named
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **named, **(config or {})}), encoding="utf-8"
    )
    if template is not None:
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    return folder
