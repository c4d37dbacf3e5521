"""The target of a recipe, loaded and checked for tokenizing. It knows what a manifest says about a target, not how templates work."""

import hashlib
import json
from pathlib import Path
from typing import Any

from core.chat import Supervision, Target
from core.errors import InputError
from core.mix import Recipe


class VocabularyMismatch(InputError):
    """A tokenizer with more ids than the model has embeddings."""


def load_target(recipe: Recipe) -> Target:
    """The recipe's target with its template; raises the errors of `Target.load` and `VocabularyMismatch`."""
    wanted = recipe.target
    target = Target.load(wanted.path, Path(wanted.template) if wanted.template else None, wanted.args)
    embeddings = model_vocabulary(target)
    if embeddings is not None and target.encoder.vocab_size > embeddings:
        raise VocabularyMismatch(
            f"The tokenizer of {wanted.path} has {target.encoder.vocab_size:,} ids, its model only {embeddings:,} embeddings: "
            "they do not belong together; use the tokenizer that came with the model."
        )
    return target


def supervision_of(recipe: Recipe) -> Supervision:
    """The recipe's choices as `core.chat` takes them."""
    return Supervision(**recipe.supervision.model_dump())


def model_vocabulary(target: Target) -> int | None:
    """Rows of the model's embedding table (multimodal configs keep it in `text_config`), None where the folder has no config."""
    size = target.config.get("vocab_size") or (target.config.get("text_config") or {}).get("vocab_size")
    return int(size) if size else None


def vocabulary(target: Target) -> int:
    """One above the highest id a row may hold."""
    return model_vocabulary(target) or target.encoder.vocab_size


def fingerprint(target: Target, recipe: Recipe) -> dict[str, Any]:
    """What the manifest keeps of the target: path, SHA-256 of tokenizer and template, template arguments, vocabulary size."""
    return {
        "path": recipe.target.path,
        "tokenizer_sha256": tokenizer_hash(target),
        "template_sha256": hashlib.sha256(json.dumps(target.template.sources, sort_keys=True).encode()).hexdigest(),
        "template_args": recipe.target.args,
        "vocab_size": vocabulary(target),
    }


def tokenizer_hash(target: Target) -> str | None:
    """SHA-256 (hex) of the target's `tokenizer.json`, None where it has none."""
    tokenizer = Path(target.path) / "tokenizer.json"
    return hashlib.sha256(tokenizer.read_bytes()).hexdigest() if tokenizer.is_file() else None
