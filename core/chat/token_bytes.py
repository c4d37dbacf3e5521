"""What bytes a vocabulary piece stands for, in the spellings that tokenizers use.

It reads the tokenizer's own description of its decoder. It does not know ids, added tokens or how text is split.
"""

import re
from collections.abc import Callable, Sequence
from itertools import accumulate

from core.conversation import JSONObject

PieceBytes = Callable[[str], bytes]
"""From a vocabulary piece to the bytes it stands for in running text."""

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_META = "\u2581"  # the visible space of SentencePiece


def byte_alphabet() -> dict[str, int]:
    """The character that stands for each byte in byte-level BPE (GPT-2's alphabet): printable bytes are themselves."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    alphabet = {chr(byte): byte for byte in printable}
    rest = (byte for byte in range(256) if byte not in set(printable))
    alphabet.update({chr(256 + place): byte for place, byte in enumerate(rest)})
    return alphabet


_ALPHABET = byte_alphabet()


def component_types(state: JSONObject | None) -> set[str]:
    """The `type` names inside a tokenizer component's description, nested ones too."""
    if state is None:
        return set()
    found = {state["type"]} if isinstance(state.get("type"), str) else set()
    for key in ("decoders", "pretokenizers", "normalizers"):
        for part in state.get(key) or ():
            found |= component_types(part)
    return found


def piece_bytes(decoder: JSONObject | None, pre_tokenizer: JSONObject | None) -> PieceBytes:
    """How to read the pieces of a tokenizer with this decoder and pre-tokenizer (their JSON descriptions)."""
    types = component_types(decoder) | component_types(pre_tokenizer)
    if "ByteLevel" in types:
        return _byte_level
    if types & {"ByteFallback", "Metaspace"}:
        return _sentencepiece
    if "WordPiece" in types and decoder is not None:
        prefix = str(decoder.get("prefix", "##"))
        return lambda piece: (piece[len(prefix) :] if piece.startswith(prefix) else f" {piece}").encode()
    return lambda piece: piece.encode("utf-8", "surrogatepass")


def byte_offsets(text: str, tokens: Sequence[bytes]) -> list[tuple[int, int]] | None:
    """Characters `[start, end)` of tokens whose bytes are exactly the text's; None where they are not (a normalizer changed it).

    A character cut across tokens belongs to each of them. Unlike a tokenizer's own offsets these never leave whitespace out.
    """
    encoded = text.encode("utf-8", "surrogatepass")
    if b"".join(tokens) != encoded:
        return None
    ends = list(accumulate(map(len, tokens)))
    if len(encoded) == len(text):
        return [(end - len(token), end) for token, end in zip(tokens, ends, strict=True)]
    # Character of each byte: a byte begins a character unless it is 0b10xxxxxx.
    characters = list(accumulate((byte & 0xC0) != 0x80 for byte in encoded))
    return [(characters[end - len(token)] - 1, characters[end - 1]) if token else (0, 0) for token, end in zip(tokens, ends, strict=True)]


def _byte_level(piece: str) -> bytes:
    values = [_ALPHABET.get(character) for character in piece]
    known = [value for value in values if value is not None]
    return bytes(known) if len(known) == len(values) else piece.encode("utf-8", "surrogatepass")


def _sentencepiece(piece: str) -> bytes:
    byte = _BYTE_PIECE.fullmatch(piece)
    return bytes([int(byte[1], 16)]) if byte else piece.replace(_META, " ").encode("utf-8", "surrogatepass")
