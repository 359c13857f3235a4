"""`%agent export`: turns into a file for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.errors import CellError
from agentcell_magics import cards
from agentcell_magics.live import show
from agentcell_magics.turn_names import conversation_named, words_and_flags
from agentcell_magics.wording import say

if TYPE_CHECKING:
    from agentcell.session import Session


def export(session: Session, arguments: list[str]) -> None:
    """Write all turns, or one conversation's, into the file that is named.

    Raises
    ------
    CellError
        If no file is named, or there is no such conversation.
    HistoryError
        If it cannot be written.
    """
    words, flags = words_and_flags("export", arguments, {"--force"})
    if not words:
        raise CellError(
            "%agent export needs a file.",
            fix="write for example %agent export answers.md, or .html, or .ipynb.",
        )
    name = conversation_named(session, " ".join(words[1:])) if words[1:] else None
    file = session.export(words[0], conversation=name, overwrite="--force" in flags)
    names = session.conversations if name is None else (name,)
    count = sum(session.history.count(one) for one in names)
    turns = say("{count} turn" if count == 1 else "{count} turns", count=f"{count:,}")
    beside = file.with_name(f"{file.stem}_files")
    more = (
        say(", with {folder} beside it", folder=beside.name)
        if beside.is_dir() and _has_files(file)
        else ""
    )
    show(
        cards.line(
            say("{turns} written to {file}{more}.", turns=turns, file=file.as_posix(), more=more)
        )
    )


def _has_files(file: object) -> bool:
    return not str(file).lower().endswith((".html", ".htm"))
