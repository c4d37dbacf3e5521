"""Encodes whole batches with fastokens, many times as fast as Hugging Face tokenizers, as long as both give the same ids.

It is checked against the target's own encoder when it is made and on a sample of what it encodes; the first mismatch ends its use.
It does not know chats.
"""

import random
from collections.abc import Iterable, Sequence

import fastokens
import numpy as np

from core.chat.encoding import Encoded, EncodedBatch, TokenizerEncoder
from core.chat.token_bytes import byte_offsets

FUZZ = 400
"""Made-up texts of the check."""

EVERY = 99
"""One text in so many is encoded a second time by Hugging Face tokenizers (1.01 %), which takes seventy times as long as fastokens."""

_PIECES = (
    " ", "  ", "\n", "\n\n", " \n", "\r\n", "\t", "a", "The", " the", "don't", "I'LL",
    "x1", "2026", "12345", "3.14", "...", "?!", "--", "_", "é",
    "e\u0301", "ß", "İ", "ﬁ", "世界", "한국어", "العربية", "हिन्दी", "🙂", "👩‍👩‍👧‍👦",
    "\u200d", "\u202e", "\u00a0", "\u2028", "\u0085", "\x00", "\x1c", "\ufeff",
    "\U0010ffff", "\ue000", "<", "|", ">", "</", "{", '"', "\\", "def f(x):\n    return", "http://a.b/c?d=e", "\u0958", "\u2126", "\u212a",
)  # fmt: skip


class FastEncoder:
    """`encode_batch_flat` by fastokens, or by the target's own encoder: `name` says which ("fastokens", "hf"), `reason` why not."""

    def __init__(self, encoder: TokenizerEncoder, texts: Iterable[str] = ()) -> None:
        """Load and check over the fuzz set and `texts` (renders of the probe)."""
        self._encoder = encoder
        self._fast: fastokens.Tokenizer | None = None
        self._seen = 0
        self.reason: str | None = None
        try:
            self._fast = fastokens.Tokenizer.from_json_str(encoder.to_json())
        except BaseException as error:  # a panic of its native code is no Exception
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            self.reason = f"fastokens cannot load the tokenizer ({str(error)[:120]})"
            return
        checks = [*fuzz_texts(list(encoder.added.values())), *texts]
        self._compare(checks, self._flat(checks))

    @property
    def name(self) -> str:
        """What encodes: "fastokens" or "hf"."""
        return "hf" if self._fast is None else "fastokens"

    def encode_batch_flat(self, texts: Sequence[str]) -> EncodedBatch:
        """As `Encoder.encode_batch_flat`. Raises `UnencodableText`."""
        batch = self._flat(texts)
        if batch is None:
            return self._encoder.encode_batch_flat(texts)
        start = -self._seen % EVERY
        self._seen += len(texts)
        if start < len(texts) and not self._compare(texts, batch, range(start, len(texts), EVERY)):
            return self._encoder.encode_batch_flat(texts)
        return batch

    def encode(self, text: str) -> list[int]:
        """As `Encoder.encode`."""
        batch = self._flat([text])
        return self._encoder.encode(text) if batch is None else list(batch.ids.tolist())

    def give_up(self, reason: str) -> None:
        """Use the target's own encoder from now on."""
        self._fast, self.reason = None, reason

    def _flat(self, texts: Sequence[str]) -> EncodedBatch | None:
        if self._fast is None:
            return None
        try:
            ids, offsets = self._fast.encode_batch_flat(list(texts))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            return None  # a text that is no Unicode, most likely: the other encoder says so
        return EncodedBatch(np.frombuffer(ids, np.int32), np.frombuffer(offsets, np.int64))

    def _compare(self, texts: Sequence[str], batch: EncodedBatch | None, places: Iterable[int] | None = None) -> bool:
        for place in range(len(texts)) if places is None else places:
            found = None if batch is None else batch.ids[batch.offsets[place] : batch.offsets[place + 1]].tolist()
            if found != self._encoder.encode(texts[place]):
                self.give_up(f"fastokens encodes {texts[place][:60]!r} otherwise than Hugging Face tokenizers")
                return False
        return True


class QuickEncoder(TokenizerEncoder):
    """A target's own encoder whose ids come from the fast one: for checks of masks, where the ids are checked apart."""

    def __init__(self, encoder: TokenizerEncoder, fast: FastEncoder) -> None:
        """Share everything that `encoder` holds."""
        self.__dict__.update(encoder.__dict__)
        self._fast = fast

    def encode(self, text: str) -> list[int]:
        """See `Encoder.encode`."""
        return self._fast.encode(text)

    def encode_with_offsets(self, text: str) -> Encoded:
        """See `Encoder.encode_with_offsets`."""
        ids = self.encode(text)
        exact = byte_offsets(text, [self.token_bytes(token_id) for token_id in ids])
        return super().encode_with_offsets(text) if exact is None else Encoded(ids, exact)


def fuzz_texts(added: Sequence[str]) -> list[str]:
    """The fixed made-up texts, with the tokenizer's added tokens among them."""
    rng = random.Random(20260101)  # noqa: S311  (a fixed sample)
    pieces = [*_PIECES, *rng.sample(list(added), min(len(added), 24))]
    texts = ["".join(rng.choice(pieces) for _ in range(rng.randint(1, 24))) for _ in range(FUZZ)]
    return ["", *pieces, *texts, *("".join(chr(rng.choice(_RANGES) + rng.randrange(256)) for _ in range(16)) for _ in range(FUZZ // 2))]


_RANGES = (
    0x20, 0x100, 0x300, 0x400, 0x600, 0x900, 0x1100, 0x1E00, 0x2000, 0x2100, 0x3000, 0x4E00, 0xAC00, 0xFB00, 0xFF00, 0x10400,
    0x1F300,
    0x20000,
)  # fmt: skip
