"""Text to token ids and back, with the target's own `tokenizer.json`.

It knows the vocabulary and its added tokens. It does not know chat templates, conversations or masks.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer

from core.chat.token_bytes import PieceBytes, byte_offsets, component_types, piece_bytes
from core.chat.tokenizer_config import BadTargetFile, TokenizerConfig
from core.conversation import JSONObject
from core.errors import InputError, MixdownError

# Work runs in processes of its own where it should run side by side; threads besides would only warn at every fork.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


class TokenizerMissing(InputError):
    """The target has no tokenizer that can be read without running its code."""


class UnencodableText(MixdownError):
    """Text that is not valid Unicode (a lone surrogate) and so has no UTF-8 bytes to encode."""


class Encoded(NamedTuple):
    """Token ids of a text, and for each token the characters `[start, end)` it stands for."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class EncodedBatch(NamedTuple):
    """Token ids of several texts: those of text k are `ids[offsets[k] : offsets[k + 1]]`.

    `ids` int32 `[tokens]`, `offsets` int64 `[texts + 1]`.
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]


class Encoder(Protocol):
    """What the rest of Mixdown needs from a tokenizer."""

    vocab_size: int
    """Ids are below this number (added tokens included)."""

    @property
    def added(self) -> Mapping[int, str]:
        """Every added token, special or not: id → text."""

    @property
    def special_ids(self) -> frozenset[int]:
        """Added tokens flagged special, and named ones (`eos_token`, ...)."""

    @property
    def named(self) -> Mapping[str, str]:
        """Tokens by name (`eos_token`, `pad_token`, `mask_token`, ...)."""

    def encode(self, text: str) -> list[int]:
        """Ids of `text`; added tokens in it are recognised, nothing is put before or after."""

    def encode_batch_flat(self, texts: Sequence[str]) -> EncodedBatch:
        """Ids of many texts, each as `encode` gives it, in one array."""

    def encode_with_offsets(self, text: str) -> Encoded:
        """As `encode`, with the characters of each token."""

    def encode_plain(self, text: str) -> list[int]:
        """Ids of `text` with every added token read as ordinary characters."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`, special tokens included."""

    def token(self, token_id: int) -> str:
        """The text of one token; incomplete UTF-8 shows as U+FFFD."""

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes one token stands for; `b""` for an id without a token."""

    def id_of(self, text: str) -> int | None:
        """The id of a token given by its vocabulary text, None where there is none."""


class TokenizerEncoder:
    """An `Encoder` over a Hugging Face `tokenizer.json`, with the flags of `tokenizer_config.json` applied."""

    def __init__(self, tokenizer: Tokenizer, config: TokenizerConfig | None = None) -> None:
        """Take the tokenizer as it is, less any truncation and padding stored in it."""
        config = config or TokenizerConfig()
        tokenizer.no_truncation()
        tokenizer.no_padding()
        _add_tokens(tokenizer, config)
        self._tokenizer = tokenizer
        self.named: Mapping[str, str] = dict(config.named)
        self.vocab_size: int = _ids(tokenizer)
        tokens = tokenizer.get_added_tokens_decoder()
        self.added: Mapping[int, str] = {token_id: token.content for token_id, token in sorted(tokens.items())}
        named_ids = (tokenizer.token_to_id(text) for text in self.named.values())
        flagged = (token_id for token_id, token in tokens.items() if token.special)
        self.special_ids: frozenset[int] = frozenset(flagged) | {token_id for token_id in named_ids if token_id is not None}
        self._bytes: dict[int, bytes] = {}
        self._piece_bytes: PieceBytes = piece_bytes(_state(tokenizer.decoder), _state(tokenizer.pre_tokenizer))

    @classmethod
    def load(cls, folder: Path, config: TokenizerConfig | None = None) -> "TokenizerEncoder":
        """The encoder of a model folder. Raises `TokenizerMissing` without `tokenizer.json`, `BadTargetFile` for a broken one."""
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise TokenizerMissing(f"{folder} has no tokenizer.json; save the target's fast tokenizer there (save_pretrained writes it).")
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises bare Exception for everything it cannot read
            raise BadTargetFile(f"{path} is not a tokenizer ({error}); download the target again.") from error
        return cls(tokenizer, config if config is not None else TokenizerConfig.load(folder))

    def encode(self, text: str) -> list[int]:
        """See `Encoder.encode`. Raises `UnencodableText`."""
        try:  # without the offsets of `encode`, which take a third of its time
            return list(self._tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids)
        except TypeError:
            checked(text)
            raise

    def encode_batch_flat(self, texts: Sequence[str]) -> EncodedBatch:
        """See `Encoder.encode_batch_flat`. Raises `UnencodableText`."""
        try:
            encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        except TypeError:
            for text in texts:
                checked(text)
            raise
        return flat([encoding.ids for encoding in encodings])

    def encode_with_offsets(self, text: str) -> Encoded:
        """See `Encoder.encode_with_offsets`. Raises `UnencodableText`."""
        encoding = self._encoding(text)
        ids: list[int] = list(encoding.ids)
        exact = byte_offsets(text, [self.token_bytes(token_id) for token_id in ids])
        return Encoded(ids, list(encoding.offsets) if exact is None else exact)

    def encode_plain(self, text: str) -> list[int]:
        """See `Encoder.encode_plain`. Raises `UnencodableText`."""
        checked(text)
        ids: list[int] = list(self._plain.encode(text, add_special_tokens=False).ids)
        if self.added.keys().isdisjoint(ids):
            return ids
        # The model itself can produce the token (it stands in the vocabulary as an ordinary piece): break it apart.
        pieces = self._added_pattern.split(text)
        if len(pieces) == 1:
            return ids
        return [token_id for piece in pieces for part in _broken(piece, self._added_texts) for token_id in self.encode_plain(part)]

    def encode_marked(self, marked: str, mark: str) -> Encoded:
        """`marked` without its marks, where an added token that has a mark inside is read as ordinary characters.

        Raises `UnencodableText`, also where this tokenizer does not encode what lies between added tokens by itself.
        """
        pieces = self._added_pattern.split(marked)
        clean = "".join(piece for piece in pieces if mark not in piece)
        if [token_id for piece in self._added_pattern.split(clean) for token_id in self.encode(piece)] != self.encode(clean):
            raise UnencodableText("The tokenizer encodes text differently beside its added tokens, so none can be read as text.")
        made, start = Encoded([], []), 0
        for piece in pieces:
            text = piece.replace(mark, "")
            ids, offsets = self._plain_with_offsets(text) if mark in piece else self.encode_with_offsets(text)
            made.ids.extend(ids)
            made.offsets.extend((start + left, start + right) for left, right in offsets)
            start += len(text)
        return made

    def decode(self, ids: Sequence[int]) -> str:
        """See `Encoder.decode`."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))

    def token(self, token_id: int) -> str:
        """See `Encoder.token`."""
        return self.token_bytes(token_id).decode("utf-8", "replace")

    def token_bytes(self, token_id: int) -> bytes:
        """See `Encoder.token_bytes`."""
        if token_id not in self._bytes:
            text, piece = self.added.get(token_id), self._tokenizer.id_to_token(token_id)
            if text is not None:
                self._bytes[token_id] = text.encode("utf-8", "surrogatepass")
            else:
                self._bytes[token_id] = b"" if piece is None else self._piece_bytes(piece)
        return self._bytes[token_id]

    def id_of(self, text: str) -> int | None:
        """See `Encoder.id_of`."""
        token_id: int | None = self._tokenizer.token_to_id(text)
        return token_id

    def to_json(self) -> str:
        """The tokenizer as the text of a `tokenizer.json`, with the flags of the config applied."""
        return str(self._tokenizer.to_str())

    @property
    def normalizers(self) -> frozenset[str]:
        """The kinds of its normalizer ("NFC", "Replace", ...); empty when it changes no text."""
        return frozenset(component_types(_state(self._tokenizer.normalizer)))

    def normalize(self, text: str) -> str:
        """`text` as the tokenizer's normalizer leaves it (some added tokens are matched only then). Raises `UnencodableText`."""
        normalizer = self._tokenizer.normalizer
        return checked(text) if normalizer is None else str(normalizer.normalize_str(checked(text)))

    def _encoding(self, text: str):  # type: ignore[no-untyped-def]  # noqa: ANN202  (tokenizers ships no types)
        try:
            return self._tokenizer.encode(text, add_special_tokens=False)
        except TypeError:
            checked(text)
            raise

    def _plain_with_offsets(self, text: str) -> Encoded:
        ids = self.encode_plain(text)
        exact = byte_offsets(text, [self.token_bytes(token_id) for token_id in ids])
        if exact is not None:
            return Encoded(ids, exact)
        found = self._plain.encode(text, add_special_tokens=False)
        return Encoded(ids, list(found.offsets) if list(found.ids) == ids else [(0, len(text))] * len(ids))

    @cached_property
    def _added_texts(self) -> frozenset[str]:
        return frozenset(self.added.values())

    @cached_property
    def _added_pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self._added_texts, key=len, reverse=True)
        return re.compile("(" + "|".join(map(re.escape, longest_first)) + ")")

    @cached_property
    def _plain(self) -> Tokenizer:
        """The same tokenizer without added tokens; built on first use, as it means parsing the file once more."""
        state = json.loads(self._tokenizer.to_str())
        state["added_tokens"], state["post_processor"] = [], None
        vocab, merges = state["model"].get("vocab"), state["model"].get("merges", [])
        merged = {part for merge in merges for part in (merge.split(" ") if isinstance(merge, str) else merge)}
        if isinstance(vocab, dict):
            products = {"".join(merge.split(" ") if isinstance(merge, str) else merge) for merge in merges}
            for text in self._added_texts - merged - products - {state["model"].get("unk_token")}:
                vocab.pop(text, None)
        return Tokenizer.from_str(json.dumps(state))


def flat(rows: Sequence[Sequence[int]]) -> EncodedBatch:
    """Lists of ids as one batch."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    ids = np.fromiter(chain.from_iterable(rows), np.int32, int(offsets[-1]))
    return EncodedBatch(ids, offsets)


def _ids(tokenizer: Tokenizer) -> int:
    """One more than the largest id; without the whole vocabulary as a dictionary where no id is left out, as is usual."""
    count: int = tokenizer.get_vocab_size(with_added_tokens=True)
    if all(tokenizer.id_to_token(number) is not None for number in range(count)):
        return count
    return max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1) + 1


def checked(text: str) -> str:
    """The text itself when it has UTF-8 bytes; raises `UnencodableText` otherwise."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        at = error.start
        raise UnencodableText(f"Character {at} of the text is the lone surrogate U+{ord(text[at]):04X}, which has no UTF-8 form.") from None
    return text


def _broken(piece: str, added: frozenset[str]) -> list[str]:
    if piece in added and len(piece) > 1:
        return [piece[:1], piece[1:]]
    return [piece] if piece else []


def _state(component: object) -> JSONObject | None:
    if component is None:
        return None
    value: JSONObject = json.loads(cast(bytes, component.__getstate__()))  # pickling state is JSON
    return value


def _add_tokens(tokenizer: Tokenizer, config: TokenizerConfig) -> None:
    """Add what the config names and the tokenizer lacks, and re-flag what it flags otherwise (as transformers does)."""
    present = {token.content: token for token in tokenizer.get_added_tokens_decoder().values()}
    for spec in (*config.added, *(spec for spec in config.ensured if spec.content not in present)):
        token = AddedToken(
            spec.content,
            single_word=spec.single_word,
            lstrip=spec.lstrip,
            rstrip=spec.rstrip,
            normalized=spec.normalized,
            special=spec.special,
        )
        old = present.get(spec.content)
        if old is not None and repr(old) == repr(token):
            continue
        if spec.special:
            tokenizer.add_special_tokens([token])
        else:
            tokenizer.add_tokens([token])
