"""A conversation's turns → what an export needs of them, whatever it writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agentcell.assets.preview import preview
from agentcell.history.turn_words import one_line
from agentcell.history.turns import Turn
from agentcell.messages import MediaMessageBlock, content_text, media_blocks
from agentcell.safe_text import plain

_LONGEST_NAME = 60
_LONGEST_CALL = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One conversation.

    Parameters
    ----------
    name
        As `%%agent -c` takes it.
    turns
        In their order.
    forgotten
        Fingerprints of attachments that nothing shows any more.
    """

    name: str
    turns: tuple[Turn, ...]
    forgotten: frozenset[str] = frozenset()

    def shown(self, turn: Turn) -> list[MediaMessageBlock]:
        """Return the attachments of a turn, its tools' included, without forgotten ones."""
        blocks = media_blocks(turn.messages)
        return [block for block in blocks if block.fingerprint not in self.forgotten]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What is to be written.

    Parameters
    ----------
    text
        The file itself.
    files
        What lies in the folder beside it, by name.
    """

    text: str
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Picture:
    """A thumbnail. `width` and `height` in pixels; `alt` says in words what it shows."""

    data: bytes
    mime_type: str
    width: int
    height: int
    alt: str


def picture(block: MediaMessageBlock) -> Picture | None:
    """Return a thumbnail of an attachment, None where there is none."""
    shown = preview(block.asset)
    if shown is None:
        return None
    alt = f"{plain(block.tag)} {plain(shown.alt)}"
    return Picture(shown.data, shown.mime_type, shown.width, shown.height, alt)


class FileNames:
    """Gives each content one name in a folder, which says what it is and leads nowhere else."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()

    def name(self, block: MediaMessageBlock, ending: str) -> str:
        """Return the name for an attachment: ``receipt_1.png``.

        Parameters
        ----------
        ending
            Without its dot.
        """
        known = self._given.get(block.fingerprint)
        if known is not None:
            return known
        word = plain(block.tag).strip("[]").split(" ")[0]
        stem = re.sub(r"[^\w-]+", "_", word).strip("_")[:_LONGEST_NAME] or "attachment"
        name, count = f"{stem}.{ending}", 1
        while name.casefold() in self._taken:  # some disks know no case
            count += 1
            name = f"{stem}-{count}.{ending}"
        self._taken.add(name.casefold())
        self._given[block.fingerprint] = name
        return name


def calls(turn: Turn) -> Iterator[str]:
    """Yield a line for each tool that was called: how, and what it came to."""
    results = {
        message.get("tool_call_id"): content_text(message.get("content"))
        for message in turn.messages
        if message.get("role") == "tool"
    }
    for message in turn.messages:
        for call in message.get("tool_calls") or ():
            given = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
            said = one_line(f"{call.name}({call.raw_arguments or given})", _LONGEST_CALL)
            result = one_line(results.get(call.id, ""), _LONGEST_CALL)
            yield f"{said} → {result}" if result else said


def sources(turn: Turn) -> list[str]:
    """Return where statements of the answer come from, each once, on a line."""
    found: dict[str, None] = {}
    for one in turn.citations:
        where = one.tag or one.title or one.url
        page = f", page {one.page}" if one.page else ""
        address = f" ({one.url})" if one.url and one.url != where else ""
        if where:
            found[one_line(f"{where}{page}{address}", 4 * _LONGEST_CALL)] = None
    return list(found)
