"""An encoder for looking at one long conversation: its many beginnings share nearly all their text, so pieces are encoded once.

Text is cut at added tokens, where tokenizers cut it too before they do anything else. Whether that holds for a tokenizer and a
text is not assumed: `explain_rows` compares the whole render first and uses the plain encoder where it differs.
"""

from core.chat.encoding import TokenizerEncoder

_REMEMBERED = 4096


class PiecewiseEncoder(TokenizerEncoder):
    """The same tokenizer; `encode` remembers what lies between added tokens."""

    def __init__(self, encoder: TokenizerEncoder) -> None:
        """Share everything with `encoder`."""
        self.__dict__.update(encoder.__dict__)
        self._pieces: dict[tuple[str, bool], list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """See `Encoder.encode`; a piece at the very beginning is kept apart, because some tokenizers treat it otherwise."""
        if not self.added:
            return super().encode(text)
        if len(self._pieces) > _REMEMBERED:
            self._pieces.clear()
        ids: list[int] = []
        for place, piece in enumerate(self._added_pattern.split(text)):
            if piece:
                key = piece, place == 0
                if key not in self._pieces:
                    self._pieces[key] = super().encode(piece)
                ids += self._pieces[key]
        return ids
