"""A turn → what its output's metadata says of it, so that it can be read back from the notebook.

Small, and nothing that the notebook does not show anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from agentcell.history.notebook import MAIN
from agentcell.history.turns import Turn
from agentcell.messages import MediaMessageBlock

LONGEST_QUESTION = 4_000
"""Characters of a question that metadata hold, where it is not what the cell says."""

_MAGIC = re.compile(r"%%(?:agentcell_)?agent(?:\s|$)")
_ENCODED = re.compile(r"[A-Za-z0-9+/=_-]{200,}")
"""A file's bytes, as text: no notebook should carry them."""


def cell_body(source: str) -> str | None:
    """Return what stands below a cell's ``%%agent`` line; None if it has none.

    Parameters
    ----------
    source
        The whole cell. Blank lines and comments may stand before that line.
    """
    lines = source.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.strip() and not line.lstrip().startswith("#"):
            if not _MAGIC.match(line):
                return None
            return "".join(lines[number + 1 :]).strip("\n").rstrip()
    return None


def saved_facts(
    turn: Turn,
    conversation: str,
    attachments: Iterable[MediaMessageBlock],
    *,
    question: str,
    source: str | None,
) -> dict[str, Any]:
    """Return the facts that let a turn be read back from a saved notebook, as JSON values.

    Parameters
    ----------
    turn
        As it ended, or as it began.
    conversation
        Its name.
    attachments
        What the question names or attaches, also what went out earlier.
    question
        The text that went out.
    source
        The cell that asked; a question that stands in it is not said again. None: unknown.
    """
    facts: dict[str, Any] = {"turn": turn.id, "model": turn.model, "status": turn.status}
    if conversation != MAIN:
        facts["conversation"] = conversation
    if turn.part != 1:
        facts["part"] = turn.part
    if turn.fresh:
        facts["fresh"] = True
    if source is None or cell_body(source) != question:
        facts["question"] = _short(question)
    facts["attachments"] = [attachment_facts(block) for block in attachments]
    return facts


def attachment_facts(block: MediaMessageBlock) -> Mapping[str, Any]:
    """Return what is said of one attachment.

    Parameters
    ----------
    block
        The attachment; its content is named by its digest.
    """
    asset = block.asset
    facts = {
        "tag": block.tag,
        "digest": block.fingerprint,
        "type": asset.mime_type,
        "size_bytes": asset.size_bytes,
    }
    return {**facts, "name": asset.filename} if asset.filename else facts


def _short(question: str) -> str:
    text = _ENCODED.sub(lambda found: f"{found.group()[:40]}…", question)
    more = len(text) - LONGEST_QUESTION
    return text if more <= 0 else f"{text[:LONGEST_QUESTION]}… ({more:,} characters more)"
