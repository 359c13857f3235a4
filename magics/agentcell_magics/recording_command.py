"""`%agent record`, `%agent replay` and `%agent recording`: answers into a file, and from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.errors import CellError
from agentcell_magics import cards
from agentcell_magics.line import shown
from agentcell_magics.live import show
from agentcell_magics.wording import say

if TYPE_CHECKING:
    from agentcell.adapters.recording import Entry
    from agentcell.session import Session

_MOST_UNUSED = 20
_LONGEST_QUESTION = 80


def record(session: Session, arguments: list[str]) -> None:
    """Let answers be kept in a file: new ones, or with ``--again`` all.

    What is shown does not tell what the file holds: a notebook that is run again shows the same.

    Raises
    ------
    CellError
        If the line cannot be read, or no file is named or known.
    """
    file, flags = _read("record", arguments, {"--again"})
    if file == "off":
        _end(session)
        return
    session.recorder.use(file, "rerecord" if flags else "record")
    where = _file(session)
    show(
        cards.line(
            say("Answers come from {file}; what it does not hold is asked and kept.", file=where)
        )
    )


def replay(session: Session, arguments: list[str]) -> None:
    """Let answers come from a file; with ``--or-ask`` what it does not hold is asked.

    Raises
    ------
    CellError
        If the line cannot be read, or no file is named or known.
    """
    file, flags = _read("replay", arguments, {"--or-ask", "--timing"})
    if file == "off":
        _end(session)
        return
    asks = "--or-ask" in flags
    session.recorder.use(file, "auto" if asks else "replay", timing="--timing" in flags)
    said = "Answers come from {file}; nothing is asked."
    if asks:
        said = "Answers come from {file}; what it does not hold is asked."
    show(cards.line(say(said, file=_file(session))))


def recording(session: Session, arguments: list[str]) -> None:
    """Show what the file holds and what nobody asked for; ``prune`` takes that out.

    Raises
    ------
    CellError
        If the line cannot be read.
    HistoryError
        If the file cannot be read or written.
    """
    if arguments not in ([], ["prune"]):
        raise CellError(
            f"%agent recording takes nothing, or prune; {shown(' '.join(arguments))!r} was given.",
            fix="write %agent recording, or %agent recording prune.",
        )
    used = session.recorder.recording
    if used is None:
        show(cards.line("Nothing is recorded or replayed."))
        return
    if arguments:
        gone = used.prune()
        said = "{count} answers that nobody asked for taken out of {file}."
        if gone == 1:
            said = "{count} answer that nobody asked for taken out of {file}."
        show(cards.line(say(said, count=gone, file=used.path)))
        return
    unused = used.unused()
    facts = [
        ("file", str(used.path)),
        ("mode", session.recorder.mode),
        ("answers", f"{len(used):,}"),
        ("not asked for", f"{len(unused):,}"),
        *(("", _question(entry)) for entry in unused[:_MOST_UNUSED]),
    ]
    show(cards.rows("Recording", facts))


def _read(command: str, arguments: list[str], known: set[str]) -> tuple[str | None, set[str]]:
    """Return the file's name and the flags."""
    flags = {word for word in arguments if word.startswith("-")}
    names = [word for word in arguments if not word.startswith("-")]
    if wrong := flags - known:
        raise CellError(
            f"%agent {command} has no option {shown(min(wrong))!r}.",
            fix=f"use {' or '.join(sorted(known))}.",
        )
    if len(names) > 1:
        raise CellError(
            f"%agent {command} takes one file, but {len(names)} words were given:"
            f" {shown(' '.join(names))}",
            fix="keep one; put quotes round a name with blanks.",
        )
    return (names[0] if names else None), flags


def _end(session: Session) -> None:
    session.recorder.use(None, "off")
    show(cards.line("Answers are no longer recorded or replayed."))


def _file(session: Session) -> str:
    used = session.recorder.file
    return str(used.as_posix() if used is not None else "the recording")


def _question(entry: Entry) -> str:
    messages = entry.asked.get("messages") or [{}]
    texts = [block.get("text") or block.get("tag") or "" for block in messages[-1]["content"]]
    said = " ".join(" ".join(texts).split())
    return said if len(said) <= _LONGEST_QUESTION else f"{said[:_LONGEST_QUESTION]}…"
