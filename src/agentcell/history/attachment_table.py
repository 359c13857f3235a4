"""What a database knows of a notebook's attachments, beside the turns that hold them."""

from __future__ import annotations

import json
import time

from agentcell.assets.prepare import Form
from agentcell.history.kept_assets import GRACE
from agentcell.history.records import block_from_record
from agentcell.history.store import TurnStore
from agentcell.messages import MediaMessageBlock


def tags(store: TurnStore) -> list[tuple[str, str]]:
    """Return tag and fingerprint of each attachment, in the order in which they came."""
    rows = store.database.read(
        "SELECT tag, fingerprint FROM attachment WHERE notebook = ? AND run IN ('', ?)"
        " ORDER BY rowid",
        *(store.ids.notebook(), store.run),
    )
    return [(tag, fingerprint) for tag, fingerprint in rows]


def block(store: TurnStore, tag: str) -> MediaMessageBlock | None:
    """Return the attachment of that tag, None if its content is gone."""
    rows = store.database.read(
        "SELECT json FROM attachment WHERE notebook = ? AND run IN ('', ?) AND tag = ?",
        *(store.ids.notebook(), store.run, tag),
    )
    return block_from_record(json.loads(rows[0][0]), store.assets) if rows else None


def form(store: TurnStore, name: str, fingerprint: str) -> Form | None:
    """Return how an attachment went out last in a conversation, None if it never did."""
    found: list[tuple[int, str, str]] = []
    for one in store.ids.conversations(name):
        found += store.database.read(
            "SELECT seq, detail, pdf_as FROM attached JOIN turn ON seq = turn"
            " WHERE fingerprint = ? AND conversation = ? AND state = 0 AND detail IS NOT NULL"
            " ORDER BY turn DESC LIMIT 1",
            *(fingerprint, one),
        )
    if not found:
        return None
    _, detail, pdf_as = max(found)
    return Form(detail=detail, pdf_as=pdf_as)


def forgotten(store: TurnStore) -> frozenset[str]:
    """Return the fingerprints of attachments that must not go out again."""
    statement = "SELECT fingerprint FROM forgotten WHERE notebook = ?"
    return frozenset(one for (one,) in store.database.read(statement, store.ids.notebook()))


def set_forgotten(store: TurnStore, fingerprint: str, *, is_forgotten: bool) -> None:
    """Keep in mind that an attachment must not go out again, or that it may."""
    if is_forgotten is (fingerprint in forgotten(store)):
        return
    with store.changing():
        notebook = store.ids.notebook(make=True)
        if is_forgotten:
            store.database.write("INSERT INTO forgotten VALUES (?, ?)", notebook, fingerprint)
        else:
            store.database.write(
                "DELETE FROM forgotten WHERE notebook = ? AND fingerprint = ?",
                *(notebook, fingerprint),
            )


def clean(store: TurnStore, grace: float = GRACE, *, every: float = GRACE) -> int:
    """Take away contents that no turn holds; return how many. See `KeptAssets.clean`.

    Parameters
    ----------
    every
        Seconds since the last cleaning; before that nothing is done.
    """
    rows = store.database.read("SELECT value FROM counter WHERE name = 'cleaned'")
    if not 0 <= rows[0][0] < time.time() - every + 1:
        return 0
    used = "SELECT 1 FROM attached WHERE fingerprint = ? LIMIT 1"
    with store.changing():  # no turn is written meanwhile
        now = int(time.time())
        store.database.write("UPDATE counter SET value = ? WHERE name = 'cleaned'", now)
        return store.assets.clean(lambda one: bool(store.database.read(used, one)), grace=grace)
