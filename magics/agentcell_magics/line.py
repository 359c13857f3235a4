"""A magic's words, to plain words and checked values, by a table of options."""

from __future__ import annotations

import difflib
import keyword
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agentcell.errors import CellError
from agentcell_magics.words import shown, tokens

__all__ = ["HELP_WORDS", "Kind", "Option", "parse", "shown", "table", "tokens"]

Kind: TypeAlias = Literal["flag", "text", "name", "pair", "number", "count", "integer", "choice"]

_LONG_DASH = re.compile(
    "-?[\u2012-\u2015\u2212][\u2012-\u2015\u2212-]*[a-z][a-z-]*(=.*)?", re.DOTALL
)
"""An option in which a chat or a word processor has put another dash."""

HELP_WORDS = ("-h", "--help", "help")
"""What people type for help; a question mark shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a magic.

    Parameters
    ----------
    flags
        How it is written, short form first.
    key
        The keyword under which its value is handed on.
    kind
        What its value must be; ``flag`` has none.
    value
        What the help shows for the value.
    many
        Whether it may be given several times; its value is then a list.
    """

    flags: tuple[str, ...]
    key: str
    kind: Kind
    help: str
    value: str = ""
    many: bool = False
    choices: tuple[str, ...] = ()


def parse(line: str, options: tuple[Option, ...], magic: str) -> tuple[list[str], dict[str, Any]]:
    """Return the line's plain words and its options by key; those not given are not there.

    Raises
    ------
    CellError
        If an option is unknown, given twice, or its value is missing or of the wrong kind.
    """
    by_flag = {flag: option for option in options for flag in option.flags}
    plain: list[str] = []
    found: dict[str, Any] = {}
    words = tokens(line)
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if _LONG_DASH.fullmatch(word):
            raise CellError(
                f"{shown(word)} begins with a long dash.",
                fix="type it anew: options begin with - or --.",
            )
        if not word.startswith("-") or word == "-":
            plain.append(word)
            continue
        option, value = _option(word, by_flag, magic)
        if option.kind == "flag":
            if value is not None and word[:2] in option.flags and word[2:3] != "=":
                words.insert(place, f"-{value}")  # -nq is -n -q
            elif value is not None:
                raise CellError(
                    f"{option.flags[-1]} takes no value, but {shown(value)!r} was given.",
                    fix=f"write {option.flags[-1]} alone.",
                )
            found[option.key] = True
            continue
        if value is None:
            if place >= len(words):
                raise CellError(f"{word} needs a value.", fix=f"write {word} {option.value}.")
            value = words[place]
            if value in by_flag:
                raise CellError(
                    f"{word} needs a value, but the option {value} follows.",
                    fix=f"write {word} {option.value}, or {word}={value} if that is meant.",
                )
            place += 1
        _keep(found, option, value)
    return plain, found


def _option(word: str, by_flag: Mapping[str, Option], magic: str) -> tuple[Option, str | None]:
    flag, equals, value = word.partition("=")
    if flag in by_flag:
        return by_flag[flag], value if equals else None
    if not word.startswith("--") and word[:2] in by_flag:  # -mlocal
        return by_flag[word[:2]], word[2:]
    close = difflib.get_close_matches(flag, by_flag, n=1) if flag not in HELP_WORDS else []
    raise CellError(
        f"{magic} has no option {shown(flag)}.",
        fix=f"did you mean {close[0]}?" if close else f"run {magic}? to see the options.",
    )


def _keep(found: dict[str, Any], option: Option, value: str) -> None:
    checked = _CHECKS[option.kind](option, value)
    if option.many:
        found.setdefault(option.key, []).append(checked)
    elif option.key in found:
        raise CellError(f"{option.flags[-1]} is given twice.", fix="keep one of them.")
    else:
        found[option.key] = checked


def _text(_: Option, value: str) -> str:
    return value


def _name(option: Option, value: str) -> str:
    if not value.isidentifier() or keyword.iskeyword(value):
        raise CellError(
            f"{option.flags[0]} {shown(value)}: a variable's name was expected.",
            fix=f"write letters, digits and _, for example {option.flags[0]} answer.",
        )
    return unicodedata.normalize("NFKC", value)  # as Python spells it


def _pair(option: Option, value: str) -> tuple[str, str]:
    name, equals, rest = value.partition("=")
    if equals and name.isidentifier():
        if not rest.strip():
            raise CellError(
                f"{option.flags[0]} {shown(value)}: nothing follows the =.",
                fix=f"write {option.flags[0]} {option.value}.",
            )
        return name, rest
    if option.key == "attach" and value.strip():
        return "", value  # a path or an address may hold = as well
    raise CellError(
        f"{option.flags[0]} {shown(value)}: NAME=… was expected.",
        fix=f"write {option.flags[0]} {option.value}.",
    )


def _number(option: Option, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not 0 <= number < float("inf"):
        raise CellError(
            f"{option.flags[0]} {shown(value)}: a number from 0 was expected.",
            fix=f"write for example {option.flags[0]} {option.value}.",
        )
    return number


_EXAMPLES = {"max_rounds": 20, "count": 4, "seconds": 6}
"""Numbers that fit an option, where those of tokens do not."""


def _count(option: Option, value: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,8}", value):
        raise CellError(
            f"{option.flags[0]} {shown(value)}: a whole number from 1 was expected.",
            fix=f"write for example {option.flags[0]} {_EXAMPLES.get(option.key, 500)}.",
        )
    return int(value)


def _integer(option: Option, value: str) -> int:
    if not re.fullmatch(r"[-+]?[0-9]{1,19}", value):
        raise CellError(
            f"{option.flags[0]} {shown(value)}: a whole number was expected.",
            fix=f"write for example {option.flags[0]} 7.",
        )
    return int(value)


def _choice(option: Option, value: str) -> str:
    if value not in option.choices:
        raise CellError(
            f"{option.flags[0]} {shown(value)}: one of {', '.join(option.choices)} was expected.",
            fix=f"write for example {option.flags[0]} {option.choices[0]}.",
        )
    return value


_CHECKS: dict[Kind, Callable[[Option, str], Any]] = {
    "text": _text,
    "name": _name,
    "pair": _pair,
    "number": _number,
    "count": _count,
    "integer": _integer,
    "choice": _choice,
}


def table(options: tuple[Option, ...]) -> str:
    """Return the options as the help shows them, a line each."""
    rows = [
        (", ".join(option.flags) + (f" {option.value}" if option.value else ""), option.help)
        for option in options
    ]
    width = max(len(row[0]) for row in rows)
    return "\n".join(f"  {written.ljust(width)}  {said}" for written, said in rows)
