r"""The body of a prompt file → its sections, each a role and a text; and back.

A section begins with a line that is ``$system$``, ``$user$`` or ``$assistant$`` and nothing else
(blanks at its end aside), outside fenced code. It reaches to the next one; the blank lines around
its text are not part of it, and everything inside is. A backslash before such a mark at a line's
start makes text of it: ``\$user$`` is the text ``$user$``, ``\\$user$`` is ``\$user$``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentcell.errors import PromptFormatError

ROLES = ("system", "user", "assistant")

_MARK = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)\$[ \t]*")
_ESCAPED = re.compile(r"\\+\$[A-Za-z_][A-Za-z0-9_]*\$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


@dataclass(frozen=True, slots=True)
class Section:
    """One message to be: who says it, its text with slots, and the line of its mark, from 1."""

    role: str
    text: str
    line: int = 0


class _Fences:
    """Knows, line by line, whether fenced code goes on (CommonMark 0.31, section 4.5)."""

    def __init__(self) -> None:
        self._open = ""

    def holds(self, line: str) -> bool:
        """Whether `line`, the next one, belongs to fenced code; its fences do."""
        found = _FENCE.fullmatch(line)
        if self._open:
            ends = found is not None and found[1].startswith(self._open) and not found[2].strip()
            if ends:
                self._open = ""
            return True
        if found is not None and not (found[1][0] == "`" and "`" in found[2]):
            self._open = found[1]
            return True
        return False


def split_sections(lines: Sequence[str], first: int, file: object) -> tuple[Section, ...]:
    """Return the sections of a prompt file's body, in the file's order.

    Parameters
    ----------
    lines
        Without their ends.
    first
        The number of the first of them in the file, from 1.
    file
        What the file is called, for errors.

    Raises
    ------
    PromptFormatError
        If a text stands before the first section, a section has an unknown name, ``$system$``
        stands twice, or there is no ``$user$``.
    """
    found: list[tuple[str, int, list[str]]] = []
    fences = _Fences()
    for number, line in enumerate(lines, first):
        is_code = fences.holds(line)
        mark = None if is_code else _MARK.fullmatch(line)
        if mark is not None:
            found.append((_role(mark[1], number, found, file), number, []))
        elif found:
            is_escaped = not is_code and _ESCAPED.match(line)
            found[-1][2].append(line[1:] if is_escaped else line)
        elif line.strip():
            raise PromptFormatError(
                file,
                number,
                "a text stands before the first section",
                fix="begin with a line $system$ or $user$.",
            )
    if all(role != "user" for role, _, _ in found):
        raise PromptFormatError(
            file,
            max(first + len(lines) - 1, 1),
            "the file ends without a $user$ section",
            fix="write a line $user$, and below it what the user says; a mark inside fenced code"
            " is text.",
        )
    return tuple(Section(role, "\n".join(_trimmed(text)), line) for role, line, text in found)


def _role(name: str, number: int, found: Sequence[tuple[str, int, list[str]]], file: object) -> str:
    if name not in ROLES:
        known = ", ".join(f"${role}$" for role in ROLES)
        raise PromptFormatError(
            file,
            number,
            f"there is no section ${name[:40]}$",
            fix=f"use {known}; a backslash before it makes it text.",
        )
    before = next((line for role, line, _ in found if role == name == "system"), None)
    if before is not None:
        raise PromptFormatError(
            file,
            number,
            f"$system$ stands twice; the first is in line {before}",
            fix="write both texts into one section.",
        )
    return name


def _trimmed(lines: Sequence[str]) -> Sequence[str]:
    """Return `lines` without the blank ones around them."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else ()


def write_sections(sections: Sequence[Section]) -> str:
    """Return the body of a prompt file that holds `sections`; marks inside texts are escaped."""
    return "\n".join(f"${one.role}$\n{_escaped(one.text)}\n" for one in sections)


def _escaped(text: str) -> str:
    return "\n".join(_escaped_lines(text))


def _escaped_lines(text: str) -> Iterator[str]:
    fences = _Fences()
    for line in text.split("\n"):
        is_text = not fences.holds(line)
        yield f"\\{line}" if is_text and (_MARK.fullmatch(line) or _ESCAPED.match(line)) else line
