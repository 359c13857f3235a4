"""A magic's line, to its words; and a word, to how a line writes it.

IPython does not expand these lines: braces and dollars are the person's own text. Backslashes
are those of Windows' paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agentcell.errors import CellError

# A curly quote opens only where a value begins: elsewhere it is the person's own text.
_PIECE = re.compile(
    r"(?P<blank>\s+)"
    r"|(?P<curly>(?<![^\s=])“[^”]*”)"
    r"|(?P<double>\"(?:\\[\"\\]|\\(?![\"\\])|[^\"\\])*\")"
    r"|(?P<single>'[^']*')"
    r"|(?P<open>[\"']|(?<![^\s=])“)"
    r"|(?P<bare>(?:[^\s\"'“]|(?<![\s=])“)+)"
)
# In prose a quote opens only where a word or a value begins: a fox's tail, a 12" ruler.
_PROSE = re.compile(
    r"(?P<blank>\s+)"
    r"|(?<![^\s=])(?:(?P<curly>“[^”]*”)|(?P<double>\"(?:\\[\"\\]|[^\"])*?\")|(?P<single>'[^']*'))"
    r"|(?P<bare>.)",
    re.DOTALL,
)
_CLOSES = {'"': '"', "'": "'", "“": "”"}
_LONGEST_SHOWN = 80
"""Characters of what was typed that an error repeats."""


def tokens(line: str) -> list[str]:
    r"""Return the line's words. Quotes keep blanks together; only \" and \\ are escapes in them.

    Single quotes hold everything as it stands. Curly quotes, as chats and input methods write
    them, count where a value begins.

    >>> tokens('-i receipt="IMAGE:Till receipt" C:\\new')
    ['-i', 'receipt=IMAGE:Till receipt', 'C:\\new']

    Raises
    ------
    CellError
        If a quote is not closed, or the line holds what cannot be sent.
    """
    from agentcell.safe_text import unsendable

    if fault := unsendable(line):
        raise CellError(f"The line holds {fault}.", fix="delete it, or type the line anew.")
    begun = begin(line)
    if begun.quote:
        raise CellError(
            f"A quote {begun.quote} is opened and not closed in: {shown(line.strip())}",
            fix=f"add {_CLOSES[begun.quote]}.",
        )
    return [*begun.words, *([] if begun.value is None else [begun.value])]


def pieces(prose: str) -> Iterator[tuple[int, int, str]]:
    """Yield where each word begins and ends, and what it says.

    A quote in the middle of a word, and one that nothing closes, is a sign like any other.

    Parameters
    ----------
    prose
        A line that holds a person's own sentence among options.
    """
    word, start = "", 0
    for piece in _PROSE.finditer(prose):
        if piece["blank"]:
            if piece.start() > start:
                yield start, piece.start(), word
            word, start = "", piece.end()
        elif piece["double"]:
            word += _unescaped(piece["double"][1:-1])
        else:
            quoted = piece["single"] or piece["curly"]
            word += quoted[1:-1] if quoted else piece.group()
    if len(prose) > start:
        yield start, len(prose), word


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A line up to where a person is writing: whole words, and the one that is begun.

    Parameters
    ----------
    words
        The words before it.
    start
        Where the begun word starts in the line.
    value
        What it says so far, without its quotes; None if no word is begun.
    quote
        The quote that is open in it; empty if none is.
    opened
        Where that quote stands in the line.
    before
        What the word says up to that quote.
    """

    words: tuple[str, ...] = ()
    start: int
    value: str | None = None
    quote: str = ""
    opened: int = 0
    before: str = ""


def begin(line: str) -> Begun:
    """Return what `line` says as far as it goes; an open quote is no error here."""
    words: list[str] = []
    word: str | None = None
    start = 0
    for piece in _PIECE.finditer(line):
        if piece["blank"]:
            words += [word] if word is not None else []
            word, start = None, piece.end()
        elif piece["open"]:
            rest, before = line[piece.end() :], word or ""
            value = before + (_unescaped(rest) if piece["open"] == '"' else rest)
            return Begun(
                words=tuple(words),
                start=start,
                value=value,
                quote=piece["open"],
                opened=piece.start(),
                before=before,
            )
        elif piece["double"]:
            word = (word or "") + _unescaped(piece["double"][1:-1])
        else:
            quoted = piece["single"] or piece["curly"]
            word = (word or "") + (quoted[1:-1] if quoted else piece["bare"])
    return Begun(words=tuple(words), start=start, value=word)


def quote(text: str) -> str:
    """Return `text` as one word of a line: in quotes only where it needs them.

    >>> quote("receipt.png"), quote("my receipt.png")
    ('receipt.png', '"my receipt.png"')
    """
    begun = begin(text)
    if begun.value == text and not begun.words:
        return text
    if "'" not in text and ('"' in text or "\\" in text):
        return f"'{text}'"
    return f'"{inside_quotes(text, chr(34))}"'


def inside_quotes(text: str, mark: str) -> str | None:
    """Return how `text` is written after an open quote and before its end; None if it cannot be.

    Parameters
    ----------
    mark
        The opening quote.
    """
    if mark == '"':
        return re.sub(r'"|\\(?=["\\]|$)', r"\\\g<0>", text)
    return None if _CLOSES[mark] in text else text


def closing(mark: str) -> str:
    """Return the quote that ends what `mark` began."""
    return _CLOSES[mark]


def _unescaped(text: str) -> str:
    return re.sub(r'\\(["\\])', r"\1", text)


def shown(typed: str) -> str:
    """Return what was typed as an error repeats it: short, without control characters."""
    from agentcell.safe_text import plain

    text = plain(typed)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
