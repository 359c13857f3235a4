"""The words of a magic's line and what is known here, to what the begun word may become."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from agentcell_magics.begun_line import Line, read
from agentcell_magics.line import Option
from agentcell_magics.paths import Wanted, listed

if TYPE_CHECKING:
    from agentcell.session import Session


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


Values: TypeAlias = Callable[[Known, Line, str], Offers]
"""Offers an option's values, by what is known, the line's whole words, and what is begun."""


def line_offers(  # noqa: PLR0913 (what is known, and what stands there)
    known: Known,
    magic: str,
    options: tuple[Option, ...],
    words: tuple[str, ...],
    begun: str,
    *,
    values: Mapping[str, Values],
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
        What offers an option's values, by its long form.
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
    known: Known, line: Line, option: Option, begun: str, values: Mapping[str, Values]
) -> Offers:
    """Offer values for an option."""
    offered = values.get(option.flags[-1])
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


def answers_first(variables: Mapping[str, Any]) -> list[str]:
    """Return the names that an answer may be kept under again: not functions, not modules."""
    plain = {
        name: value
        for name, value in variables.items()
        if not callable(value) and type(value).__name__ != "module" and not name.startswith("_")
    }
    return sorted(plain, key=lambda name: type(plain[name]).__name__ != "Answer")
