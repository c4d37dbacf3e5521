"""The `mixdown` command: a map of its subcommands, and the one place where errors become exit codes.

Light on purpose: what a command needs is imported when it runs, so that `mixdown --help` answers at once.
"""

import os
import sys
from typing import Annotated

import typer

from core.commands import chat, drafter, mix, path, preview, runs, sources, suggest, tokens, train
from core.commands.output import say
from core.errors import MixdownError, system_refusal

app = typer.Typer(
    name="mixdown",
    help="Mix chat and tool-calling data, see what the target's template does to it, and train a measured drafter.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for module in (path, sources, mix, chat, preview, tokens, train, drafter, suggest, runs):
    module.register(app)


@app.callback()
def workspace(
    home: Annotated[str | None, typer.Option("--home", help="The workspace folder (also after the command).")] = None,
) -> None:
    """Take `--home` before the command as well as after it."""
    if home is not None:
        os.environ["MIXDOWN_HOME"] = home


def main() -> None:
    """Run the command; exit 0 done, 1 the work failed or the check found something, 2 wrong usage or input."""
    try:
        app()
    except MixdownError as error:
        say(f"mixdown: {error}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output (head, less) went away: nothing is wrong.
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        said, code = system_refusal(error)
        say(f"mixdown: {said}")
        sys.exit(code)


if __name__ == "__main__":
    main()
