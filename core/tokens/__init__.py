"""From a recipe to a dataset of token ids and loss masks that proves itself.

It knows how conversations become files. It does not know raw dialects, how a template prints, or what is trained on the result.
"""

from core.tokens.browsing import LostRows, WrittenRow, lost_rows, written_row
from core.tokens.estimate import SAMPLE, known_estimate, row_tokens, sample_estimate, settled_plan
from core.tokens.frequencies import coverage, read_frequencies
from core.tokens.lengths import LengthHistogram, length_histogram, share_histogram
from core.tokens.manifest import Manifest, ManifestBroken, NotADataset
from core.tokens.measuring import Meter, figures_key
from core.tokens.pipeline import tokenize
from core.tokens.report import TokenizeReport
from core.tokens.staging import discard_partial, partial_folder
from core.tokens.trial import Trial, trial
from core.tokens.verify import Check, VerifyReport, verify

__all__ = [
    "SAMPLE",
    "Check",
    "LengthHistogram",
    "LostRows",
    "Manifest",
    "ManifestBroken",
    "Meter",
    "NotADataset",
    "TokenizeReport",
    "Trial",
    "VerifyReport",
    "WrittenRow",
    "coverage",
    "discard_partial",
    "figures_key",
    "known_estimate",
    "length_histogram",
    "lost_rows",
    "partial_folder",
    "read_frequencies",
    "row_tokens",
    "sample_estimate",
    "settled_plan",
    "share_histogram",
    "tokenize",
    "trial",
    "verify",
    "written_row",
]
