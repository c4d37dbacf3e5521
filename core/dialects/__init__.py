"""Raw rows of any shape to the one shape: dialects, their detection, repairs and quarantine by name.

Nothing here knows files, templates or targets; literal special tokens in a text pass through unchanged.
"""

from core.dialects.codes import CODES, BadPolicy, Code, Policy
from core.dialects.convert import convert
from core.dialects.detect import ENOUGH_ROWS, Detection, detect, is_conversation, looks_like_row
from core.dialects.dialect import Dialect
from core.dialects.mapping import PARTS, BadMapping, ColumnMap
from core.dialects.registry import DIALECTS, UnknownDialect
from core.dialects.rows import Outcome, RawRow, Status
from core.dialects.tree import EXCLUSIONS

__all__ = [
    "CODES",
    "DIALECTS",
    "ENOUGH_ROWS",
    "EXCLUSIONS",
    "PARTS",
    "BadMapping",
    "BadPolicy",
    "Code",
    "ColumnMap",
    "Detection",
    "Dialect",
    "Outcome",
    "Policy",
    "RawRow",
    "Status",
    "UnknownDialect",
    "convert",
    "detect",
    "is_conversation",
    "looks_like_row",
]
