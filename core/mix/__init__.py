"""The mix: a recipe says what is wanted, the plan turns it into integer counts, the selection picks the rows.

It knows sources by their sizes and row ids. It does not know templates or tokens; token figures come from a callable.
"""

from core.mix.benchmarks import NoSuchBenchmark
from core.mix.contamination import BOILERPLATE, ContaminationReport, Excerpt, Match, MatchGroup, contamination_report
from core.mix.difference import difference
from core.mix.duplicate_groups import DuplicateGroups, Group
from core.mix.duplicates import duplicate_groups
from core.mix.filters import Check, Removed, checks_of, removed_by
from core.mix.history import (
    NoSuchVersion,
    Version,
    recipe_names,
    recipe_version,
    recipe_versions,
    restore_recipe,
    save_recipe,
    save_recipe_text,
)
from core.mix.licences import LicenceShare, MixLicences, Part, mix_licences
from core.mix.measured import Measured, add_measured, load_measured, measured_stamp
from core.mix.plan import EmptySource, Estimate, OtherwiseImported, Shortfall, SpoiltSource, plan, supply_of
from core.mix.planned import Plan, PlannedSource, Shares
from core.mix.presets import ImpossibleWeights, equal, like, moved, proportional, shares, tempered, with_share
from core.mix.ranking import held_out, kept_rows
from core.mix.recipe import UNITS, Budget, Recipe, RecipeSource, RecipeSupervision, RecipeTarget, Unit
from core.mix.recipe_file import RecipeError, checked_recipe, dump_recipe, load_recipe, parse_recipe, recipe_schema, recipe_text
from core.mix.rules import Contamination, Duplicates, Filters
from core.mix.sampling import HeldOutRow, Selection, first_ranked, select
from core.mix.supply import NoFigures, Supply, TokenEstimate, estimate_from
from core.mix.usable import EmptyLibrary, Usable, trained_order, usable_rows
from core.mix.waiting import Waiting, waiting_for, without_waiting
from core.mix.weights import UnknownPreset, recipe_for, sizes_of, with_domain_share, with_weights
from core.sources import prompt_hash

__all__ = [
    "BOILERPLATE",
    "UNITS",
    "Budget",
    "Check",
    "Contamination",
    "ContaminationReport",
    "DuplicateGroups",
    "Duplicates",
    "EmptyLibrary",
    "EmptySource",
    "Estimate",
    "Excerpt",
    "Filters",
    "Group",
    "HeldOutRow",
    "ImpossibleWeights",
    "LicenceShare",
    "Match",
    "MatchGroup",
    "Measured",
    "MixLicences",
    "NoFigures",
    "NoSuchBenchmark",
    "NoSuchVersion",
    "OtherwiseImported",
    "Part",
    "Plan",
    "PlannedSource",
    "Recipe",
    "RecipeError",
    "RecipeSource",
    "RecipeSupervision",
    "RecipeTarget",
    "Removed",
    "Selection",
    "Shares",
    "Shortfall",
    "SpoiltSource",
    "Supply",
    "TokenEstimate",
    "Unit",
    "UnknownPreset",
    "Usable",
    "Version",
    "Waiting",
    "add_measured",
    "checked_recipe",
    "checks_of",
    "contamination_report",
    "difference",
    "dump_recipe",
    "duplicate_groups",
    "equal",
    "estimate_from",
    "first_ranked",
    "held_out",
    "kept_rows",
    "like",
    "load_measured",
    "load_recipe",
    "measured_stamp",
    "mix_licences",
    "moved",
    "parse_recipe",
    "plan",
    "prompt_hash",
    "proportional",
    "recipe_for",
    "recipe_names",
    "recipe_schema",
    "recipe_text",
    "recipe_version",
    "recipe_versions",
    "removed_by",
    "restore_recipe",
    "save_recipe",
    "save_recipe_text",
    "select",
    "shares",
    "sizes_of",
    "supply_of",
    "tempered",
    "trained_order",
    "usable_rows",
    "waiting_for",
    "with_domain_share",
    "with_share",
    "with_weights",
    "without_waiting",
]
