"""Where rows come from and where they are kept: catalogue, readers, import, and the library of imported sources."""

from core.sources.catalogue import DOMAINS, Catalogue, CatalogueEntry
from core.sources.downloads import KeptFiles, kept_files, remove_unneeded
from core.sources.hub import HubReference, looks_like_hub_id
from core.sources.importing import first_rows, import_name, import_source, origin_rows
from core.sources.languages import language_of
from core.sources.ledger import Ledger
from core.sources.library import Library
from core.sources.origin import Origin
from core.sources.query import BadQuery, Bin, Page
from core.sources.readers import UnreadableSource, read_lines, read_rows
from core.sources.shelf import CannotWrite, SourceMissing
from core.sources.source import Source
from core.sources.stored import StoredRow
from core.sources.text import prompt_hash

__all__ = [
    "DOMAINS",
    "BadQuery",
    "Bin",
    "CannotWrite",
    "Catalogue",
    "CatalogueEntry",
    "HubReference",
    "KeptFiles",
    "Ledger",
    "Library",
    "Origin",
    "Page",
    "Source",
    "SourceMissing",
    "StoredRow",
    "UnreadableSource",
    "first_rows",
    "import_name",
    "import_source",
    "kept_files",
    "language_of",
    "looks_like_hub_id",
    "origin_rows",
    "prompt_hash",
    "read_lines",
    "read_rows",
    "remove_unneeded",
]
