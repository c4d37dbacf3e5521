"""Figures of rows that the index does not hold, worked out from their texts once and kept beside the source.

Each function gives one value per row of the index. It knows texts and conversations, not recipes.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from core.mix.rules import FINISHES, Filters, Finish
from core.mix.words import hashed_words, repeated_share
from core.sources import Source, language_of
from core.sources.text import loads
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled

STEP = 1024
"""Rows between two looks at whether to go on."""

_SENTENCE_WORDS = 12
"""A last line of so many words is a sentence; shorter ones (names, numbers, code, list items) may end in a letter."""

_LAST_WITH_STOPS = "\u0590"
"""Latin, Greek, Cyrillic and Armenian letters stand before it: scripts whose sentences end in a stop."""

_LANGUAGE, _FINISH, _NONTEXT = "language-1", "finish-1", "nontext-1"

_UNFINISHED = (",", "(", "[", "{", "-", "–", "—", "&", "=", "+")


def columns_of(filters: Filters) -> dict[str, str]:
    """Column -> what it holds, for each one that the filters ask for beyond those of the index."""
    found: dict[str, str] = {}
    if filters.languages is not None:
        found[_LANGUAGE] = "languages"
    if filters.finish is not None:
        found[_FINISH] = "ends of answers"
    if filters.max_nontext is not None:
        found[_NONTEXT] = "shares of text"
    if filters.max_repetition is not None:
        found[_repetition_column(filters.repetition_ngram)] = "repeated n-grams"
    return found | {_match_column(expression): f"matches of {expression}" for expression in (*filters.match, *filters.no_match)}


def _repetition_column(size: int) -> str:
    return f"repetition-{size}-1"


def _match_column(expression: str) -> str:
    return f"matches-{hashlib.sha256(expression.encode()).hexdigest()[:24]}"


def languages(source: Source, watcher: Watcher | None = None) -> npt.NDArray[np.bytes_]:
    """ISO 639 code of each row (`b"und"` where none can be told), `[rows]`, dtype S3."""

    def fill(out: npt.NDArray[Any]) -> None:
        for start, stop in _steps(source, "languages", watcher):
            out[start:stop] = [language_of(source.conversation(row)).encode()[:3] for row in range(start, stop)]

    return source.computed(_LANGUAGE, fill, "S3")


def finishes(source: Source, watcher: Watcher | None = None) -> npt.NDArray[np.int8]:
    """How each row's last answer ends, `[rows]`: a place in `FINISHES`."""

    def fill(out: npt.NDArray[Any]) -> None:
        messages = source.written()["messages"]
        for start, stop in _steps(source, "ends of answers", watcher):
            texts = messages.slice(start, stop - start).to_pylist()
            out[start:stop] = [FINISHES.index(finish_of(_parsed(text))) for text in texts]

    return source.computed(_FINISH, fill, np.int8)


def finish_of(messages: list[dict[str, Any]]) -> Finish:
    """How the last answer of some messages (JSON form) ends. "cut" is a guess: an open code fence, or a sentence without its end."""
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    if last is not None and last.get("tool_calls"):
        return "call"
    text = str(last["content"]).rstrip() if last is not None else ""
    if not text:
        return "empty"
    if text.count("```") % 2 or text.endswith(_UNFINISHED):
        return "cut"
    line = text.rsplit("\n", 1)[-1]
    sentence = len(line.split()) >= _SENTENCE_WORDS and not re.match(r"\s*(?:[-*|#>]|\d+[.)]|```)", line)
    return "cut" if sentence and text[-1].isalpha() and text[-1] < _LAST_WITH_STOPS else "complete"


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:  # integers beyond 64 bits
        return loads(text)


def nontext(source: Source, watcher: Watcher | None = None) -> npt.NDArray[np.float32]:
    """Share of each row's characters, white space aside, that are neither letters nor digits, `[rows]`."""

    def share(texts: pa.Array) -> npt.NDArray[Any]:
        solid = pc.utf8_length(pc.replace_substring_regex(texts, r"\s+", ""))
        other = pc.utf8_length(pc.replace_substring_regex(texts, r"[\s\p{L}\p{M}\p{N}]+", ""))
        return np.asarray(other, np.float64) / np.maximum(np.asarray(solid, np.float64), 1)

    return _of_texts(source, _NONTEXT, "shares of text", np.float32, share, watcher)


def repetition(source: Source, size: int, watcher: Watcher | None = None) -> npt.NDArray[np.float32]:
    """Share of each row's word n-grams that stood in it before, `[rows]`."""

    def share(texts: pa.Array) -> npt.NDArray[Any]:
        return repeated_share(*hashed_words(texts.to_pylist()), size)

    return _of_texts(source, _repetition_column(size), "repeated n-grams", np.float32, share, watcher)


def matches(source: Source, expression: str, watcher: Watcher | None = None) -> npt.NDArray[np.bool_]:
    """Whether a regular expression (RE2, case does not count) is found in what can be read in each row, `[rows]`."""

    def found(texts: pa.Array) -> npt.NDArray[Any]:
        return np.asarray(pc.match_substring_regex(texts, expression, ignore_case=True))

    return _of_texts(source, _match_column(expression), f"matches of {expression}", np.bool_, found, watcher)


def _of_texts(
    source: Source, column: str, what: str, dtype: npt.DTypeLike, make: Callable[[pa.Array], npt.NDArray[Any]], watcher: Watcher | None
) -> npt.NDArray[Any]:
    def fill(out: npt.NDArray[Any]) -> None:
        texts = source.texts()
        for start, stop in _steps(source, what, watcher):
            out[start:stop] = make(pa.array(texts.slice(start, stop - start).combine_chunks()))

    return source.computed(column, fill, dtype)


def _steps(source: Source, what: str, watcher: Watcher | None) -> Iterator[tuple[int, int]]:
    """The rows of the index in pieces, told to whoever watches. Raises `Cancelled`."""
    watcher = watcher or Unwatched()
    total = len(source.index())
    for start in range(0, total, STEP):
        yield start, min(start + STEP, total)
        watcher.progress(Progress(f"{what} of {source.name}", min(start + STEP, total), total, "rows"))
        stop_if_cancelled(watcher)
