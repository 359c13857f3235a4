"""Tab in a magic's line: options, models, conversations, commands and paths."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher

from agentcell_magics.line import Option
from agentcell_magics.options import AGENT_OPTIONS, VIEW_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.session import Session

Offer: TypeAlias = tuple[str, str]
"""What Tab writes, and the kind of thing that it is."""

_MAGIC = re.compile(r"\s*(%%|%)(?:agentcell_)?(agent|view_image)\s")
_MOST_PATHS = 200


def matcher(
    _shell: object, session: Callable[[], Session], _names: object
) -> Callable[[CompletionContext], Any]:
    """Return the matcher for `Completer.custom_matchers`.

    The session is asked for only in a line of ours: until then nothing of the library is loaded.
    """

    @context_matcher(identifier="agentcell")
    def agentcell_matcher(context: CompletionContext) -> dict[str, Any]:
        lines = context.full_text.split("\n")
        line = lines[context.cursor_line][: context.cursor_position]
        magic = _MAGIC.match(line)
        if magic is None or (magic[1] == "%%" and context.cursor_line != _first(lines)):
            return {"completions": []}
        fragment = line[_word_start(line) :]
        before = line[: len(line) - len(fragment)].split()
        offers = _offers(session(), magic[1] + magic[2], before, fragment)
        found = [SimpleCompletion(text=text, type=kind) for text, kind in offers]
        return {
            "completions": found,
            "matched_fragment": fragment,
            "suppress": bool(found),
            "ordered": True,
        }

    return agentcell_matcher  # type: ignore[no-any-return]


def _first(lines: list[str]) -> int:
    """Return which line is the cell's first but for blank ones and comments."""
    begins = (n for n, line in enumerate(lines) if line.strip() and not line.startswith("#"))
    return next(begins, 0)


def _word_start(line: str) -> int:
    """Return where the word begins that is being written; quotes keep blanks in it."""
    start, quote = 0, ""
    for place, character in enumerate(line):
        if character == quote:
            quote = ""
        elif not quote and character in "\"'":
            quote = character
        elif not quote and character.isspace():
            start = place + 1
    return start


def _offers(session: Session, magic: str, words: list[str], fragment: str) -> Iterable[Offer]:
    if magic == "%agent":
        return _command(session, words, fragment)
    options = VIEW_OPTIONS if magic == "%view_image" else AGENT_OPTIONS
    flag, equals, value = fragment.partition("=")
    if equals and (given := _option(flag, options)) is not None:  # --model=lo
        found = _values(session, given, value)
        return ((f"{flag}={text}", kind) for text, kind in found)
    wanted = _option(words[-1], options) if len(words) > 1 else None
    if wanted is not None and wanted.kind != "flag":
        return _values(session, wanted, fragment)
    if fragment.startswith("-"):
        flags = [f for o in options if o.many or not set(o.flags) & set(words) for f in o.flags]
        return _matching(flags, fragment, "option")
    if magic == "%view_image":
        return _paths(fragment)
    return _models(fragment) if len(words) == 1 else ()


def _models(fragment: str) -> Iterable[Offer]:
    from agentcell.adapters.registry import models

    return _matching(models(), fragment, "model")


def _command(session: Session, words: list[str], fragment: str) -> Iterable[Offer]:
    from agentcell_magics.status import COMMANDS

    if len(words) == 1:
        return _matching(COMMANDS, fragment, "command")
    if words[1] == "model":
        return _models(fragment)
    if words[1] == "forget":
        tags = [block.tag.strip("[]").split(" ")[0] for block in session.attachments]
        return _matching(tags, fragment, "attachment")
    return ()


def _option(word: str, options: tuple[Option, ...]) -> Option | None:
    return next((option for option in options if word in option.flags), None)


def _values(session: Session, option: Option, fragment: str) -> Iterable[Offer]:
    if option.key == "model":
        return _models(fragment)
    if option.key == "conversation":
        return _matching(session.conversations or ("main",), fragment, "conversation")
    if option.key == "attach":
        return _attachments(fragment)
    return _matching(option.choices, fragment, "choice")


def _matching(names: Iterable[str], fragment: str, kind: str) -> Iterable[Offer]:
    return ((name, kind) for name in names if name.startswith(fragment))


def _attachments(fragment: str) -> Iterable[Offer]:
    """Offer paths for ``receipt.png``, ``name=receipt.png`` and ``"name=my receipt.png``."""
    name, equals, path = fragment.partition("=")
    if not equals:
        return _paths(fragment)
    quote = name[:1] if name[:1] in {*"\"'"} else ""
    return ((f"{name}={text}", kind) for text, kind in _paths(path, quoted=quote))


def _paths(fragment: str, *, quoted: str = "") -> Iterable[Offer]:
    """Offer what is on disk, written as the person began to: with ``~``, with ``./``, in quotes.

    Parameters
    ----------
    quoted
        The quote that was opened before `fragment`; else `fragment` may begin with one.
    """
    quote = quoted or (fragment[:1] if fragment[:1] in {*"\"'"} else "")
    typed = fragment.strip(quote) if quote else fragment
    try:
        start = os.path.expanduser(typed)  # noqa: PTH111 (keeps ./ and a slash at the end)
        found = sorted(glob.glob(f"{glob.escape(start)}*"))  # noqa: PTH207
    except (OSError, RuntimeError, ValueError):
        return
    for path in found[:_MOST_PATHS]:
        text = typed + path[len(start) :] + ("/" if os.path.isdir(path) else "")  # noqa: PTH112
        yield from _written(text, quote, is_open=bool(quoted))


def _written(path: str, quote: str, *, is_open: bool) -> Iterable[Offer]:
    """Offer `path` with the quotes that it needs; not at all where the line cannot hold it."""
    from agentcell.safe_text import unsendable

    needs = [mark for mark in "\"'" if mark in path]
    if unsendable(path) or quote in needs or len(needs) > 1:
        return
    if not quote and (needs or any(character.isspace() for character in path)):
        quote = "'" if needs == ['"'] else '"'
    yield ("" if is_open else quote) + path, "path"
