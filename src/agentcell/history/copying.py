"""Turns of one conversation → the same turns in another one; the former stay."""

from __future__ import annotations

from agentcell.history.store import TurnStore


def copy_turn(store: TurnStore, number: int, conversation: int, place: int | None = None) -> int:
    """Copy a turn, in the transaction of whoever calls, and return its new number.

    Parameters
    ----------
    number
        Of the turn that is copied.
    conversation
        The number of the conversation that it is copied to.
    place
        Where it stands there. None: at the end.
    """
    write, new = store.database.write, store.next_change()
    write(
        "INSERT INTO turn SELECT ?, ?, id, cell, ?, part, state, NULL, asked, changed, again,"
        " ended, status, fresh, system, skills, model, usage FROM turn WHERE seq = ?",
        *(new, conversation, new if place is None else place, number),
    )
    write("INSERT INTO body SELECT ?, json FROM body WHERE turn = ?", new, number)
    write(
        "INSERT INTO attached SELECT ?, fingerprint, detail, pdf_as FROM attached WHERE turn = ?",
        *(new, number),
    )
    return new
