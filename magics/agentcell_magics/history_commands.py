"""`%agent history`, `undo`, `forget` and `restore`: the turns, and what is done to them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentcell.errors import CellError, HistoryError
from agentcell.history import lookup
from agentcell.history.turn_words import marks, one_line, tokens
from agentcell_magics import cards
from agentcell_magics.line import shown
from agentcell_magics.live import show
from agentcell_magics.stale_marks import stale_marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentcell.history.lookup import Found
    from agentcell.history.turns import Turn
    from agentcell.session import Session

_MOST_TURNS = 100
"""As many turns a list shows: the last ones."""

_FEWEST = 5
"""As many of each conversation it shows, however many conversations there are."""

_MOST_CONVERSATIONS = 20
_MOST_RUNS = 3
_MOST_TAGS = 6
_LONGEST_QUESTION = 80
_ID_SHOWN = 8
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


def history(session: Session, arguments: list[str]) -> None:
    """Show the last turns of each conversation, or of one; with ``--all`` also replaced ones.

    Raises
    ------
    CellError
        If there is no such conversation.
    """
    words, flags = words_and_flags("history", arguments, {"--all"})
    names = session.conversations
    if "--all" in flags:
        names = tuple(dict.fromkeys([*lookup.names_of_gone(session.history), *names]))
    if words:
        names = (conversation_named(session, " ".join(words), names),)
    rows: list[tuple[str, str]] = []
    turns = 0
    each = max(_FEWEST, _MOST_TURNS // max(1, min(len(names), _MOST_CONVERSATIONS)))
    for name in names[-_MOST_CONVERSATIONS:]:
        found = lookup.numbered(session.history, name, last=each)
        turns += len(found)
        rows += ((f"{name} {one.number}", _told(one.turn)) for one in found)
        if "--all" in flags:
            former = lookup.gone(session.history, name, last=each)
            rows += ((f"{name}, {_why_gone(one)}", _told(one.turn, with_id=True)) for one in former)
    if not words:
        rows += _former_runs(session)
    if not rows:
        show(cards.line("No turns yet."))
        return
    count = sum(session.history.count(name) for name in names)
    title = "Turns" if turns == count else f"Turns: the last {turns:,} of {count:,}"
    show(cards.rows(title, rows))


def undo(session: Session, arguments: list[str]) -> None:
    """Take back the last change, of one conversation or of all.

    Raises
    ------
    CellError
        If there is no such conversation.
    HistoryError
        If there is nothing to take back.
    """
    words, _ = words_and_flags("undo", arguments)
    name = conversation_named(session, " ".join(words)) if words else None
    turn = session.undo(name)
    name = name or _conversation_of(session, turn)
    back = lookup.in_place_of(session.history, turn)
    said = f"Taken back in {name}: {quote(turn)}."
    if back is not None:
        said += f" In its place is again: {quote(back)}."
    how = f"%agent restore {turn.id[:_ID_SHOWN]} undoes this."
    show(cards.line(f"{said} {sees(session, name)} {how}"))


def forget(session: Session, arguments: list[str]) -> None:
    """Delete a turn for good, or let an attachment never go out again.

    Raises
    ------
    CellError
        If nothing is named, or more than one thing could be meant.
    HistoryError, AttachmentError
        If there is none of that name.
    """
    words, _ = words_and_flags("forget", arguments)
    text = " ".join(words)
    if not text:
        raise CellError(
            "%agent forget needs a turn or a tag.",
            fix="write for example %agent forget receipt_1, or a number of %agent history.",
        )
    tags, turns = _tags_named(session, text), _turns_named(session, text)
    if len(tags) + len(turns) > 1:
        them = [*tags, *map(_place_of, turns)]
        raise CellError(
            f"{shown(text)!r} could be {', or '.join(them)}.",
            fix="write the whole tag, or the conversation and the number, or more of the id.",
        )
    if turns:
        _forget_turn(session, turns[0])
    elif not tags and text.isdecimal():
        known = ", ".join(f"{name} has {session.history.count(name):,}" for name in _last(session))
        raise HistoryError(
            f"There is no turn {shown(text)}{f': {known}' if known else ''}.",
            fix="see %agent history for the numbers.",
        )
    else:
        block = session.forget(tags[0] if tags else text)  # which says if there is none
        show(cards.line(f"{block.tag} will not be sent again; its name stays in earlier texts."))


def restore(session: Session, arguments: list[str]) -> None:
    """Bring back a turn, a former life of the kernel, or what a saved notebook says.

    Raises
    ------
    CellError
        If more than one thing could be meant.
    HistoryError
        If there is nothing of that name.
    """
    words, _ = words_and_flags("restore", arguments)
    if words[:1] == ["notebook"]:
        from agentcell_magics.saved import restore_notebook

        restore_notebook(session, words[1:])
        return
    text = " ".join(words) or "last"
    turns = lookup.by_id(session.history, text) if _ID.fullmatch(text) else []
    runs = [run for run in session.history.former_runs if run.name.startswith(text)]
    exact = [run for run in runs if run.name == text]
    found = [one.turn.id for one in turns] + [run.name for run in exact or runs]
    if len(found) > 1:
        raise CellError(
            f"{shown(text)!r} could be {', or '.join(map(shown, found))}.", fix="write more of it."
        )
    done = session.restore(found[0] if found else text)
    stale_marks(session).look_again(session)
    if turns:
        name = turns[0].conversation
        said = f"Again in {name}: {quote(turns[0].turn)}."
        show(cards.line(f"{said} {sees(session, name)}"))
        return
    count = getattr(done, "turns", 0)
    came = f"{count:,} turn{'' if count == 1 else 's'} of {getattr(done, 'name', '')} came back."
    names = session.conversations
    show(cards.line(" ".join([came, *(sees(session, name) for name in names[:1])])))


def sees(session: Session, name: str) -> str:
    """Return what the next new question in a conversation sees, as a sentence."""
    past = session.history.past(name)
    sent = [turn for turn in past.turns if turn.is_sent_again]
    if not sent:
        return f"The next question in {name} sees no earlier turn."
    many = f"{len(sent)} turns, the last of which" if len(sent) > 1 else "one turn, which"
    last = "only the last " if past.is_cut else ""
    return f"The next question in {name} sees {last}{many} asks {quote(sent[-1])}."


def quote(turn: Turn) -> str:
    """Return a turn's question, short and in quotes."""
    return f"“{one_line(turn.question, _LONGEST_QUESTION)}”"


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


def _told(turn: Turn, *, with_id: bool = False) -> str:
    tags = [block.tag for block in turn.attachments]
    more = f", and {len(tags) - _MOST_TAGS} more" if len(tags) > _MOST_TAGS else ""
    said = [turn.model, tokens(turn.usage), *marks(turn)]
    said += [f"id {turn.id[:_ID_SHOWN]}"] if with_id else []
    lines = [one_line(turn.question, _LONGEST_QUESTION), " · ".join(one for one in said if one)]
    lines += [f"with {', '.join(tags[:_MOST_TAGS])}{more}"] if tags else []
    return "\n".join(line for line in lines if line)


def _why_gone(one: Found) -> str:
    return "taken back" if one.is_undone else "replaced"


def _former_runs(session: Session) -> Iterator[tuple[str, str]]:
    runs = session.history.former_runs
    if len(runs) > _MOST_RUNS:
        yield "before", f"{len(runs) - _MOST_RUNS:,} older lives of this kernel"
    for run in runs[-_MOST_RUNS:]:
        count = f"{run.turns:,} turn{'' if run.turns == 1 else 's'}"
        asked = one_line(run.question, _LONGEST_QUESTION)
        yield "before", f"{run.name} · {count} · {asked}"


def _conversation_of(session: Session, turn: Turn) -> str:
    found = lookup.by_id(session.history, turn.id)
    return found[0].conversation if found else "main"


def _last(session: Session) -> tuple[str, ...]:
    return session.conversations[-_FEWEST:]


def _tags_named(session: Session, text: str) -> list[str]:
    tags = session.tags
    exact = [tag for tag in tags if text in {tag, tag.strip("[]").split(" ")[0]}]
    begun = [tag for tag in tags if re.match(rf"\[{re.escape(text)}_\d+ ", tag)]
    return exact or begun


def _turns_named(session: Session, text: str) -> list[Found]:
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
    if _ID.fullmatch(text):
        for one in lookup.by_id(session.history, text):
            found.setdefault(one.turn.id, one)
    return list(found.values())


def _place_of(one: Found) -> str:
    where = f"turn {one.number} of {one.conversation}" if one.number else f"turn {one.turn.id}"
    return f"{where} ({quote(one.turn)})"


def _forget_turn(session: Session, one: Found) -> None:
    session.forget_turn(one.turn.id)
    stale_marks(session).look_again(session)
    what = f"Turn {one.number}" if one.number else "A turn"
    versions = "" if one.turn.cell_id is None else ", with all its versions"
    said = f"{what} of {one.conversation} is deleted for good{versions}: {quote(one.turn)}."
    show(cards.line(f"{said} {sees(session, one.conversation)}"))
