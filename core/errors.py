"""The errors a person can act on, and the exit code each means for the `mixdown` command.

Every module derives its own classes from these two. A message is one sentence that names the file, row or field,
says what was found and what to do. It knows nothing about who prints it.
"""

import errno


class MixdownError(Exception):
    """Work that failed, or a check that found something (exit code 1)."""

    exit_code = 1


class InputError(MixdownError):
    """Wrong usage or unusable input: the caller must change something before trying again (exit code 2)."""

    exit_code = 2


class Paused(MixdownError):
    """Work that waits for something outside itself; what was done is kept, and starting it again goes on from there."""


_NOT_THE_CALLERS_FAULT = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.ENOMEM)


def system_refusal(error: OSError) -> tuple[str, int]:
    """What the system refused, in one sentence with what to do, and the exit code: 1 for a full disk and the like, 2 for wrong input."""
    where = f" ({error.filename})" if error.filename else ""
    said = f"The system refused: {error.strerror or error}{where}. Check the path, its permissions and the free space, then try again."
    return said, 1 if error.errno in _NOT_THE_CALLERS_FAULT else InputError.exit_code
