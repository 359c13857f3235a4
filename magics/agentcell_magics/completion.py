"""Tab in a magic's line and in a question: a front end's cursor, to what may be written there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher

from agentcell_magics.begun_line import read
from agentcell_magics.cells import variables
from agentcell_magics.offers import Known, Offer, line_offers, names_first
from agentcell_magics.options import AGENT_OPTIONS, VIEW_OPTIONS
from agentcell_magics.words import Begun, begin, closing, inside_quotes, quote

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from agentcell.session import Session
    from agentcell_magics.names import Names

_OPTIONS = {
    "%%agent": AGENT_OPTIONS,
    "%view_image": VIEW_OPTIONS,
}

_LINE = re.compile(r"\s*(?:\w+\s*=\s*)?%(\w+)\s")
_CELL = re.compile(r"\s*%%(\w+)(?=\s|$)")
_SLOT = re.compile(r"(?<!\{)((?:\{\{)*\{)([^\W\d]\w*)?$")
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
"""In a prompt it opens no quote."""

_BEGUN_MENTION = re.compile(r"(\"[^\"]*|'[^']*|“[^”]*|\S*)$")


def matcher(
    shell: InteractiveShell, session: Callable[[], Session], names: Names
) -> Callable[[CompletionContext], Any]:
    """Return the matcher for `Completer.custom_matchers`.

    Parameters
    ----------
    session
        Called only where what it holds is asked for: until then nothing of the library is loaded.
    names
        Under which names our magics are called.
    """
    known = Known(session=session, variables=lambda: variables(shell))

    @context_matcher(identifier="agentcell")
    def agentcell_matcher(context: CompletionContext) -> dict[str, Any]:
        try:
            fragment, texts = _complete(context, known, names)
        except Exception:  # noqa: BLE001 (Tab must never show a stack, whatever lies in the folder)
            texts = []
        if not texts:  # suppresses nothing: Python's own completions stay
            return {"completions": []}
        return {
            "completions": [SimpleCompletion(text=text, type=kind) for text, kind in texts],
            "matched_fragment": fragment,
            "suppress": True,
            "ordered": True,
        }

    return agentcell_matcher  # type: ignore[no-any-return]


def _complete(
    context: CompletionContext, known: Known, names: Names
) -> tuple[str, list[tuple[str, str]]]:
    """Return what is to be replaced before the cursor, and by what, with its kind."""
    lines = context.full_text.split("\n")
    number = context.cursor_line
    line, after = lines[number][: context.cursor_position], lines[number][context.cursor_position :]
    first = _first(lines)
    cell = _CELL.match(lines[first])
    called = names.used("cell").get(cell[1]) if cell is not None else None
    if cell is not None and called is not None:
        if number > first:
            return _in_question(known, line, after, lines[first][cell.end() :])
        if number < first or len(line) <= cell.end():
            return "", []
        return _in_line(known, f"%%{called}", line, cell.end() + 1, after)
    magic = _LINE.match(line)
    called = names.used("line").get(magic[1]) if magic is not None else None
    if magic is None or called is None:
        return "", []
    return _in_line(known, f"%{called}", line, magic.end(), after)


def _first(lines: list[str]) -> int:
    """Return which line is the cell's first but for blank ones and comments."""
    begins = (n for n, line in enumerate(lines) if line.strip() and not line.startswith("#"))
    return next(begins, 0)


def _in_line(
    known: Known, magic: str, line: str, at: int, after: str
) -> tuple[str, list[tuple[str, str]]]:
    typed = line[at:]
    if magic == "%generate" and (found := _in_question(known, line[at:], after, ""))[1]:
        return found
    begun = begin(_APOSTROPHE.sub("’", typed) if magic.endswith("generate") else typed)
    value = begun.value or ""
    if magic == "%agent":
        from agentcell_magics.commands import command_offers

        offers = command_offers(known, begun.words, value)
    elif magic.endswith("generate"):
        from agentcell_magics.generate_offers import generate_offers

        offers = generate_offers(known, magic, begun.words, value)
    else:
        from agentcell_magics.agent_offers import AGENT_VALUES

        options = _OPTIONS[magic]
        offers = line_offers(known, magic, options, begun.words, value, values=AGENT_VALUES)
    texts = [(_written(typed, begun, one, after), one.kind) for one in offers]
    return typed[begun.start :], [(text, kind) for text, kind in texts if text is not None]


def _written(typed: str, begun: Begun, offer: Offer, after: str) -> str | None:
    """Return `offer` as the line writes it; None where the open quote cannot hold it."""
    if begun.quote:
        inner = inside_quotes(offer.word[len(begun.before) :], begun.quote)
        if inner is None:
            return None
        end = closing(begun.quote)
        ends = "" if offer.goes_on or after.startswith(end) else end
        return f"{typed[begun.start : begun.opened + 1]}{inner}{ends}"
    head, tail = offer.word[: offer.head], offer.word[offer.head :]
    value = quote(tail) if tail else ""
    if quote(head or "x") != (head or "x"):
        head, value = "", quote(offer.word)
    is_quoted = value[:1] in {'"', "'"}
    return head + (value[:-1] if is_quoted and offer.goes_on else value)


def _in_question(
    known: Known, line: str, after: str, magic_line: str
) -> tuple[str, list[tuple[str, str]]]:
    """Complete ``{name}`` and ``@path`` in a question; words of it are nobody's business."""
    if slot := _SLOT.search(line):
        names = read(begin(f"{magic_line} ").words, AGENT_OPTIONS).names
        offers = names_first(names, known.variables(), slot[2] or "")
        return slot[2] or "", [(one.word, one.kind) for one in offers]
    for start in _mention_starts(line):
        if begun := _BEGUN_MENTION.match(line, start + 1):
            texts = _mentions(begun[1], after)
            return line[start:], texts
    return "", []


def _mention_starts(line: str) -> Iterator[int]:
    """Yield where a mention may have begun, the last first."""
    from agentcell.prompts.mentions import MENTION_START

    yield from sorted((one.start() for one in MENTION_START.finditer(line)), reverse=True)


def _mentions(begun: str, after: str) -> list[tuple[str, str]]:
    from agentcell.prompts.mentions import written
    from agentcell_magics.paths import listed

    mark = begun[:1] if begun[:1] in {'"', "'", "“"} else ""
    end = closing(mark) if mark else ""
    texts = []
    for one in listed(begun[len(mark) :], "media"):
        if mark:
            ends = "" if one.is_folder or after.startswith(end) else end
            text = f"@{mark}{one.path}{ends}"
        else:
            text = written(one.path)
            if one.is_folder and text[-1] in {'"', "'", "”"}:
                text = text[:-1]
        if not (mark and end in one.path):
            texts.append((text, "folder" if one.is_folder else "path"))
    return texts
