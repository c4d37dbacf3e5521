"""What the target sees and what it must produce: chat template, encoder, loss mask, and why for every token."""

from core.chat.choices import BadChoice, Dropped, Supervision
from core.chat.encoding import Encoder, TokenizerEncoder, TokenizerMissing, UnencodableText
from core.chat.explain import ExplainedToken, explain
from core.chat.fast import FastPath
from core.chat.hub import TargetUnavailable
from core.chat.probe import ProbeReport, probe, refusal_of
from core.chat.supervision import DegenerateMask, Supervised, TrainingRow, check_source_mask, generation_prompt, supervise
from core.chat.target import Target, TargetMissing
from core.chat.template import ChatTemplate, TemplateBroken, TemplateMissing, TemplateRefused

__all__ = [
    "BadChoice",
    "ChatTemplate",
    "DegenerateMask",
    "Dropped",
    "Encoder",
    "ExplainedToken",
    "FastPath",
    "ProbeReport",
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
    "explain",
    "generation_prompt",
    "probe",
    "refusal_of",
    "supervise",
]
