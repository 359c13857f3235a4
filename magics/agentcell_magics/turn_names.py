"""What is typed after a command → the conversation, the turn or the attachment that is meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentcell.errors import CellError
from agentcell.history import lookup
from agentcell.history.turn_words import one_line
from agentcell_magics.line import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentcell.history.lookup import Found
    from agentcell.history.turns import Turn
    from agentcell.session import Session

LONGEST_QUESTION = 80
"""Characters of a question that a line shows."""

_ID = re.compile(r"[0-9a-f]{4,32}|unreadable-\d+")


def words_and_flags(
    command: str, arguments: list[str], known: Iterable[str] = ()
) -> tuple[list[str], set[str]]:
    """Return a command's words, and its flags.

    Parameters
    ----------
    command
        Its name, for errors.
    arguments
        What was typed after it.
    known
        The flags that it takes.

    Raises
    ------
    CellError
        If there is another flag.
    """
    known = sorted(known)
    flags = {word for word in arguments if word.startswith("--")}
    if wrong := flags - set(known):
        raise CellError(
            f"%agent {command} has no option {shown(min(wrong))!r}.",
            fix=f"use {' or '.join(known)}." if known else "leave it out.",
        )
    return [word for word in arguments if word not in flags], flags


def conversation_named(session: Session, name: str, names: tuple[str, ...] | None = None) -> str:
    """Return the name of a conversation that there is.

    Parameters
    ----------
    session
        Knows the conversations with a turn.
    name
        As it was typed.
    names
        Those that may be meant; None: those with a turn.

    Raises
    ------
    CellError
        If there is none.
    """
    names = session.conversations if names is None else names
    if name in names:
        return name
    same = [one for one in names if one.casefold() == name.casefold()]
    known = ", ".join(shown(one) for one in names[-8:])
    fix = f"did you mean {shown(same[0])}?" if same else f"name one of: {known}."
    raise CellError(
        f"There is no conversation {shown(name)!r} with a turn.",
        fix=fix if names else "ask something first.",
    )


def quote(turn: Turn) -> str:
    """Return a turn's question, short and in quotes."""
    return f"“{one_line(turn.question, LONGEST_QUESTION)}”"


def could_be_id(text: str) -> bool:
    """Whether `text` may be a turn's id, or its beginning."""
    return bool(_ID.fullmatch(text))


def tags_named(session: Session, text: str) -> list[str]:
    """Return the attachments' tags that a word may mean: whole, its name, or without its number."""
    tags = session.tags
    exact = [tag for tag in tags if text in {tag, tag.strip("[]").split(" ")[0]}]
    begun = [tag for tag in tags if re.match(rf"\[{re.escape(text)}_\d+ ", tag)]
    return exact or begun


def turns_named(session: Session, text: str) -> list[Found]:
    """Return the turns that words may mean: a number, a conversation and a number, an id."""
    found: dict[str, Found] = {}
    names = session.conversations
    if text.isdecimal() and len(text) < 16:  # noqa: PLR2004 (no list is that long)
        numbers = [(name, int(text)) for name in names]
    else:
        name, _, digits = text.rpartition(" ")
        is_place = name in names and digits.isdecimal() and len(digits) < 16  # noqa: PLR2004
        numbers = [(name, int(digits))] if is_place else []
    for conversation, number in numbers:
        one = lookup.at_number(session.history, conversation, number)
        if one is not None:
            found[one.turn.id] = one
    if could_be_id(text):
        for one in lookup.by_id(session.history, text):
            found.setdefault(one.turn.id, one)
    return list(found.values())


def place_of(one: Found) -> str:
    """Return which turn it is, for people."""
    where = f"turn {one.number} of {one.conversation}" if one.number else f"turn {one.turn.id}"
    return f"{where} ({quote(one.turn)})"
