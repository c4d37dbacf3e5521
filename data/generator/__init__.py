"""The seeded generator of everything under `data/`: text, raw rows in each dialect, the demo target and its check."""
