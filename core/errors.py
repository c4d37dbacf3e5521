"""The errors a person can act on, and the exit code each means for the `mixdown` command.

Every module derives its own classes from these two. A message is one sentence that names the file, row or field,
says what was found and what to do. It knows nothing about who prints it.
"""


class MixdownError(Exception):
    """Work that failed, or a check that found something (exit code 1)."""

    exit_code = 1


class InputError(MixdownError):
    """Wrong usage or unusable input: the caller must change something before trying again (exit code 2)."""

    exit_code = 2


class Paused(MixdownError):
    """Work that waits for something outside itself; what was done is kept, and starting it again goes on from there."""
