"""Programs that the interpreter of an environment with speculators runs; nothing of Mixdown imports them."""
