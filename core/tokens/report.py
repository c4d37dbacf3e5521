"""What a tokenization came to, for people and programs. It knows figures only."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.tokens.manifest import Manifest, added
from core.tokens.units import Means
from core.tokens.verify import VerifyReport


@dataclass(frozen=True)
class TokenizeReport:
    """The finished dataset: where it is, what is in it, what proved it, and how long it took (seconds of wall time)."""

    path: Path
    manifest: Manifest
    verification: VerifyReport
    seconds: float
    workers: int
    resumed_units: int
    means: Means
    """What rendered and encoded. It is not in the manifest: it never changes a byte."""

    @property
    def rows(self) -> int:
        """Training rows."""
        return self.manifest.rows

    @property
    def tokens(self) -> int:
        """Tokens of all training rows."""
        return self.manifest.tokens

    @property
    def trainable_tokens(self) -> int:
        """Tokens that are trained on."""
        return self.manifest.trainable_tokens

    @property
    def verified(self) -> bool:
        """Whether everything was checked and nothing was wrong."""
        return self.verification.ok

    @property
    def dropped(self) -> dict[str, int]:
        """Conversations or turns left out of training, by reason."""
        total: dict[str, int] = {}
        for source in self.manifest.sources.values():
            total = added(total, source["dropped"])
        return total

    def to_json(self) -> dict[str, Any]:
        """The object that `mixdown tokenize --json` prints."""
        manifest = self.manifest
        return {
            "path": str(self.path),
            "conversations": manifest.conversations,
            "rows": manifest.rows,
            "tokens": manifest.tokens,
            "trainable_tokens": manifest.trainable_tokens,
            "dropped": self.dropped,
            "heldout": manifest.heldout,
            "per_source": manifest.sources,
            "seconds": round(self.seconds, 3),
            "encoder": self.means.encoder,
            "renderer": self.means.renderer,
            "fallbacks": self.means.reasons,
            "paths": {"fast": self.means.fast, "slow": self.means.slow, "checked": self.means.checked},
            "workers": self.workers,
            "resumed_units": self.resumed_units,
            "verified": self.verified,
            "checks": self.verification.to_json()["checks"],
        }
