"""The text of a ``.prompt`` file → its front matter and sections; and back.

::

    ---
    model: gemini-2.5-flash
    temperature: 0.3
    ---

    $system$
    You are brief.

    $user$
    Summarise: %text%

The front matter is YAML between two lines of ``---``, the first of which is the file's first. Of
its keys, ``model``, ``temperature``, ``top_p`` and ``max_tokens`` say how the model is asked;
all others are kept as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentcell.assets.wording import a_type
from agentcell.errors import PromptFormatError
from agentcell.prompts.prompt_sections import Section, split_sections, write_sections
from agentcell.safe_text import unsendable

MAX_FRONT_MATTER = 64_000
"""Characters of front matter."""

_MOST_SHOWN = 10**30
"""A larger number is not written out: Python refuses that from 4300 digits on."""

SETTINGS = ("temperature", "top_p", "max_tokens")
"""Keys of the front matter that are settings for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFile:
    r"""What a prompt file says.

    Parameters
    ----------
    model
        Who is asked; None if the file does not say.
    settings
        Those of `SETTINGS` that the file gives.
    metadata
        The front matter's other keys.
    sections
        In the file's order.
    text
        The whole file, with ``\n`` at the ends of its lines and no byte order mark.
    """

    model: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    sections: tuple[Section, ...]
    text: str = field(repr=False)


def read_prompt(text: str, file: object) -> PromptFile:
    """Return what a prompt file says.

    Parameters
    ----------
    text
        All of it.
    file
        What it is called, for errors.

    Raises
    ------
    PromptFormatError
        If the front matter is not closed, no YAML mapping, or gives a setting of the wrong type
        or out of range; or as `split_sections`.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if fault := unsendable(text):
        at = next(at for at, line in enumerate(text.split("\n"), 1) if unsendable(line))
        raise PromptFormatError(file, at, f"there is {fault}", fix="delete it.")
    lines = text.split("\n")
    front: dict[str, Any] = {}
    first = 0
    if lines[0].rstrip() == "---":
        end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
        if end is None:
            raise PromptFormatError(
                file, 1, "the front matter is not closed", fix="close it with a line of ---."
            )
        front = _front_matter(lines[1:end], file)
        first = end + 1
    known = ("model", *SETTINGS)
    return PromptFile(
        model=front.get("model"),
        settings={name: front[name] for name in SETTINGS if front.get(name) is not None},
        metadata={name: value for name, value in front.items() if name not in known},
        sections=split_sections(lines[first:], first + 1, file),
        text=text,
    )


def write_prompt(sections: Sequence[Section], front: Mapping[str, Any], file: object) -> str:
    """Return the text of a prompt file that holds exactly this.

    Parameters
    ----------
    sections
        Their texts as they are to be read again.
    front
        The front matter.
    file
        What it is called, for errors.

    Raises
    ------
    PromptFormatError
        If no file can hold it: see `read_prompt`; blank lines around a section's text, a
        fence that is not closed before the next section, or a value that is no YAML.
    """
    import yaml

    head = ""
    if front:
        try:
            head = yaml.safe_dump(dict(front), allow_unicode=True, sort_keys=False)
        except yaml.YAMLError as error:
            raise PromptFormatError(
                file,
                1,
                "the front matter holds what YAML cannot write",
                fix="give texts, numbers, lists and mappings.",
            ) from error
        head = f"---\n{head}---\n\n"
    text = head + write_sections(sections)
    again = read_prompt(text, file)
    wanted = [(one.role, one.text) for one in sections]
    if [(one.role, one.text) for one in again.sections] != wanted:
        line = next(
            (
                read.line
                for read, (role, said) in zip(again.sections, wanted, strict=False)
                if (read.role, read.text) != (role, said)
            ),
            1,
        )
        raise PromptFormatError(
            file,
            line,
            "this section would be read otherwise than it was given",
            fix="take the blank lines around its text away, use \\n for line ends, and close"
            " its fenced code.",
        )
    return text


def _front_matter(lines: Sequence[str], file: object) -> dict[str, Any]:
    import yaml

    text = "\n".join(lines)
    if len(text) > MAX_FRONT_MATTER:
        raise PromptFormatError(
            file,
            1,
            f"the front matter is longer than {MAX_FRONT_MATTER:,} characters",
            fix="move parts of it into a section.",
        )
    try:
        front = yaml.safe_load(text)
    except Exception as error:  # PyYAML lets KeyError and others through
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error).splitlines()[0][:120]
        raise PromptFormatError(
            file,
            mark.line + 2 if mark is not None else 1,
            f"the front matter is no YAML: {what}",
            fix='correct it; quote texts that hold a colon: name: "a: b".',
        ) from error
    if front is None:
        return {}
    if not isinstance(front, dict):
        raise PromptFormatError(
            file,
            2,
            f"the front matter is {a_type(front)}; a mapping was expected",
            fix="write lines of key: value.",
        )
    found = {str(key): value for key, value in front.items()}
    for name, (expected, is_right) in _CHECKS.items():
        value = found.get(name)
        if value is not None and not is_right(value):
            raise PromptFormatError(
                file,
                _line_of(name, lines),
                f"{name} is {_shown(value)}; {expected} was expected",
                fix=f"set {name} to {expected}, or leave it out.",
            )
    if isinstance(found.get("model"), str):
        found["model"] = found["model"].strip()
    return found


def _line_of(name: str, lines: Sequence[str]) -> int:
    """Return the line of a key, as far as it stands at a line's start."""
    starts = (at for at, line in enumerate(lines, 2) if line.lstrip("\"'").startswith(name))
    return next(starts, 2)


def _shown(value: object) -> str:
    if (
        isinstance(value, int) and abs(value) >= _MOST_SHOWN
    ):  # Python writes no more than 4300 digits
        return "a number of many digits"
    return repr(str(value)[:40])


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, int) or math.isfinite(value)


_CHECKS: dict[str, tuple[str, Any]] = {
    "model": ("a model's name", lambda value: isinstance(value, str) and bool(value.strip())),
    "temperature": ("a number from 0 to 2", lambda value: _is_number(value) and 0 <= value <= 2),  # noqa: PLR2004
    "top_p": ("a number from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1),
    "max_tokens": (
        "a whole number, at least 1",
        lambda value: _is_number(value) and isinstance(value, int) and 1 <= value < _MOST_SHOWN,
    ),
}
