"""The whole words of a magic's line, to what they say; what is wrong in them is passed over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agentcell_magics.line import Option


@dataclass(slots=True)
class Line:
    """What a line's whole words say."""

    given: set[str] = field(default_factory=set)
    plain: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """The names of ``-a NAME=`` and ``-i NAME=``."""
    waiting: Option | None = None
    """The option whose value comes next."""
    prompt: str = ""
    """The file of ``--prompt``."""


def read(words: Iterable[str], options: tuple[Option, ...]) -> Line:
    """Return what `words` say; what is wrong in them is passed over."""
    by_flag = {flag: option for option in options for flag in option.flags}
    line = Line()
    for word in words:
        if line.waiting is not None:
            _take_value(line, line.waiting, word)
            line.waiting = None
        elif not word.startswith("-") or word == "-":
            line.plain.append(word)
        else:
            _take_option(line, by_flag, word)
    return line


def _take_option(line: Line, by_flag: Mapping[str, Option], word: str) -> None:
    flag, equals, value = word.partition("=")
    option = by_flag.get(flag)
    if option is None and not word.startswith("--"):  # -mlocal, -nq
        option, equals, value = by_flag.get(word[:2]), word[2:], word[2:]
    if option is None:
        return
    line.given.add(option.key)
    if option.kind == "flag":
        if equals and flag not in by_flag:
            _take_option(line, by_flag, f"-{value}")
    elif equals:
        _take_value(line, option, value)
    else:
        line.waiting = option


def _take_value(line: Line, option: Option, value: str) -> None:
    name, equals, _ = value.partition("=")
    if option.kind == "pair" and equals and name.isidentifier():
        line.names.append(name)
    if option.key == "prompt":
        line.prompt = value
