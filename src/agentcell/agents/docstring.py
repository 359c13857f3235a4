"""A docstring → its text, and what it says of each parameter."""

from __future__ import annotations

import functools
import inspect
import re
from typing import Any

_SECTION = re.compile(
    r"\s*(?:args|arguments|parameters|params|returns?|yields?|raises|examples?|notes?|warns?"
    r"|see also|keyword args|keyword arguments|other parameters|attributes|references)\s*:?\s*",
    re.IGNORECASE,
)
_PARAMETER_SECTION = re.compile(
    r"\s*(?:args|arguments|parameters|params|keyword args|keyword arguments|other parameters)"
    r"\s*:?\s*",
    re.IGNORECASE,
)


def documented(function: Any) -> tuple[str, dict[str, str]]:
    """Return a docstring's text above its sections, and what it says of each parameter.

    Google's, numpy's and Sphinx's layouts are read.
    """
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isclass(getattr(function, "__self__", None)):
        # getdoc would look for an inherited text on the class, whose attribute may be a tool
        text = inspect.cleandoc(function.__doc__ or "")
    elif inspect.isroutine(function) or inspect.isclass(function):
        text = inspect.getdoc(function) or ""
    else:
        text = inspect.getdoc(type(function).__call__) or inspect.getdoc(type(function)) or ""
    lines = text.splitlines()
    ends = (at for at in range(len(lines)) if _starts_section(lines, at))
    end = next(ends, len(lines))
    texts = {**_google(lines), **_numpy(lines), **_sphinx(lines)}
    return "\n".join(lines[:end]).strip(), {name: " ".join(t.split()) for name, t in texts.items()}


def _starts_section(lines: list[str], at: int) -> bool:
    line = lines[at]
    if re.match(r"\s*:(?:param|parameter|arg|type|returns?|rtype|raises)\b.*:", line):
        return True
    if not _SECTION.fullmatch(line):
        return False
    return line.rstrip().endswith(":") or _is_ruled(lines, at)


def _is_ruled(lines: list[str], at: int) -> bool:
    return at + 1 < len(lines) and re.fullmatch(r"\s*-{3,}\s*", lines[at + 1]) is not None


def _google(lines: list[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    at = 0
    while at < len(lines):
        head = lines[at]
        at += 1
        if not (_PARAMETER_SECTION.fullmatch(head) and head.rstrip().endswith(":")):
            continue
        level: int | None = None
        name = ""
        while at < len(lines) and not _starts_section(lines, at):
            line = lines[at]
            at += 1
            if not line.strip():
                continue
            indent = len(line) - len(line.lstrip())
            level = indent if level is None else level
            entry = re.match(r"\s*\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)", line)
            if indent <= level and entry:
                name = entry.group(1)
                texts[name] = entry.group(2)
            elif name and indent > level:
                texts[name] += " " + line.strip()
            else:
                name = ""
    return texts


def _numpy(lines: list[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    at = 0
    while at < len(lines):
        if not (_PARAMETER_SECTION.fullmatch(lines[at]) and _is_ruled(lines, at)):
            at += 1
            continue
        at += 2
        names: list[str] = []
        level: int | None = None
        while at < len(lines) and not _starts_section(lines, at):
            line = lines[at]
            at += 1
            if not line.strip():
                continue
            indent = len(line) - len(line.lstrip())
            level = indent if level is None else level
            if indent <= level:
                names = [one.strip(" *") for one in line.split(":")[0].split(",")]
                texts.update(dict.fromkeys(names, ""))
            else:
                for name in names:
                    texts[name] += " " + line.strip()
    return texts


def _sphinx(lines: list[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    name = ""
    for line in lines:
        entry = re.match(r"\s*:(?:param|parameter|arg)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)", line)
        if entry:
            name = entry.group(1)
            texts[name] = entry.group(2)
        elif name and line.startswith((" ", "\t")):
            texts[name] += " " + line.strip()
        else:
            name = ""
    return texts
