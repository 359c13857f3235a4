"""Turns that a saved notebook tells of → turns in a history, with the attachments that are found.

Contents are looked for among those that are kept, and where the cell named them, in the notebook's
folder and nowhere else; what is not that very content is not taken.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentcell.assets.asset import MediaAsset, asset_from_path
from agentcell.errors import AgentcellError
from agentcell.history.notebook import NotebookHistory
from agentcell.history.records import AssetFolder
from agentcell.history.saved_notebook import SavedAttachment, SavedTurn, saved_turns
from agentcell.history.store import TurnStore
from agentcell.history.turn_json import as_json
from agentcell.history.turns import Turn
from agentcell.messages import MediaMessageBlock, TextMessageBlock
from agentcell.prompts.tags import announcement


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What came of a restore: how many turns came back and how many were there already.

    `missing` are the tags of attachments whose contents were not found.
    """

    turns: int = 0
    already: int = 0
    missing: tuple[str, ...] = ()


def restore_saved(
    history: NotebookHistory, file: str | os.PathLike[str], *, by_cell: bool = True
) -> Restored:
    """Let the turns of a saved notebook be in the history, where they are not.

    Parameters
    ----------
    history
        The notebook's.
    file
        The saved notebook; attachments are looked for in its folder.
    by_cell
        Whether its cells' ids are those that the host tells; if not, the turns belong to this
        life of the kernel.

    Raises
    ------
    HistoryError
        If the file cannot be used.
    """
    saved = saved_turns(file)
    folder = Path(file).expanduser().absolute().parent
    taken = history.work(_in_force)
    _hold(history, saved)
    came = 0
    missing: dict[str, None] = {}
    for one in saved:
        cell = one.turn.cell_id if by_cell else None
        if cell is not None and (cell, one.turn.part) in taken:
            continue
        blocks = {a.digest: _block(history, a, one.places, folder) for a in one.attachments}
        turn = _with_attachments(one, cell, blocks)
        if history.put(one.conversation, turn).turn is None:
            continue
        came += 1
        gone = [a for a in one.attachments if blocks[a.digest] is None]
        missing |= {a.tag: None for a in gone}
        history.work(lambda store, turn=turn, gone=gone: _reserve(store, turn, gone))  # type: ignore[misc]
    return Restored(turns=came, already=len(saved) - came, missing=tuple(missing))


# -- attachments ------------------------------------------------------------------------------


def _block(
    history: NotebookHistory, one: SavedAttachment, places: Iterable[str], folder: Path
) -> MediaMessageBlock | None:
    """Return an attachment whose content is kept, or lies where its cell named it."""
    asset = _kept(history, one) or _found(one, [one.name, *places], folder)
    if asset is None:
        return None
    prefix, label = _words_of(one.tag)
    return MediaMessageBlock(asset, prefix, one.tag, label)


def _kept(history: NotebookHistory, one: SavedAttachment) -> MediaAsset | None:
    if not one.digest.startswith("sha256:"):
        return None
    data = history.work(lambda store: store.assets.get(one.digest), make=True)
    if data is None:
        return None
    try:
        return MediaAsset.from_bytes(data, filename=one.name or None)
    except AgentcellError:
        return None


def _hold(history: NotebookHistory, saved: Iterable[SavedTurn]) -> None:
    """Let a new database not take what an earlier one left for something that nobody needs."""
    if history.folder is None:
        return
    contents = AssetFolder(history.folder / "assets")
    for digest in {a.digest for one in saved for a in one.attachments}:
        place = contents.place(digest)
        if place is not None:
            with contextlib.suppress(OSError):  # not there, or someone else's
                os.utime(place)


def _found(one: SavedAttachment, places: Iterable[str], folder: Path) -> MediaAsset | None:
    """Return what lies at one of `places`, in the notebook's folder, with that very content."""
    if not one.digest.startswith("sha256:") or one.size_bytes is None:
        return None
    for place in dict.fromkeys(filter(None, places)):
        try:
            file = (folder / place).resolve()
            if not file.is_relative_to(folder.resolve()) or not file.is_file():
                continue
            if file.stat().st_size != one.size_bytes:
                continue
            asset = asset_from_path(file)
        except (OSError, ValueError, RuntimeError, AgentcellError):
            continue
        if asset.fingerprint() == one.digest:
            return asset
    return None


def _with_attachments(
    one: SavedTurn, cell_id: str | None, blocks: Mapping[str, MediaMessageBlock | None]
) -> Turn:
    question, *answer = one.turn.messages
    content: list[Any] = []
    for attachment in one.attachments:
        block = blocks[attachment.digest]
        if block is None:
            text = f"(The attachment {attachment.tag} is no longer here.)"
            content.append(TextMessageBlock(text))
        else:
            content += [TextMessageBlock(announcement(block)), block]
    if content:
        content.append(TextMessageBlock(question["content"]))
        question = {"role": "user", "content": content}
    return replace(one.turn, cell_id=cell_id, messages=(question, *answer))


def _words_of(tag: str) -> tuple[str, str]:
    word, _, label = tag.strip("[]").partition(" ")
    return word.rpartition("_")[0], label


# -- the store --------------------------------------------------------------------------------


def _in_force(store: TurnStore) -> set[tuple[str, int]]:
    rows = store.database.read(
        "SELECT cell, part FROM turn WHERE state = 0 AND cell IS NOT NULL AND conversation IN"
        " (SELECT id FROM conversation WHERE notebook = ? AND run IN ('', ?))",
        *(store.ids.notebook(), store.run),
    )
    return {(cell, part) for cell, part in rows}


def _reserve(store: TurnStore, turn: Turn, gone: Iterable[SavedAttachment]) -> None:
    """Let no other attachment get a tag that a restored text names; the same content gets it."""
    rows = [(one, *_words_of(one.tag)) for one in gone]
    if not rows:
        return
    with store.changing():
        for one, prefix, label in rows:
            record = {
                "type": "media",
                "tag": one.tag,
                "field_name": prefix,
                "description": label,
                "modality": "IMAGE",
                "fingerprint": one.digest,
                "filename": one.name,
                "mime_type": "",
                "url": "",
                "file_id": "",
            }
            store.database.write(
                "INSERT OR IGNORE INTO attachment VALUES (?, ?, ?, ?, ?)",
                *(store.ids.notebook(), store.ids.run_of(turn.cell_id), one.tag, one.digest),
                as_json(record),
            )
