"""A folder with a ``SKILL.md`` → a `Skill`: instructions and reference media for a system prompt.

Nothing outside the folder is read, links included. The body is never a template.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from agentcell.assets.asset import ImageAsset, MediaAsset, PdfAsset
from agentcell.assets.wording import a_type
from agentcell.errors import AttachmentError
from agentcell.prompts.skill_folder import (
    InvalidSkillPackageError,
    SkillNotFoundError,
    SkillParseError,
    excerpt,
    files_in,
    inside,
    read_text,
    skill_folder,
)

__all__ = [
    "InvalidSkillPackageError",
    "Skill",
    "SkillNotFoundError",
    "SkillParseError",
    "load_skill",
    "load_skills",
    "render_skills",
]

MAX_FRONT_MATTER = 64_000
"""Characters of front matter."""

_SOURCES = ("path", "url", "file_id", "data", "value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """Instructions for a kind of task, with the media that belong to them.

    Parameters
    ----------
    name
        From the front matter, on one line; else the folder's name.
    description
        When to use it; None if the front matter does not say.
    body
        The instructions, as they stand in the file.
    skill_dir, skill_md_path
        Where it was read from.
    frontmatter
        All of the front matter, unknown keys included.
    examples, templates, scripts, references
        The folder's other files, relative to it: those under ``examples/``, Markdown files at the
        top, those under ``scripts/``, and the rest.
    media
        The declared images and PDFs, read when the skill was.
    excerpts
        The first template and the first example: head and text.
    raw_markdown
        The whole file.
    """

    __node_template_scope__: ClassVar[str] = "shared"

    name: str
    description: str | None
    body: str = field(repr=False)
    skill_dir: Path = field(repr=False)
    skill_md_path: Path = field(repr=False)
    frontmatter: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    examples: tuple[PurePosixPath, ...] = field(default=(), repr=False)
    templates: tuple[PurePosixPath, ...] = field(default=(), repr=False)
    scripts: tuple[PurePosixPath, ...] = field(default=(), repr=False)
    references: tuple[PurePosixPath, ...] = field(default=(), repr=False)
    media: tuple[MediaAsset, ...] = field(default=(), repr=False)
    excerpts: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    raw_markdown: str = field(default="", repr=False)

    def __repr__(self) -> str:
        return f"Skill({self.name[:80]!r}, {len(self.body)} characters, {len(self.media)} media)"


def load_skill(path: str | os.PathLike[str]) -> Skill:
    """Read the skill in the folder `path`.

    Parameters
    ----------
    path
        A folder that holds a ``SKILL.md``: optional YAML front matter between lines of ``---``
        (``name``, ``description``, ``media``, anything else), then the instructions. An entry of
        ``media`` has a ``type`` (image or pdf) and one of ``path`` (within the folder), ``url``,
        ``file_id`` or ``data`` (base64); ``mime_type`` and ``filename`` are optional.

    Returns
    -------
    Skill

    Raises
    ------
    SkillNotFoundError
        If there is no such folder, or no SKILL.md in it.
    InvalidSkillPackageError
        If `path` is no folder, or its SKILL.md is no file.
    SkillParseError
        If the file is not UTF-8, its front matter is no YAML mapping or not closed, it has no
        instructions, or a medium is missing, damaged, of another type or outside the folder.
    """
    folder = skill_folder(path)
    if not folder.is_dir():
        raise InvalidSkillPackageError(
            f"Skill path '{folder}' is not a directory.", fix="give the folder that SKILL.md is in."
        )
    file = folder / "SKILL.md"
    names = {one.name for one in folder.iterdir()}  # not every file system tells capitals apart
    if "SKILL.md" not in names:
        near = next((name for name in sorted(names) if name.lower() == "skill.md"), None)
        raise SkillNotFoundError(
            f"Skill directory '{folder}' has no SKILL.md.",
            fix=f"rename {near} to SKILL.md." if near else "write one.",
        )
    if not file.is_file():
        raise InvalidSkillPackageError(f"'{file}' is not a file.", fix="make it a Markdown file.")
    root = folder.resolve()
    raw = read_text(inside(root, "SKILL.md", file), file)
    front, body = _divided(raw, file)
    if not body.strip():
        raise SkillParseError(
            f"Skill file '{file}' must contain non-empty markdown instructions.",
            fix="write the instructions below the front matter.",
        )
    files = files_in(root)
    examples = tuple(one for one in files if one.parts[0] == "examples" and len(one.parts) > 1)
    scripts = tuple(one for one in files if one.parts[0] == "scripts" and len(one.parts) > 1)
    templates = tuple(one for one in files if len(one.parts) == 1 and one.suffix == ".md")
    described = front.get("description")
    return Skill(
        name=_one_line(front.get("name"), "name", file) or folder.resolve().name,
        description=None if described is None else _one_line(described, "description", file),
        body=body,
        skill_dir=folder,
        skill_md_path=file,
        frontmatter=front,
        examples=examples,
        templates=templates,
        scripts=scripts,
        references=tuple(one for one in files if one not in {*examples, *scripts, *templates}),
        media=_media(front.get("media"), root, file),
        excerpts=(*excerpt("Template", templates, root), *excerpt("Example", examples, root)),
        raw_markdown=raw,
    )


def load_skills(paths: Iterable[str | os.PathLike[str]]) -> list[Skill]:
    """Read several skills, in order; the first that cannot be read is an error.

    Parameters
    ----------
    paths
        Folders, or one of them; each as for `load_skill`.

    Raises
    ------
    SkillError
        See `load_skill`.
    """
    if isinstance(paths, (str, os.PathLike)):
        return [load_skill(paths)]
    return [load_skill(path) for path in paths]


def render_skills(skills: Sequence[Skill]) -> str:
    """Return what a system prompt says of `skills`; empty if there are none.

    Parameters
    ----------
    skills
        In the order they are to stand.
    """
    if not skills:
        return ""
    parts = ["[Loaded Skills]"]
    for skill in skills:
        parts.append(f"## Skill: {skill.name}")
        if skill.description:
            parts.append(f"Description: {skill.description}")
        parts.append(skill.body)
        parts += [f"### {head}\n{text}" for head, text in skill.excerpts]
    return "\n\n".join(parts)


def _divided(raw: str, file: Path) -> tuple[dict[str, Any], str]:
    """Return a file's front matter and its body."""
    lines = raw.lstrip("\n").split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if lines[first].rstrip() != "---":
        return {}, _body(lines)
    places = range(first + 1, len(lines))
    end = next((at for at in places if lines[at].rstrip() == "---"), None)
    if end is None:
        raise SkillParseError(
            f"Invalid frontmatter in '{file}': missing closing '---'.",
            fix="close it with a line of three dashes.",
        )
    front = "\n".join(lines[first + 1 : end])
    return _yaml(front, file), _body(lines[end + 1 :])


def _body(lines: Sequence[str]) -> str:
    """Return the instructions as they stand, without the blank lines around them."""
    start = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[start:]).rstrip()


def _yaml(text: str, file: Path) -> dict[str, Any]:
    import yaml

    if len(text) > MAX_FRONT_MATTER:
        raise SkillParseError(
            f"The frontmatter of '{file}' is longer than {MAX_FRONT_MATTER:,} characters.",
            fix="move parts of it into the body.",
        )
    try:
        front = yaml.safe_load(text)
    except Exception as error:  # PyYAML lets KeyError and others through
        mark = getattr(error, "problem_mark", None)
        where = f" in its line {mark.line + 1}" if mark is not None else ""
        what = getattr(error, "problem", None) or str(error).splitlines()[0][:120]
        raise SkillParseError(
            f"Invalid frontmatter in '{file}'{where}: {what}.",
            fix='correct the YAML; quote texts that hold a colon: name: "a: b".',
        ) from error
    if front is None:
        return {}
    if not isinstance(front, dict):
        raise SkillParseError(
            f"Invalid frontmatter in '{file}': expected a mapping.",
            fix="write lines of key: value.",
        )
    return {str(key): value for key, value in front.items()}


def _one_line(value: object, key: str, file: Path) -> str:
    if isinstance(value, (list, dict, set)):
        raise SkillParseError(
            f"The frontmatter of '{file}' has a {key} that is {a_type(value)}.",
            fix=f"write it as text: {key}: ...",
        )
    return "" if value is None else " ".join(str(value).split())


def _media(declared: object, root: Path, file: Path) -> tuple[MediaAsset, ...]:
    if declared is None:
        return ()
    if not isinstance(declared, list):
        raise SkillParseError(
            f"'media' in '{file}' is {a_type(declared)}; a list was expected.",
            fix="begin each entry with a dash: - type: image",
        )
    return tuple(_medium(entry, at, root, file) for at, entry in enumerate(declared, 1))


def _medium(entry: object, at: int, root: Path, file: Path) -> MediaAsset:
    shown = f"media entry {at} in '{file}'"
    if not isinstance(entry, dict):
        raise SkillParseError(
            f"The {shown} is {a_type(entry)}; a mapping was expected.",
            fix="write type: image and path: guide.png.",
        )
    kind = str(entry.get("type", entry.get("modality"))).strip().lower()
    holder = {"image": ImageAsset, "pdf": PdfAsset}.get(kind)
    if holder is None:
        raise SkillParseError(
            f"The {shown} has the unsupported type {kind[:40]!r}.", fix="use image or pdf."
        )
    given = [key for key in _SOURCES if entry.get(key) is not None]
    if len(given) != 1:
        raise SkillParseError(
            f"The {shown} has {' and '.join(given) or 'no source'}; one source was expected.",
            fix="give one of path, url, file_id or data.",
        )
    source = given[0] if given[0] != "value" else str(entry.get("source_kind")).strip().lower()
    return _made(holder, source, entry[given[0]], entry, (root, shown))


def _made(
    holder: type[MediaAsset],
    source: str,
    value: Any,
    entry: Mapping[str, Any],
    place: tuple[Path, str],
) -> MediaAsset:
    root, shown = place
    names: dict[str, Any] = {
        key: str(entry[key]) for key in ("mime_type", "filename") if entry.get(key) is not None
    }
    try:
        if source == "path":
            path = inside(root, str(value), shown)
            return holder.from_path(path, follow_links=False, **names)
        if source == "url":
            return holder.from_url(str(value), **names)
        if source == "file_id":
            return holder.from_file_id(str(value), **names)
        if source in ("data", "base64") and isinstance(value, str):
            return holder.from_base64(value, **names)
        if source in ("data", "base64", "bytes") and isinstance(value, bytes):
            return holder.from_bytes(value, **names)
    except AttachmentError as error:
        raise SkillParseError(
            f"The {shown} cannot be used: {error.problem}", fix=error.fix
        ) from error
    raise SkillParseError(
        f"The {shown} has the unsupported source_kind {source[:40]!r} for a"
        f" {type(value).__name__}.",
        fix="use path, url, file_id or base64.",
    )
