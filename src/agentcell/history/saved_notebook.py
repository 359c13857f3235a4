"""A saved notebook → the turns that its outputs tell of, where their history is gone.

Only text is taken, and nothing is executed. Anyone may have written it: turns that came so are
marked, and instructions and skills are left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentcell.assets.asset import MediaAsset, asset_from_path
from agentcell.errors import AgentcellError, HistoryError
from agentcell.history.notebook import MAIN, NotebookHistory
from agentcell.history.records import AssetFolder
from agentcell.history.saved_facts import cell_body
from agentcell.history.store import TurnStore
from agentcell.history.turn_json import as_json
from agentcell.history.turns import Turn
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock
from agentcell.prompts.tags import announcement, find_tags
from agentcell.safe_text import plain

MOST_BYTES = 64_000_000
"""Of a notebook that is read."""

MOST_TURNS = 500
"""As many turns are taken from a notebook: the last ones."""

_LONGEST = 400_000
"""Characters of a question or an answer."""

_LONGEST_NAME = 200
_MOST_PARTS = 10_000
_MOST_ATTACHMENTS = 200
_MOST_PLACES = 50

_TURN_ID = re.compile(r"[0-9a-f]{12}")
_DIGEST = re.compile(r"(?:sha256|url|file_id):[0-9a-f]{64}")
_WORD = re.compile(r"\"([^\"\n]+)\"|'([^'\n]+)'|([^\s\"'=@{}()]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedAttachment:
    """What a notebook says of an attachment. `size_bytes` is None where it does not say."""

    tag: str
    digest: str
    name: str = ""
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTurn:
    """One turn, as a notebook tells it.

    Parameters
    ----------
    turn
        Without its attachments.
    conversation
        Its name.
    attachments
        What its question named.
    places
        Words of its cell that may be paths.
    """

    turn: Turn
    conversation: str
    attachments: tuple[SavedAttachment, ...] = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What came of a restore: how many turns came back and how many were there already.

    `missing` are the tags of attachments whose contents were not found.
    """

    turns: int = 0
    already: int = 0
    missing: tuple[str, ...] = ()


def saved_turns(file: str | os.PathLike[str]) -> list[SavedTurn]:
    """Return the turns that a saved notebook tells of, in the order of its cells.

    Parameters
    ----------
    file
        The notebook. What in it cannot be read is passed over.

    Raises
    ------
    HistoryError
        If it is no notebook, or too large.
    """
    path = Path(file).expanduser()
    cells = _cells(path)
    found: list[SavedTurn] = []
    for cell in cells:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            found += _turns_of(cell)
    return found[-MOST_TURNS:]


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


# -- reading ----------------------------------------------------------------------------------


def _cells(path: Path) -> list[Any]:
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise HistoryError(f"'{path.name[:80]}' is no file.", fix="name a saved notebook.")
        if facts.st_size > MOST_BYTES:
            raise HistoryError(
                f"'{path.name[:80]}' is {facts.st_size:,} bytes; at most {MOST_BYTES:,} are read.",
                fix="clear large outputs, and save it.",
            )
        cells = json.loads(path.read_bytes())["cells"]
    except OSError as error:
        raise HistoryError(
            f"'{path.name[:80]}' cannot be read: {error.strerror or error}.",
            fix="name a saved notebook.",
        ) from error
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise HistoryError(
            f"'{path.name[:80]}' is no notebook of format 4.", fix="name a saved notebook."
        ) from error
    return cells if isinstance(cells, list) else []


def _turns_of(cell: Mapping[str, Any]) -> Iterator[SavedTurn]:
    source = _text(cell.get("source"))
    name = cell.get("id")
    cell_id = name if isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME else None
    places = tuple(_places(source))
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        metadata = output.get("metadata") if isinstance(output, dict) else None
        facts = metadata.get("agentcell") if isinstance(metadata, dict) else None
        if isinstance(facts, dict) and "turn" in facts:
            data = output.get("data")
            yield from _turn(facts, data if isinstance(data, dict) else {}, cell_id, source, places)


def _turn(
    facts: Mapping[str, Any],
    data: Mapping[str, Any],
    cell_id: str | None,
    source: str,
    places: tuple[str, ...],
) -> Iterator[SavedTurn]:
    said = facts["question"] if "question" in facts else cell_body(source)
    question = plain(said)[:_LONGEST] if isinstance(said, str) else ""
    answer = _answer(facts, data)
    status: Any = facts.get("status")
    part = facts.get("part", 1)
    if not question.strip() or status not in ("complete", "interrupted", "failed"):
        return
    if isinstance(part, bool) or not isinstance(part, int) or not 1 <= part <= _MOST_PARTS:
        return
    messages: list[Message] = [{"role": "user", "content": question}]
    if status == "failed":
        answer = ""
    elif answer.strip():
        messages.append({"role": "assistant", "content": answer})
    else:
        status = "interrupted"  # without a word: it is never sent again
    turn = Turn(
        id=_turn_id(facts.get("turn")),
        cell_id=cell_id,
        part=part,
        messages=tuple(messages),
        status=status,
        model=_name(facts.get("model")),
        fresh=facts.get("fresh") is True,
        imported=True,
    )
    yield SavedTurn(
        turn=turn,
        conversation=_name(facts.get("conversation")) or MAIN,
        attachments=tuple(_attachments(facts.get("attachments"))),
        places=places,
    )


def _answer(facts: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """Return the answer that an output shows; what is shown in an answer's place has HTML."""
    if "text/html" in data:
        return ""
    text = _text(data.get("text/plain"))
    span = facts.get("answer")  # where the display holds more than the answer
    if isinstance(span, list) and len(span) == 2 and all(type(at) is int for at in span):  # noqa: PLR2004
        text = text[max(0, span[0]) : max(0, span[1])]
    return plain(text)[:_LONGEST]


def _attachments(found: Any) -> Iterator[SavedAttachment]:
    for facts in found[:_MOST_ATTACHMENTS] if isinstance(found, list) else ():
        if not isinstance(facts, dict):
            continue
        tag, digest = facts.get("tag"), facts.get("digest")
        if not isinstance(tag, str) or [one for _, _, one in find_tags(tag)] != [tag]:
            continue
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            continue
        size = facts.get("size_bytes")
        yield SavedAttachment(
            tag=tag,
            digest=digest,
            name=_name(facts.get("name")),
            size_bytes=size if type(size) is int else None,
        )


def _places(source: str) -> Iterable[str]:
    words = (next(filter(None, found.groups())) for found in _WORD.finditer(source[:_LONGEST]))
    likely = (word.rstrip(".,;:!?") for word in words if "." in word)
    return list(dict.fromkeys(one for one in likely if len(one) <= _LONGEST_NAME))[:_MOST_PLACES]


def _text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "".join(value)
    return value if isinstance(value, str) else ""


def _name(value: Any) -> str:
    return " ".join(plain(value[:_LONGEST_NAME]).split()) if isinstance(value, str) else ""


def _turn_id(value: Any) -> str:
    fits = isinstance(value, str) and _TURN_ID.fullmatch(value)
    return str(value) if fits else uuid.uuid4().hex[:12]


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
        *(store.notebook_id(), store.run),
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
                *(store.notebook_id(), store.run_of(turn.cell_id), one.tag, one.digest),
                as_json(record),
            )
