"""What a run came to, in a few words for a table. It knows the results of the kinds of runs there are."""

from core.runs import Run


def outcome(run: Run) -> str:
    """One short phrase; empty while there is nothing to say."""
    if run.error:
        return run.error
    return ""
