"""The commands of `mixdown`, one module per step of the path. Each calls the functions that the dashboard calls."""
