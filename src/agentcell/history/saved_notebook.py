"""A saved notebook → the turns that its outputs tell of, where their history is gone.

Only text is taken, and nothing is executed. Anyone may have written it: turns that came so are
marked, and instructions and skills are left out.
"""

from __future__ import annotations

import json
import os
import re
import stat
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentcell.errors import HistoryError
from agentcell.history.notebook import MAIN
from agentcell.history.saved_facts import cell_body
from agentcell.history.turns import Turn
from agentcell.messages import Message
from agentcell.prompts.tags import find_tags
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
