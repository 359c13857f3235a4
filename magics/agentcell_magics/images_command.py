"""`%agent images`: which image tools go with every question, and what models may see and write."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentcell.errors import CellError
from agentcell.imaging.contract import IMAGE_TOOL_NAMES, ImageToolConfig, is_image_tool_gated
from agentcell_magics import cards
from agentcell_magics.line import shown
from agentcell_magics.live import show
from agentcell_magics.wording import say

if TYPE_CHECKING:
    from agentcell.session import Session

GATES = {
    "off": (False, False),
    "view": (False, True),
    "generate": (True, False),
    "on": (True, True),
}
"""Each word, and whether it opens generation and viewing."""

WORDS = (*GATES, "status", "allow")


def images(session: Session, arguments: list[str]) -> None:
    """Open or close the gates, approve a folder, or show how they are.

    Raises
    ------
    CellError
        If there is no such word, or it is given too little or too much.
    AttachmentError
        If what is to be allowed is no folder.
    NoBackend
        If pictures are to be made, and nobody is set up who could.
    """
    word, *more = arguments or ["status"]
    if word not in WORDS:
        raise CellError(
            f"%agent images has no word {shown(word)!r}.", fix=f"use one of {', '.join(WORDS)}."
        )
    if word == "allow":
        if len(more) != 1:
            raise CellError(
                f"%agent images allow takes one folder, but {len(more)} were given.",
                fix="write for example %agent images allow ~/pictures.",
            )
        session.access.allow_root(more[0])
    elif more:
        raise CellError(
            f"%agent images {word} takes nothing more, but {shown(' '.join(more))!r} was given.",
            fix=f"write %agent images {word} alone.",
        )
    if word in GATES:
        session.image_tools = opened(session.image_tools, word)
    show(cards.rows("Image tools", facts(session)))


def opened(config: ImageToolConfig, word: str) -> ImageToolConfig:
    """Return `config` with its gates as `word` says.

    Parameters
    ----------
    word
        One of `GATES`.
    """
    generates, views = GATES[word]
    return replace(config, image_generation_enabled=generates, image_view_enabled=views)


def word_of(config: ImageToolConfig) -> str:
    """Return the word that opens the gates as they are."""
    gates = (config.image_generation_enabled, config.image_view_enabled)
    return next(word for word, one in GATES.items() if one == gates)


def facts(session: Session) -> list[tuple[str, str]]:
    """Return how the gates are, and which folders are approved."""
    config = session.image_tools
    found = [
        (name, "closed" if is_image_tool_gated(name, config) else "goes with every question")
        for name in IMAGE_TOOL_NAMES
    ]
    folders = "\n".join(_short(folder) for folder in session.access.roots)
    return [
        *found,
        ("folders", folders),
        ("to do", "%agent images on|view|generate|off; allow FOLDER"),
    ]


def _short(folder: Path) -> str:
    with contextlib.suppress(ValueError, OSError):  # a saved notebook tells of no machine
        inside = folder.relative_to(Path.cwd())
        return say("this folder") if inside == Path() else inside.as_posix()
    with contextlib.suppress(ValueError, RuntimeError):
        return (Path("~") / folder.relative_to(Path.home())).as_posix()
    return folder.as_posix()
