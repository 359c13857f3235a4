"""The words of a `%generate` line and what is known here, to what the begun word may become."""

from __future__ import annotations

from agentcell_magics.generate_options import COMMANDS, GENERATE_OPTIONS
from agentcell_magics.offers import (
    Known,
    Offer,
    Offers,
    Values,
    answers_first,
    can_attach,
    line_offers,
    matching,
    paths,
)


def generate_offers(known: Known, magic: str, words: tuple[str, ...], begun: str) -> Offers:
    """Return what the begun word may become: a command, what that takes, an option, its value.

    Parameters
    ----------
    magic
        With its signs, ``%generate`` or ``%%generate``.
    words
        The whole words before it.
    begun
        What it says so far.
    """
    if magic == "%generate" and words[:1] and words[0] in COMMANDS:
        return _command_words(known, words, begun)
    commands = matching(COMMANDS, begun, "command") if magic == "%generate" and not words else []
    options = line_offers(known, magic, GENERATE_OPTIONS, words, begun, values=_VALUES)
    return [*commands, *options]


def _command_words(known: Known, words: tuple[str, ...], begun: str) -> list[Offer]:
    """Offer what `%generate resume` and `%generate cancel` may name; `jobs` takes an option."""
    if words == ("jobs",):
        return matching(["--all"], begun, "option")
    if words not in {("resume",), ("cancel",)}:
        return []
    from agentcell_magics.background import background

    session = known.session()
    ids = [job.id for job in reversed(session.generator.jobs()) if job.is_unfinished]
    running = background(session).running if words == ("cancel",) else []
    names = [one.name for one in running if one.conversation is None]
    return matching([*names, *ids], begun, "job")


def _makers(known: Known, begun: str) -> list[Offer]:
    """Offer who makes pictures and clips, and their models where they are known here."""
    from agentcell_magics.generate_commands import makers

    return matching(makers(known.session()), begun, "model")


def _pictures(known: Known, begun: str) -> list[Offer]:
    names = (name for name, value in known.variables().items() if can_attach(value))
    return [*matching(names, begun, "variable"), *paths(begun, "image")]


_VALUES: dict[str, Values] = {
    "--edit": lambda known, _, begun: _pictures(known, begun),
    "--mask": lambda known, _, begun: _pictures(known, begun),
    "--model": lambda known, _, begun: _makers(known, begun),
    "--output": lambda _known, _line, begun: paths(begun, "any"),
    "-o": lambda known, _, begun: matching(answers_first(known.variables()), begun, "variable"),
}
"""By an option's long form."""
