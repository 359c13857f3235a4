"""A skill's folder → its text and its files. Nothing outside it is read, links included."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from agentcell.assets.approved import is_approved
from agentcell.assets.asked_path import canonical_path
from agentcell.assets.wording import short
from agentcell.errors import AttachmentError, SkillError

MAX_SKILL_BYTES = 1_000_000
"""The size of a SKILL.md; it goes into every request."""

MAX_FILES = 10_000
"""Files in a skill's folder that are listed."""

MAX_EXCERPT = 4_096
"""Characters of a template or an example that are rendered."""

_TEXT_SUFFIXES = (".md", ".markdown", ".txt")


class SkillNotFoundError(SkillError):
    """There is no such folder, or no SKILL.md in it."""


class InvalidSkillPackageError(SkillError):
    """What was given is no folder, or its SKILL.md is no file."""


class SkillParseError(SkillError):
    """A SKILL.md, or what it declares, cannot be read."""


def skill_folder(path: object) -> Path:
    """Return the folder that `path` names, if it is there."""
    if not isinstance(path, (str, os.PathLike)) or not str(path).strip():
        raise InvalidSkillPackageError(
            f"A skill was given as {short(repr(path), 60)}; the path of a folder was expected.",
            fix="give a folder with a SKILL.md.",
        )
    try:
        folder = Path(path).expanduser()
        is_there = folder.exists()
    except (OSError, ValueError, RuntimeError):  # a name that no file can have
        folder, is_there = Path(short(str(path))), False
    if not is_there:
        raise SkillNotFoundError(
            f"Skill directory '{folder}' does not exist.", fix="give a folder with a SKILL.md."
        )
    return folder


def read_text(path: Path, shown: Path) -> str:
    """Return a SKILL.md's text, with line ends of one kind; `shown` is what an error calls it."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_SKILL_BYTES + 1)
    except OSError as error:
        raise SkillParseError(
            f"Skill file '{shown}' cannot be read: {error.strerror or error}.",
            fix="check its permissions.",
        ) from error
    if len(data) > MAX_SKILL_BYTES:
        raise SkillParseError(
            f"Skill file '{shown}' is larger than {MAX_SKILL_BYTES:,} bytes.",
            fix="move parts of it into other files.",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SkillParseError(
            f"Skill file '{shown}' is not UTF-8 text (byte {error.start}).", fix="save it as UTF-8."
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def inside(root: Path, name: str, shown: object) -> Path:
    """Return the file `name` of the folder `root`, links followed, if it lies in it."""
    try:
        found = canonical_path(root / name)
    except AttachmentError as error:
        raise SkillParseError(
            f"The path {name[:80]!r} of {shown} cannot be read.", fix="correct the path."
        ) from error
    if not is_approved(found, [root]):
        raise SkillParseError(
            f"The path {name[:80]!r} of {shown} leads out of the skill's folder.",
            fix="put the file into the folder and name it relative to it.",
        )
    return found


def files_in(root: Path) -> tuple[PurePosixPath, ...]:
    """Return the folder's files but SKILL.md, hidden ones and links that lead out of it."""
    found: list[PurePosixPath] = []
    for base, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(base, name)
            place = PurePosixPath(path.relative_to(root).as_posix())
            if name.startswith(".") or str(place) == "SKILL.md":
                continue
            if path.is_file() and is_approved(path.resolve(), [root]):
                found.append(place)
            if len(found) >= MAX_FILES:
                return tuple(found)
    return tuple(found)


def excerpt(head: str, files: Sequence[PurePosixPath], root: Path) -> tuple[tuple[str, str], ...]:
    """Return the first readable text among `files`, cut if long."""
    for place in files:
        if place.suffix.lower() not in _TEXT_SUFFIXES:
            continue
        try:
            with (root / place).open("rb") as stream:
                text = stream.read(MAX_EXCERPT * 4 + 4).decode("utf-8-sig", errors="ignore")
        except OSError:
            continue
        text = re.sub(r"\r\n?", "\n", text)
        cut = f"\n(cut after {MAX_EXCERPT:,} characters)" if len(text) > MAX_EXCERPT else ""
        return ((f"{head}: {place}", text[:MAX_EXCERPT].rstrip() + cut),)
    return ()
