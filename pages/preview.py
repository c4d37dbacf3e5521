"""Placeholder."""

from pages.components.page import header

header("Preview", "A sentence that says what this step decides.")
