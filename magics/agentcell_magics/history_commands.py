"""`%agent history`, `undo`, `forget` and `restore`: the turns, and what is done to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.errors import CellError, HistoryError
from agentcell.history import lookup
from agentcell.history.turn_words import marks, one_line, tokens
from agentcell_magics import cards
from agentcell_magics.line import shown
from agentcell_magics.live import show
from agentcell_magics.stale_marks import stale_marks
from agentcell_magics.turn_names import (
    LONGEST_QUESTION,
    conversation_named,
    could_be_id,
    place_of,
    quote,
    tags_named,
    turns_named,
    words_and_flags,
)
from agentcell_magics.wording import say

if TYPE_CHECKING:
    from collections.abc import Iterator

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

_ID_SHOWN = 8
_DELETED = {
    (True, True): "Turn {number} of {name} is deleted for good, with all its versions: {question}.",
    (True, False): "Turn {number} of {name} is deleted for good: {question}.",
    (False, True): "A turn of {name} is deleted for good, with all its versions: {question}.",
    (False, False): "A turn of {name} is deleted for good: {question}.",
}
_SEES_ONE = "The next question in {name} sees one turn, which asks {question}."
_SEES_MANY = "The next question in {name} sees {count} turns, the last of which asks {question}."
_SEES_LAST = (
    "The next question in {name} sees only the last {count} turns,"
    " the last of which asks {question}."
)


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
    title = "Turns"
    if turns != count:
        title = say("Turns: the last {turns} of {count}", turns=f"{turns:,}", count=f"{count:,}")
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
    said = say("Taken back in {name}: {question}.", name=name, question=quote(turn))
    if back is not None:
        said += " " + say("In its place is again: {question}.", question=quote(back))
    how = say("{command} undoes this.", command=f"%agent restore {turn.id[:_ID_SHOWN]}")
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
    tags, turns = tags_named(session, text), turns_named(session, text)
    if len(tags) + len(turns) > 1:
        them = [*tags, *map(place_of, turns)]
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
        show(
            cards.line(
                say("{tag} will not be sent again; its name stays in earlier texts.", tag=block.tag)
            )
        )


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
    turns = lookup.by_id(session.history, text) if could_be_id(text) else []
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
        said = say("Again in {name}: {question}.", name=name, question=quote(turns[0].turn))
        show(cards.line(f"{said} {sees(session, name)}"))
        return
    count = getattr(done, "turns", 0)
    came = say(
        "{count} turn of {name} came back." if count == 1 else "{count} turns of {name} came back.",
        count=f"{count:,}",
        name=getattr(done, "name", ""),
    )
    names = session.conversations
    show(cards.line(" ".join([came, *(sees(session, name) for name in names[:1])])))


def sees(session: Session, name: str) -> str:
    """Return what the next new question in a conversation sees, as a sentence."""
    past = session.history.past(name)
    sent = [turn for turn in past.turns if turn.is_sent_again]
    if not sent:
        return say("The next question in {name} sees no earlier turn.", name=name)
    facts = {"name": name, "count": len(sent), "question": quote(sent[-1])}
    if past.is_cut:
        return say(_SEES_LAST, **facts)
    return say(_SEES_MANY if len(sent) > 1 else _SEES_ONE, **facts)


def _told(turn: Turn, *, with_id: bool = False) -> str:
    tags = [block.tag for block in turn.attachments]
    more = (
        ", " + say("and {count} more", count=len(tags) - _MOST_TAGS)
        if len(tags) > _MOST_TAGS
        else ""
    )
    said = [turn.model, tokens(turn.usage), *marks(turn)]
    said += [f"id {turn.id[:_ID_SHOWN]}"] if with_id else []
    lines = [one_line(turn.question, LONGEST_QUESTION), " · ".join(one for one in said if one)]
    lines += [say("with {tags}", tags=f"{', '.join(tags[:_MOST_TAGS])}{more}")] if tags else []
    return "\n".join(line for line in lines if line)


def _why_gone(one: Found) -> str:
    return say("taken back") if one.is_undone else say("replaced")


def _former_runs(session: Session) -> Iterator[tuple[str, str]]:
    runs = session.history.former_runs
    if len(runs) > _MOST_RUNS:
        yield (
            "before",
            say("{count} older lives of this kernel", count=f"{len(runs) - _MOST_RUNS:,}"),
        )
    for run in runs[-_MOST_RUNS:]:
        count = say("{count} turn" if run.turns == 1 else "{count} turns", count=f"{run.turns:,}")
        asked = one_line(run.question, LONGEST_QUESTION)
        yield "before", f"{run.name} · {count} · {asked}"


def _conversation_of(session: Session, turn: Turn) -> str:
    found = lookup.by_id(session.history, turn.id)
    return found[0].conversation if found else "main"


def _last(session: Session) -> tuple[str, ...]:
    return session.conversations[-_FEWEST:]


def _forget_turn(session: Session, one: Found) -> None:
    session.forget_turn(one.turn.id)
    stale_marks(session).look_again(session)
    said = say(
        _DELETED[one.number > 0, one.turn.cell_id is not None],
        number=one.number,
        name=one.conversation,
        question=quote(one.turn),
    )
    show(cards.line(f"{said} {sees(session, one.conversation)}"))
