"""Tests of what ships in data/."""
