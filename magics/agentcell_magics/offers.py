"""The words of a magic's line and what is known here, to what the begun word may become."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from agentcell_magics.line import Option
from agentcell_magics.paths import Wanted, listed

if TYPE_CHECKING:
    from agentcell.session import Session

_KINDS = ("IMAGE:", "PDF:", "TEXT:", "ANY:")


@dataclass(frozen=True, slots=True)
class Offer:
    """What the begun word may become.

    Parameters
    ----------
    word
        The whole word, without quotes.
    kind
        What a front end shows beside it.
    head
        How many of its characters stand before the value that quotes go round: ``name=``.
    goes_on
        Whether more is to be written: behind a folder's slash, or an equals sign.
    """

    word: str
    kind: str
    head: int = 0
    goes_on: bool = False

    def behind(self, before: str) -> Offer:
        """Return it as the value of what stands before it."""
        return Offer(before + self.word, self.kind, len(before) + self.head, self.goes_on)


Offers: TypeAlias = Iterable[Offer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Where offers come from.

    Parameters
    ----------
    session
        Called where conversations, turns or attachments are asked for, and not before.
    variables
        The person's own, by name.
    """

    session: Callable[[], Session]
    variables: Callable[[], Mapping[str, Any]]


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


Values: TypeAlias = Callable[[Known, Line, str], Offers]
"""Offers an option's values, by what is known, the line's whole words, and what is begun."""


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


def line_offers(  # noqa: PLR0913 (what is known, and what stands there)
    known: Known,
    magic: str,
    options: tuple[Option, ...],
    words: tuple[str, ...],
    begun: str,
    *,
    values: Mapping[str, Values] | None = None,
) -> Offers:
    """Return what the begun word of a line with options may become.

    Parameters
    ----------
    magic
        With its signs, ``%%agent``.
    words
        The whole words before it.
    begun
        What it says so far.
    values
        What offers an option's values, by its long form; None: those of `%%agent`.
    """
    line = read(words, options)
    if line.waiting is not None:
        return _values(known, line, line.waiting, begun, values)
    by_flag = {flag: option for option in options for flag in option.flags}
    flag, equals, value = begun.partition("=")
    if equals and (option := by_flag.get(flag)) is not None:
        return (one.behind(f"{flag}=") for one in _values(known, line, option, value, values))
    short = by_flag.get(begun[:2])
    if len(begun) > 2 and begun[1] != "-" and short is not None and short.kind != "flag":  # noqa: PLR2004 (-mlo)
        return (one.behind(begun[:2]) for one in _values(known, line, short, begun[2:], values))
    flags = _flags(line, options, begun)
    if begun.startswith("-"):
        return flags
    return [*_plain(known, magic, line, begun), *([] if begun else flags)]


def _flags(line: Line, options: tuple[Option, ...], begun: str) -> list[Offer]:
    """Offer the options that are not given yet: long forms, and short ones behind one dash."""
    return [
        Offer(flag, "option")
        for option in options
        if option.many or option.key not in line.given
        for flag in option.flags
        if flag.startswith(begun) and (begun or flag.startswith("--"))
    ]


def _plain(known: Known, magic: str, line: Line, begun: str) -> Offers:
    if line.prompt:
        from agentcell_magics.prompt_offers import slot_offers

        return slot_offers(known, line, begun)
    if line.plain:
        return []
    if magic == "%%agent":
        return [] if "model" in line.given else models(begun)
    if magic == "%view_image":
        pictures = (name for name, value in known.variables().items() if can_attach(value))
        return [*matching(pictures, begun, "variable"), *paths(begun, "image")]
    return []


def _values(
    known: Known, line: Line, option: Option, begun: str, values: Mapping[str, Values] | None
) -> Offers:
    """Offer values for an option."""
    offered = (_VALUES if values is None else values).get(option.flags[-1])
    if offered is None:
        return matching(option.choices, begun, "choice")
    return offered(known, line, begun)


def matching(names: Iterable[str], begun: str, kind: str) -> list[Offer]:
    """Offer the names that begin as typed; hidden ones need their underscore."""
    return [
        Offer(name, kind)
        for name in names
        if name.startswith(begun) and (begun or not name.startswith("_"))
    ]


def conversations(known: Known, begun: str) -> list[Offer]:
    """Offer the conversations that there are."""
    return matching(known.session().conversations or ("main",), begun, "conversation")


def models(begun: str) -> list[Offer]:
    """Offer models by ``provider/model``, by ``provider:model`` where that is typed, and by id."""
    from agentcell.adapters.registry import models as known_models

    names = known_models()
    head, colon, rest = begun.partition(":")
    if colon and "/" not in head:
        found = [name for name in names if name.startswith(f"{head}/{rest}")]
        return [Offer(name.replace("/", ":", 1), "model") for name in found]
    found = [name for name in names if name.startswith(begun)]
    found = found or [name for name in names if begun in name.partition("/")[2]]
    return [Offer(name, "model", goes_on=name.endswith("/")) for name in found]


def paths(begun: str, wanted: Wanted) -> Iterator[Offer]:
    """Offer what is on disk."""
    for one in listed(begun, wanted):
        yield Offer(one.path, "folder" if one.is_folder else "path", goes_on=one.is_folder)


def can_attach(value: object) -> bool:
    """Whether a variable's value becomes an attachment, without making it."""
    from pathlib import PurePath

    from agentcell.assets.asset import MediaAsset
    from agentcell.assets.foreign import is_foreign

    if isinstance(value, list | tuple) and value:
        value = value[0]
    return isinstance(value, MediaAsset | PurePath | bytes | bytearray) or is_foreign(value)


def names_first(names: Iterable[str], variables: Mapping[str, Any], begun: str) -> list[Offer]:
    """Offer what ``{name}`` may stand for: the line's names, then attachments, then values."""
    told = {
        name: value
        for name, value in variables.items()
        if name.startswith(begun)
        and (begun or not name.startswith("_"))
        and not callable(value)
        and type(value).__name__ != "module"
    }
    media = [name for name, value in told.items() if can_attach(value)]
    ordered = dict.fromkeys([*(n for n in names if n.startswith(begun)), *media, *told])
    return [Offer(name, "attachment" if name not in told else "variable") for name in ordered]


def _attachments(begun: str) -> Offers:
    name, equals, path = begun.partition("=")
    if equals and name.isidentifier():
        return (one.behind(f"{name}=") for one in paths(path, "media"))
    return paths(begun, "media")


def _fields(known: Known, line: Line, begun: str) -> Offers:
    name, equals, kind = begun.partition("=")
    if equals:
        found = (one for one in _KINDS if one.startswith(kind.upper()))
        return [Offer(one, "kind", goes_on=True).behind(f"{name}=") for one in found]
    offers = names_first(line.names, known.variables(), begun)
    return [Offer(f"{one.word}=", one.kind, goes_on=True) for one in offers]


def answers_first(variables: Mapping[str, Any]) -> list[str]:
    """Return the names that an answer may be kept under again: not functions, not modules."""
    plain = {
        name: value
        for name, value in variables.items()
        if not callable(value) and type(value).__name__ != "module" and not name.startswith("_")
    }
    return sorted(plain, key=lambda name: type(plain[name]).__name__ != "Answer")


def _tools(variables: Mapping[str, Any], begun: str) -> list[Offer]:
    """Offer functions, tools and servers, and behind a dot an object's methods; no classes."""
    head, dot, _ = begun.rpartition(".")
    if not dot:
        from agentcell.imaging.contract import OWN_TOOLS

        tools = _named(variables, "Tool", "McpServer")
        plain = [name for name, value in variables.items() if _is_function(value)]
        return matching(dict.fromkeys([*plain, *tools, *OWN_TOOLS]), begun, "function")
    value = variables.get(head)
    if value is None or type(value).__name__ == "McpServer":  # which would have to be started
        return []
    methods = (name for name in dir(value) if not name.startswith("_"))
    names = (name for name in methods if callable(getattr(type(value), name, None)))
    return matching((f"{head}.{name}" for name in names), begun, "function")


def _is_function(value: object) -> bool:
    return callable(value) and not isinstance(value, type)


def _named(variables: Mapping[str, Any], *classes: str) -> list[str]:
    """Return the names of variables that hold one of our own classes, which stay unloaded."""
    return [
        name
        for name, value in variables.items()
        if type(value).__name__ in classes
        and type(value).__module__.partition(".")[0] == "agentcell"
    ]


def _schemas(variables: Mapping[str, Any]) -> list[str]:
    """Return classes and JSON schemas."""
    types = [name for name, value in variables.items() if isinstance(value, type)]
    return types + [name for name, value in variables.items() if isinstance(value, dict)]


def _tables(variables: Mapping[str, Any]) -> list[str]:
    """Return DataFrames, then lists of rows."""
    frames = [name for name, value in variables.items() if hasattr(value, "columns")]
    lists = [
        name
        for name, value in variables.items()
        if isinstance(value, list) and value and isinstance(value[0], Mapping)
    ]
    return frames + lists


_VALUES: dict[str, Values] = {
    "--attach": lambda _known, _line, begun: _attachments(begun),
    "--conversation": lambda known, _, begun: conversations(known, begun),
    "--each": lambda known, _, begun: matching(_tables(known.variables()), begun, "variable"),
    "--input": _fields,
    "--journal": lambda _known, _line, begun: paths(begun, "any"),
    "--model": lambda _known, _line, begun: models(begun),
    "--prompt": lambda known, _, begun: [
        *matching(_named(known.variables(), "SimplePrompt"), begun, "variable"),
        *paths(begun, "prompt"),
    ],
    "--output": lambda known, _, begun: matching(
        answers_first(known.variables()), begun, "variable"
    ),
    "--schema": lambda known, _, begun: matching(_schemas(known.variables()), begun, "type"),
    "--skill": lambda known, _, begun: [
        *matching(_named(known.variables(), "Skill"), begun, "variable"),
        *paths(begun, "folder"),
    ],
    "--tool": lambda known, _, begun: _tools(known.variables(), begun),
}
"""By an option's long form."""
