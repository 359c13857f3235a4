"""Tab in a magic's line: options, models, conversations, commands and paths."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher

from agentcell_magics.line import Option
from agentcell_magics.options import AGENT_OPTIONS, VIEW_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcell.session import Session

_MAGIC = re.compile(r"^\s*(%%agent|%agent|%view_image)\s")
_MOST_PATHS = 200


def matcher(session: Callable[[], Session]) -> Callable[[CompletionContext], Any]:
    """Return the matcher for `Completer.custom_matchers`.

    The session is asked for only in a line of ours: until then nothing of the library is loaded.
    """

    @context_matcher(identifier="agentcell")
    def agentcell_matcher(context: CompletionContext) -> dict[str, Any]:
        lines = context.full_text.split("\n")
        line = lines[context.cursor_line][: context.cursor_position]
        magic = _MAGIC.match(line)
        if magic is None or (magic.group(1) == "%%agent" and context.cursor_line != _first(lines)):
            return {"completions": []}
        fragment = _fragment(line)
        found = list(
            _offers(session(), magic.group(1), line[: len(line) - len(fragment)], fragment)
        )
        return {
            "completions": found,
            "matched_fragment": fragment,
            "suppress": bool(found),
            "ordered": True,
        }

    return agentcell_matcher  # type: ignore[no-any-return]


def _first(lines: list[str]) -> int:
    return next((number for number, line in enumerate(lines) if line.strip()), 0)


def _fragment(line: str) -> str:
    """Return the word that is being written, blanks in quotes included."""
    word = re.search(r"""(?:[^\s"']|"[^"]*"?|'[^']*'?)*$""", line)
    return word.group() if word else ""


def _offers(session: Session, magic: str, before: str, fragment: str) -> Iterable[SimpleCompletion]:
    words = before.split()
    if magic == "%agent":
        return _command(session, words, fragment)
    options = VIEW_OPTIONS if magic == "%view_image" else AGENT_OPTIONS
    wanted = _option(words[-1], options) if len(words) > 1 else None
    if wanted is not None and wanted.kind != "flag":
        return _values(session, wanted, fragment)
    if fragment.startswith("-"):
        flags = [f for o in options if o.many or not set(o.flags) & set(words) for f in o.flags]
        return _matching(flags, fragment, "option")
    if magic == "%view_image":
        return _paths("", fragment)
    return _models(fragment) if len(words) == 1 else ()


def _models(fragment: str) -> Iterable[SimpleCompletion]:
    from agentcell.adapters.registry import models

    return _matching(models(), fragment, "model")


def _command(session: Session, words: list[str], fragment: str) -> Iterable[SimpleCompletion]:
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


def _values(session: Session, option: Option, fragment: str) -> Iterable[SimpleCompletion]:
    if option.key == "model":
        yield from _models(fragment)
    elif option.key == "conversation":
        yield from _matching(session.conversations or ("main",), fragment, "conversation")
    elif option.key == "attach":
        name, equals, path = fragment.partition("=")
        yield from _paths(f"{name}=", path) if equals else _paths("", fragment)
    elif option.choices:
        yield from _matching(option.choices, fragment, "choice")


def _matching(names: Iterable[str], fragment: str, kind: str) -> Iterable[SimpleCompletion]:
    for name in names:
        if name.startswith(fragment):
            yield SimpleCompletion(text=name, type=kind)


def _paths(before: str, fragment: str) -> Iterable[SimpleCompletion]:
    quote = fragment[:1] if fragment[:1] in {'"', "'"} else ""
    typed = fragment.strip("\"'")
    folder = Path(typed).expanduser()
    pattern = (
        f"{glob.escape(str(folder))}{'/' if typed.endswith('/') and str(folder) != '/' else ''}*"
    )
    if not typed:
        pattern = "*"
    for number, found in enumerate(sorted(glob.glob(pattern))):  # noqa: PTH207 (keeps ./ and ~ out of the way)
        if number >= _MOST_PATHS:
            return
        shown = found + ("/" if Path(found).is_dir() else "")
        if typed.startswith("~"):
            shown = shown.replace(str(Path.home()), "~", 1)
        elif typed.startswith("./"):
            shown = f"./{shown.removeprefix('./')}"
        mark = quote or ('"' if " " in shown else "")
        yield SimpleCompletion(text=f"{before}{mark}{shown}", type="path")
