"""What is no longer in force in a notebook's conversations: taken back, brought back, forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from agentcell.errors import HistoryError
from agentcell.history.conversation_ids import VISIBLE
from agentcell.history.copying import copy_turn
from agentcell.history.rows import Spot
from agentcell.history.schema import IN_FORCE, REPLACED, UNDONE
from agentcell.history.store import Change, TurnStore
from agentcell.history.turns import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerRun:
    """An earlier life of the kernel, whose turns had no cell.

    Parameters
    ----------
    name
        When it began, in local time: ``2026-11-30 09:15:02``.
    turns
        How many there are.
    question
        The first one's.
    """

    id: str
    name: str
    turns: int
    question: str


def undo(store: TurnStore, name: str | None = None) -> Change:
    """Take back the last change: its turn goes, and what it replaced comes back.

    Parameters
    ----------
    name
        Of a conversation; None: of that which changed last.

    Raises
    ------
    HistoryError
        If there is no turn.
    """
    with store.changing():
        found = [
            (*row, one)
            for one in (store.names() if name is None else (name,))
            for conversation in store.ids.conversations(one)
            for row in store.database.read(
                "SELECT changed, seq, place, part FROM turn INDEXED BY turn_changed"
                " WHERE conversation = ? AND state = 0 ORDER BY changed DESC LIMIT 1",
                conversation,
            )
        ]
        if not found:
            where = "This notebook" if name is None else f"The conversation '{name[:80]}'"
            raise HistoryError(
                f"{where} has no turn to take back.", fix="see %agent history for what is there."
            )
        _, number, place, part, conversation = max(found)
        write = store.database.write
        write("UPDATE turn SET state = ? WHERE seq = ?", UNDONE, number)
        write(
            "UPDATE turn SET state = ?, replaced_by = NULL WHERE replaced_by = ?", IN_FORCE, number
        )
    marks = store.marks(conversation, (place, part))
    return Change(store.bodies.load([number])[0], conversation, marks)


def versions(store: TurnStore, turn_id: str) -> list[Turn]:
    """Return what a cell asked where this turn stands: all that was replaced or taken back.

    Raises
    ------
    HistoryError
        If there is no such turn.
    """
    _, cell, part, _ = _found(store, turn_id)
    if cell is None:
        return []
    rows = store.database.read(
        "SELECT seq FROM turn WHERE cell = ? AND part = ? AND state <> 0"
        f" AND conversation IN ({VISIBLE}) ORDER BY seq",
        *(cell, part, store.ids.notebook(), store.run),
    )
    return store.bodies.load([number for (number,) in rows])


def restore(store: TurnStore, turn_id: str) -> Change:
    """Bring a turn back that was replaced or taken back; what is in its place is replaced by it.

    Raises
    ------
    HistoryError
        If there is no such turn.
    """
    with store.changing():
        number, cell, part, state = _found(store, turn_id)
        if state == IN_FORCE:
            return Change()
        change = store.next_change()
        write = store.database.write
        write("UPDATE turn SET replaced_by = NULL WHERE replaced_by = ?", number)
        if cell is not None:
            write(
                "UPDATE turn SET state = ?, replaced_by = ? WHERE cell = ? AND part = ?"
                f" AND state = 0 AND conversation IN ({VISIBLE})",
                *(REPLACED, number, cell, part, store.ids.notebook(), store.run),
            )
        write(
            "UPDATE turn SET state = 0, replaced_by = NULL, changed = ?, again = 1 WHERE seq = ?",
            *(change, number),
        )
        name, *spot = store.database.read(
            "SELECT name, place, part FROM turn JOIN conversation c ON c.id = conversation"
            " WHERE seq = ?",
            number,
        )[0]
    place: Spot = (spot[0], spot[1])
    return Change(store.bodies.load([number])[0], name, store.marks(name, place))


def forget(store: TurnStore, turn_id: str) -> Turn:
    """Delete a turn for good, with its former versions and attachments that no other one holds.

    Raises
    ------
    HistoryError
        If there is no such turn.
    """
    with store.changing():
        number, cell, part, _ = _found(store, turn_id)
        turn = store.bodies.load([number])[0]
        same = "id = ?" if cell is None else "(id = ? OR (cell = ? AND part = ?))"
        rows = store.database.read(
            f"SELECT seq FROM turn WHERE {same} AND conversation IN"
            " (SELECT id FROM conversation WHERE notebook = ?)",
            *((turn_id,) if cell is None else (turn_id, cell, part)),
            store.ids.notebook(),
        )
        numbers = [one for (one,) in rows]
        _delete(store, numbers)
    store.database.wipe()
    return turn


def reset(store: TurnStore) -> None:
    """Delete every turn and attachment that this life of the kernel sees; former ones stay."""
    with store.changing():
        rows = store.database.read(
            f"SELECT seq FROM turn WHERE conversation IN ({VISIBLE})",
            *(store.ids.notebook(), store.run),
        )
        _delete(store, [number for (number,) in rows])
        notebook = store.ids.notebook()
        store.database.write("DELETE FROM forgotten WHERE notebook = ?", notebook)
        store.database.write(
            "DELETE FROM attachment WHERE notebook = ? AND run IN ('', ?)", notebook, store.run
        )
    store.database.wipe()


def former_runs(store: TurnStore) -> list[FormerRun]:
    """Return earlier lives of the kernel whose turns had no cell, oldest first."""
    rows = store.database.read(
        "SELECT r.id, r.began, count(t.seq), min(t.seq) FROM run r"
        " CROSS JOIN conversation c ON c.notebook = r.notebook AND c.run = r.id"
        " CROSS JOIN turn t ON t.conversation = c.id AND t.state = 0"
        " WHERE r.notebook = ? AND r.id <> ?"
        " AND NOT EXISTS (SELECT 1 FROM turn own WHERE own.id = t.id"
        f" AND own.conversation IN ({VISIBLE}))"
        " GROUP BY r.id ORDER BY r.began, min(t.seq)",
        *(store.ids.notebook(), store.run) * 2,
    )
    runs: list[FormerRun] = []
    for identity, began, count, first in rows:
        name = datetime.fromtimestamp(began).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        same = sum(run.name.startswith(name) for run in runs)
        name = f"{name} ({same + 1})" if same else name
        question = store.bodies.load([first])[0].question
        runs.append(FormerRun(id=identity, name=name, turns=count, question=question))
    return runs


def restore_run(store: TurnStore, name: str) -> FormerRun:
    """Copy the turns of an earlier life of the kernel into this one, before its own.

    The former stay where they are: another kernel may go on with them.

    Parameters
    ----------
    name
        Its `FormerRun.name`, or ``last``.

    Raises
    ------
    HistoryError
        If there is no such one.
    """
    runs = former_runs(store)
    found = runs[-1:] if name == "last" else [run for run in runs if name in {run.name, run.id}]
    if not found:
        raise _nothing_called(name, runs)
    run, write = found[0], store.database.write
    with store.changing():
        notebook = store.ids.notebook()
        rows = store.database.read(
            "SELECT id, name FROM conversation WHERE notebook = ? AND run = ?", notebook, run.id
        )
        for former, conversation in rows:
            own = store.ids.conversation(conversation, None, make=True)
            turns = store.database.read(
                "SELECT seq, place FROM turn WHERE conversation = ? AND state = 0"
                f" AND id NOT IN (SELECT id FROM turn WHERE conversation IN ({VISIBLE}))"
                " ORDER BY place, part",
                *(former, notebook, store.run),
            )
            for number, place in turns:
                copy_turn(store, number, own, place)
        write(
            "INSERT OR IGNORE INTO attachment SELECT notebook, ?, tag, fingerprint, json"
            " FROM attachment WHERE notebook = ? AND run = ?",
            *(store.run, notebook, run.id),
        )
    return run


def _nothing_called(name: str, runs: list[FormerRun]) -> HistoryError:
    known = ", ".join(f"'{run.name}'" for run in runs[-3:])
    ids = "see %agent history --all for the ids of turns that were taken back or replaced."
    if not known and name == "last":
        return HistoryError("No former conversation of this notebook is kept.", fix=ids)
    return HistoryError(
        f"No former conversation of this notebook is called {name[:80]!r}, and no turn has that"
        " id.",
        fix=f"name one of these: {known}, or last." if known else ids,
    )


def is_turn(store: TurnStore, turn_id: str) -> bool:
    """Whether a turn of this notebook has that id."""
    try:
        _found(store, turn_id)
    except HistoryError:
        return False
    return True


def _found(store: TurnStore, turn_id: str) -> tuple[int, str | None, int, int]:
    rows = store.database.read(
        f"SELECT seq, cell, part, state FROM turn WHERE id = ? AND conversation IN ({VISIBLE})",
        *(turn_id, store.ids.notebook(), store.run),
    )
    if not rows:
        raise HistoryError(
            f"There is no turn {turn_id[:80]!r} in this notebook.",
            fix="see %agent history for what is there.",
        )
    number, cell, part, state = rows[0]
    return number, cell, part, state


def _delete(store: TurnStore, numbers: list[int]) -> None:
    """Delete turns, and what no other turn holds."""
    read, write = store.database.read, store.database.write
    held: dict[str, None] = {}
    for number in numbers:
        rows = read("SELECT fingerprint FROM attached WHERE turn = ?", number)
        held |= dict.fromkeys(fingerprint for (fingerprint,) in rows)
        write("DELETE FROM attached WHERE turn = ?", number)
        write("DELETE FROM turn WHERE seq = ?", number)
        store.bodies.drop(number)
    for fingerprint in held:
        if not read("SELECT 1 FROM attached WHERE fingerprint = ? LIMIT 1", fingerprint):
            write("DELETE FROM attachment WHERE fingerprint = ?", fingerprint)
            store.assets.remove(fingerprint)
