"""Placeholder."""

from pages.components.page import header

header("Train", "A sentence that says what this step decides.")
