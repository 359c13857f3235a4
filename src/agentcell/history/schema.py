"""The tables of a session's database, as the steps from each version to the next.

A step is never changed once it was released: a change is a further step.
"""

from __future__ import annotations

IN_FORCE, REPLACED, UNDONE = range(3)
"""States of a turn: in its conversation, replaced by a later run of its cell, taken back."""

_FIRST = (
    # Notebooks of one folder, by the names of their files.
    "CREATE TABLE notebook (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    # `run` is empty for the turns of cells, which belong to every life of the kernel, else the
    # life of the kernel in which the turns were asked.
    """CREATE TABLE conversation (
        id INTEGER PRIMARY KEY, notebook INTEGER NOT NULL, name TEXT NOT NULL, run TEXT NOT NULL,
        UNIQUE (notebook, name, run))""",
    "CREATE TABLE run (notebook INTEGER, id TEXT, began REAL NOT NULL, PRIMARY KEY (notebook, id))",
    # `seq` counts the changes of the whole file. A turn stands at (place, part); its place is the
    # number of its cell's first turn. `asked` is the change that its question saw last, `changed`
    # the one with which it came into force, `again` is 1 if that was before others.
    """CREATE TABLE turn (
        seq INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, id TEXT NOT NULL, cell TEXT,
        place INTEGER NOT NULL, part INTEGER NOT NULL, state INTEGER NOT NULL, replaced_by INTEGER,
        asked INTEGER NOT NULL, changed INTEGER NOT NULL, again INTEGER NOT NULL,
        ended REAL NOT NULL, status TEXT NOT NULL, fresh INTEGER NOT NULL, system TEXT,
        skills INTEGER, model TEXT NOT NULL, usage TEXT)""",
    "CREATE INDEX turn_order ON turn (conversation, place, part) WHERE state = 0",
    "CREATE INDEX turn_fresh ON turn (conversation, place, part) WHERE state = 0 AND fresh = 1",
    """CREATE INDEX turn_system ON turn (conversation, place, part)
        WHERE state = 0 AND system IS NOT NULL""",
    """CREATE INDEX turn_skills ON turn (conversation, place, part)
        WHERE state = 0 AND skills IS NOT NULL""",
    """CREATE INDEX turn_again ON turn (conversation, changed, place, part)
        WHERE state = 0 AND again = 1""",
    "CREATE INDEX turn_changed ON turn (conversation, changed) WHERE state = 0",
    "CREATE INDEX turn_id ON turn (id)",
    "CREATE INDEX turn_cell ON turn (cell, conversation)",
    "CREATE INDEX turn_replaced ON turn (replaced_by) WHERE replaced_by IS NOT NULL",
    # A turn whole, as JSON; none where turns are kept as objects.
    "CREATE TABLE body (turn INTEGER PRIMARY KEY, json TEXT NOT NULL)",
    # What each turn's messages hold, and how it went out (null: with an earlier form).
    """CREATE TABLE attached (
        turn INTEGER NOT NULL, fingerprint TEXT NOT NULL, detail TEXT, pdf_as TEXT,
        PRIMARY KEY (turn, fingerprint)) WITHOUT ROWID""",
    "CREATE INDEX attached_content ON attached (fingerprint, turn)",
    # Each attachment by its tag, as its block's JSON; `run` as for conversations.
    """CREATE TABLE attachment (
        notebook INTEGER NOT NULL, run TEXT NOT NULL, tag TEXT NOT NULL, fingerprint TEXT NOT NULL,
        json TEXT, PRIMARY KEY (notebook, run, tag))""",
    """CREATE TABLE forgotten (
        notebook INTEGER NOT NULL, fingerprint TEXT NOT NULL,
        PRIMARY KEY (notebook, fingerprint)) WITHOUT ROWID""",
    "CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO counter VALUES ('changes', 0), ('cleaned', 0)",
)

_SECOND = (
    # What each turn cost, in millionths of a millionth of a dollar (pico), at the least where it
    # is not `known` wholly. It stays when the turn is taken back or deleted: it was paid.
    """CREATE TABLE spent (
        notebook INTEGER NOT NULL, turn TEXT NOT NULL, pico INTEGER NOT NULL,
        known INTEGER NOT NULL, PRIMARY KEY (notebook, turn)) WITHOUT ROWID""",
)

STEPS: tuple[tuple[str, ...], ...] = (_FIRST, _SECOND)
