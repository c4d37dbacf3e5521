"""Placeholder."""

from pages.components.page import header

header("Mix", "A sentence that says what this step decides.")
