"""A text with ``{name}`` slots → the text with values in them, everything else as it was typed.

A slot is a brace, an identifier (of any script) and a brace. JSON, CSS, LaTeX, code, ``{x.y}``,
``{x[0]}``, ``{x!r}`` and ``{x:>3}`` are no slots. One pass: a value's own braces stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

_SLOT = re.compile(r"\{([^\W\d]\w*)\}")


@dataclass(frozen=True, slots=True)
class Slot:
    """One ``{name}``: its place in the text (braces included) and its name."""

    start: int
    end: int
    name: str

    def __repr__(self) -> str:
        return f"Slot({self.start}, {self.end}, {self.name!r:.80})"


@dataclass(frozen=True, slots=True)
class _Found:
    """An identifier in `pairs` braces on either side; `start` and `end` span them all."""

    start: int
    end: int
    name: str
    pairs: int


def find_slots(text: str) -> list[Slot]:
    """Return every slot in `text`, in order; ``{{name}}``, the literal, is none.

    Parameters
    ----------
    text
        As it was typed.
    """
    return [
        Slot(found.start + found.pairs - 1, found.end - found.pairs + 1, found.name)
        for found in _find(text)
        if found.pairs % 2
    ]


def fill(text: str, replace: Callable[[str], str | None]) -> str:
    """Return `text` with every slot replaced by what `replace` gives for its name.

    Parameters
    ----------
    text
        As it was typed.
    replace
        Called for each name in order; None leaves the slot as it was typed.

    Returns
    -------
    str
        ``{{name}}`` becomes ``{name}`` where `replace` knows the name, and stays otherwise;
        ``{{{name}}}`` becomes the value in braces.

    Notes
    -----
    Python spells identifiers in NFKC: a name that `replace` does not know is tried in that form
    (``µ`` typed on a keyboard and the variable ``μ`` are two characters).
    """
    parts: list[str] = []
    at = 0
    for found in _find(text):
        value = replace(found.name)
        if value is None:
            spelled = unicodedata.normalize("NFKC", found.name)
            value = replace(spelled) if spelled != found.name else None
        if value is None:
            continue
        kept = found.pairs // 2
        inner = value if found.pairs % 2 else found.name
        parts += (text[at : found.start], "{" * kept, inner, "}" * kept)
        at = found.end
    parts.append(text[at:])
    return "".join(parts)


def literal(text: str, names: Collection[str]) -> str:
    """Return `text` so that `fill` gives it back as it is, whatever it knows of `names`.

    Parameters
    ----------
    text
        One in which nothing is to be replaced.
    names
        Those that `fill` may know.
    """
    parts: list[str] = []
    at = 0
    for found in _find(text):
        if not {found.name, unicodedata.normalize("NFKC", found.name)} & set(names):
            continue
        braces = 2 * found.pairs
        parts += (text[at : found.start], "{" * braces, found.name, "}" * braces)
        at = found.end
    parts.append(text[at:])
    return "".join(parts)


def near_miss(name: str, known: Iterable[str]) -> str | None:
    """Return the one of `known` that `name` is probably a misspelling of, else None.

    Case does not count; one slip is allowed in names of 3 to 5 characters, two in longer ones.
    Names of one or two characters, and those in `known`, have none.

    Parameters
    ----------
    name
        As it was typed.
    known
        The names that there are.
    """
    candidates = {one for one in known if isinstance(one, str)}
    if name in candidates:
        return None
    if len(name) < 3:  # noqa: PLR2004
        return None
    folded = name.casefold()
    slips = 1 if len(folded) <= 5 else 2  # noqa: PLR2004
    best: tuple[int, str] | None = None
    for one in candidates:
        if abs(len(one) - len(name)) > slips or len(one) < 3:  # noqa: PLR2004
            continue
        away = distance(folded, one.casefold())
        if away <= slips and (best is None or (away, one) < best):
            best = (away, one)
    return best[1] if best else None


def distance(left: str, right: str) -> int:
    """Return how many slips lie between two words.

    A slip is a character too many, too few or another one, or two neighbours exchanged (the
    restricted Damerau–Levenshtein distance).
    """
    before: list[int] = []
    last = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        row = [i]
        for j, b in enumerate(right, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def _find(text: str) -> list[_Found]:
    found: list[_Found] = []
    floor = 0
    for match in _SLOT.finditer(text):
        start, end = match.span()
        pairs = 1
        while (
            start - pairs >= floor
            and end + pairs <= len(text)
            and text[start - pairs] == "{"
            and text[end + pairs - 1] == "}"
        ):
            pairs += 1
        floor = end + pairs - 1
        found.append(_Found(start - pairs + 1, floor, match.group(1), pairs))
    return found
