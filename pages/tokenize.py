"""Placeholder."""

from pages.components.page import header

header("Tokenize", "A sentence that says what this step decides.")
