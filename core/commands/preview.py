"""`mixdown preview`: one row of a source token by token, with the figures that the Preview page shows."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.commands.inputs import ArgOption, TargetOption, TemplateOption, load_target
from core.commands.output import AsJSON, Home, emit, people, say
from core.commands.supervision import with_supervision
from core.errors import InputError
from core.workspace import BUNDLED_TARGET, Workspace

if TYPE_CHECKING:
    from core.chat import ExplainedRow, ExplainedToken, Explanation, RowFacts, Supervision

_TRAINED, _MASKED = "underline bold cyan", "bright_black"
"""Underlined is what is trained on, so that it shows without colours too."""


class NoSuchRow(InputError):
    """A row number past the end of a source."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(preview)


@with_supervision
def preview(
    source: Annotated[str, typer.Argument(help="An imported source.")],
    row: Annotated[int, typer.Argument(help="The row's number in it.", min=0)],
    choices: "Supervision",
    target: TargetOption = str(BUNDLED_TARGET),
    template: TemplateOption = None,
    arg: ArgOption = None,
    block_size: Annotated[int | None, typer.Option(help="Tokens of a draft block, the committed one included.", min=2)] = None,
    why: Annotated[bool, typer.Option("--why", help="Each stretch on its own, with the reason why it is trained on or not.")] = False,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Show one row token by token: trained-on tokens coloured and underlined, the others grey."""
    from core.chat import explain_rows, facts_of
    from core.chat.characters import spelled_out
    from core.drafter import TrainSettings
    from core.sources import Library

    loaded = load_target(target, template, arg)
    size = block_size or TrainSettings().block_size
    opened = Library(Workspace.at(home)).source(source)
    there = opened.ledger.kept + opened.ledger.prompt_only
    if row >= there:
        raise NoSuchRow(f"{source} has {there:,} rows and no row {row:,}; give a number from 0 to {there - 1:,}.")
    seen = explain_rows(opened.conversation(row), loaded, choices)
    facts = [facts_of(explained.made, size) for explained in seen.rows]
    if as_json:
        emit(_json(seen, facts, size))
        return
    for number, (explained, figures) in enumerate(zip(seen.rows, facts, strict=True)):
        if len(seen.rows) > 1:
            say(f"── training row {number + 1} of {len(seen.rows)}" + ("" if figures.turn is None else f", message {figures.turn + 1}"))
        _draw(explained, why)
        say(_sentence(figures, size, choices.seq_length))
    for lost in seen.dropped:
        where = "" if lost.turn is None else f", message {lost.turn + 1}"
        say(f"not trained on{where}: {lost.reason}. {spelled_out(lost.detail)}")


def _json(seen: "Explanation", facts: "list[RowFacts]", block_size: int) -> dict[str, Any]:
    """`tokens` of all rows one after another, `rows` their numbers of tokens, `facts` their figures, `dropped` what gives no row."""
    return {
        "tokens": [
            {**token.to_json(), "row": number, "position": place}
            for number, explained in enumerate(seen.rows)
            for place, token in enumerate(explained.tokens)
        ],
        "rows": [len(explained.tokens) for explained in seen.rows],
        "facts": [figures.to_json() for figures in facts],
        "block_size": block_size,
        "dropped": [{"turn": lost.turn, "reason": lost.reason, "detail": lost.detail} for lost in seen.dropped],
    }


def _draw(explained: "ExplainedRow", why: bool) -> None:
    from itertools import groupby

    from rich.text import Text

    if not why:
        people.print(_text(explained.tokens))
        return
    for (trainable, reason), stretch in groupby(explained.tokens, key=lambda token: (token.trainable, token.why)):
        tokens = list(stretch)
        state = f"{'trainable' if trainable else 'masked'}, {len(tokens):,} token{'s' if len(tokens) > 1 else ''}"
        people.print(Text.assemble((f"▌{state}: {reason}", "cyan" if trainable else "bright_black")))
        people.print(_text(tokens))


def _text(tokens: "list[ExplainedToken]") -> Any:
    """The tokens in colour. Neighbours of one look are joined first: a character may be spread over several tokens."""
    from itertools import groupby

    from rich.text import Text

    from core.chat.characters import spelled_out

    drawn = Text()
    for trainable, stretch in groupby(tokens, key=lambda token: token.trainable):
        octets = b"".join(token.bytes for token in stretch)
        drawn.append(spelled_out(octets.decode("utf-8", "replace")), style=_TRAINED if trainable else _MASKED)
    return drawn


def _sentence(facts: "RowFacts", block_size: int, limit: int) -> str:
    cut = f"cut at {limit:,}" if facts.truncated else "not cut"
    if facts.cut_turn is not None:
        cut += f" in the middle of message {facts.cut_turn + 1}"
    if facts.shortened:
        cut += ", without its earliest turns"
    whole = f"{facts.whole_blocks:,} whole draft block{'s' if facts.whole_blocks != 1 else ''} of {block_size}"
    return (
        f"{facts.tokens:,} tokens, {facts.trainable:,} trainable ({facts.share:.0%}), {cut}, "
        f"{whole}, {facts.crossing_blocks:,} past the end of a turn"
    )
