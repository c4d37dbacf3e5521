"""What the target sees and what it must produce: chat template, encoder, loss mask, and why for every token."""

from core.chat.choices import REASONS, BadChoice, Dropped, Supervision
from core.chat.encoding import Encoder, TokenizerEncoder, TokenizerMissing, UnencodableText
from core.chat.explain import (
    ExplainedRow,
    ExplainedToken,
    Explanation,
    RenderedPart,
    explain,
    explain_rows,
    message_names,
    rendered_parts,
)
from core.chat.facts import RowFacts, draft_blocks, facts_of
from core.chat.fast import FastPath
from core.chat.forecast import Forecast, Loss, forecast
from core.chat.hub import TargetUnavailable
from core.chat.probe import ProbeReport, probe, refusal_of
from core.chat.settled import settled
from core.chat.supervision import DegenerateMask, Supervised, TrainingRow, check_source_mask, generation_prompt, supervise
from core.chat.target import Target, TargetMissing
from core.chat.template import ChatTemplate, TemplateBroken, TemplateMissing, TemplateRefused

__all__ = [
    "REASONS",
    "BadChoice",
    "ChatTemplate",
    "DegenerateMask",
    "Dropped",
    "Encoder",
    "ExplainedRow",
    "ExplainedToken",
    "Explanation",
    "FastPath",
    "Forecast",
    "Loss",
    "ProbeReport",
    "RenderedPart",
    "RowFacts",
    "Supervised",
    "Supervision",
    "Target",
    "TargetMissing",
    "TargetUnavailable",
    "TemplateBroken",
    "TemplateMissing",
    "TemplateRefused",
    "TokenizerEncoder",
    "TokenizerMissing",
    "TrainingRow",
    "UnencodableText",
    "check_source_mask",
    "draft_blocks",
    "explain",
    "explain_rows",
    "facts_of",
    "forecast",
    "generation_prompt",
    "message_names",
    "probe",
    "refusal_of",
    "rendered_parts",
    "settled",
    "supervise",
]
