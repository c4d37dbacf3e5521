"""From a recipe to a dataset of token ids and loss masks that proves itself.

It knows how conversations become files. It does not know raw dialects, how a template prints, or what is trained on the result.
"""

from core.tokens.estimate import SAMPLE, known_estimate, row_tokens, sample_estimate, settled_plan
from core.tokens.frequencies import coverage, read_frequencies
from core.tokens.lengths import LengthHistogram, length_histogram
from core.tokens.manifest import Manifest, ManifestBroken, NotADataset
from core.tokens.measuring import Meter, figures_key
from core.tokens.pipeline import tokenize
from core.tokens.report import TokenizeReport
from core.tokens.staging import discard_partial
from core.tokens.verify import Check, VerifyReport, verify

__all__ = [
    "SAMPLE",
    "Check",
    "LengthHistogram",
    "Manifest",
    "ManifestBroken",
    "Meter",
    "NotADataset",
    "TokenizeReport",
    "VerifyReport",
    "coverage",
    "discard_partial",
    "figures_key",
    "known_estimate",
    "length_histogram",
    "read_frequencies",
    "row_tokens",
    "sample_estimate",
    "settled_plan",
    "tokenize",
    "verify",
]
