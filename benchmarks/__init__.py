"""What the figures in README.md come from; each script says how to run it."""
