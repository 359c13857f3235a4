"""A cell's text, to the keys that are written out in it: by their shape, their name, or known.

A name counts where a literal is given to it: ``OPENAI_API_KEY=…``, ``api_key="…"``,
``os.environ["X_API_KEY"] = "…"``, ``?api_key=…``. What is no literal, a placeholder or made of
words is none; nor is a text about keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agentcell.keys.shapes import is_placeholder, looks_random, shapes, without_prefix

_ENDS = re.compile(
    r"(?:api[_-]?key|auth[_-]?token|access[_-]?token|secret[_-]?access[_-]?key|client[_-]?secret)$"
)
"""How names of keys end, in small letters."""

_HINTS = ("key", "token", "secret")
"""How those end at the least: searched for first, which is a hundred times faster."""

_LONGEST_END = 24

_FOLLOW = {*" \t\n\"'=:,]"}
"""What may stand after such a name."""

_NAME = re.compile(r"[\w-]*$", re.ASCII)

_GIVEN = re.compile(
    r"""[\"']?\s{0,20}
    (?: \]\s{0,20}= | :\s{0,20}[\w.\[\]|]{1,40}\s{0,20}= | => | [=:,] )
    \s{0,20}\(?\s{0,20}[rbufRBUF]{0,2}
    (?: (?P<quote>\"{3}|'{3}|[\"'])(?P<quoted>[^\s\"'\\]{16,400})(?P=quote)
      | (?P<bare>[^\s\"'\\&;(){}\[\],$]{16,400}) )""",
    re.VERBOSE,
)
_FOLLOWS = re.compile(r"[ \t]{1,4}[\"']?(?P<bare>[^\s\"'\\&;(){}\[\],$]{16,400})")
_COMMAND = re.compile(r"(?:%(?:set_)?env[ \t]+|setx[ \t]+|(?<![\w-])--?)$", re.IGNORECASE)
"""What stands before a name whose value follows without a sign between."""

_BEARER = re.compile(r"Bearer[ \t]+(?P<bare>[\w.~+/=-]{16,400})", re.ASCII)

_CODE = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+|[/~.].*|.*://.*|.*\.(?:json|txt|env|py|yaml|toml)")
"""What is given to a name and is no key: attributes, paths, addresses."""

_SHORTEST = 16
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A key that is written out, without the key.

    Parameters
    ----------
    what
        What it seems to be, for example ``an OpenAI key`` or ``a value for api_key``.
    line
        The line of the text that it stands in, counted from 1.
    """

    what: str
    line: int


def first_literal(text: str, known: Mapping[str, str] | None = None) -> Literal | None:
    """Return the first key that is written out in `text`, by its place; None if there is none.

    Parameters
    ----------
    known
        Keys by where they come from: they count wherever they stand.
    """
    found = min(_found(text, known or {}), default=None)
    if found is None:
        return None
    return Literal(what=found[1], line=text.count("\n", 0, found[0]) + 1)


def _found(text: str, known: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    for place, value in known.items():
        if (start := text.find(value)) >= 0:
            yield start, f"the key of {place}"
    for shape in shapes(text):
        article = "an" if shape.kind[0] in "AHO" or shape.kind.startswith("NV") else "a"
        yield shape.start, f"{article} {shape.kind}"
    yield from _named(text)
    if "Bearer" in text:
        for match in _BEARER.finditer(text):
            if _is_secret(match["bare"]):
                yield match.start(), "a value for Authorization"


def _named(text: str) -> Iterator[tuple[int, str]]:
    lowered = text.lower()
    if len(lowered) != len(text):  # some capital letters become two small ones
        lowered = text
    for hint in _HINTS:
        end = 0
        while (start := lowered.find(hint, end)) >= 0:
            end = start + len(hint)
            follows = lowered[end : end + 1]
            if follows in _FOLLOW and _ENDS.search(lowered, max(0, end - _LONGEST_END), end):
                yield from _given(text, end)


def _given(text: str, end: int) -> Iterator[tuple[int, str]]:
    """Yield the name that ends at `end`, if a key is given to it."""
    before = text[max(0, end - _LONGEST_NAME) : end]
    start = _NAME.search(before).start()  # type: ignore[union-attr]  # it matches everywhere
    name = before[start:].lstrip("-")
    if before[:start].endswith("::"):  # the name of a type, as in "AWS::ApiGateway::ApiKey"
        return
    match = _GIVEN.match(text, end)
    if match is not None and match["bare"] and "," in text[end : match.start("bare")]:
        match = None  # two things in a row: what is given is quoted
    if match is None:
        ahead = text[max(0, end - len(name) - _LONGEST_END) : end - len(name)]
        match = _FOLLOWS.match(text, end) if _COMMAND.search(ahead) else None
    if match is not None and _is_secret(match.groupdict().get("quoted") or match["bare"]):
        yield end, f"a value for {name}"


def _is_secret(value: str) -> bool:
    secret = without_prefix(value)
    if len(secret) < _SHORTEST or is_placeholder(value) or _CODE.fullmatch(value):
        return False
    return looks_random(value)
