"""A cell's text, to a refusal or a warning where a key is written out in it.

What is in a cell is saved in the notebook and in IPython's history, whatever becomes of the run.
Our own magics refuse it before anything is sent; in other cells one line warns of it.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, TypeVar

from agentcell.errors import CellError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from agentcell.keys.literals import Literal

F = TypeVar("F", bound=Callable[..., Any])

_SAVED = "the cell's text is saved in the notebook and in IPython's history"

_KNOWN_FOR = 2.0
"""Seconds for which the known keys are remembered: to collect them costs 0.1 ms."""

_known: tuple[float, dict[str, str]] = (float("-inf"), {})


def guarded(magic: F) -> F:
    """Return `magic`, which then refuses a line or a cell in which a key is written out."""

    @functools.wraps(magic)
    def refusing(line: str, cell: str | None = None) -> Any:
        refuse(line, cell)
        return magic(line) if cell is None else magic(line, cell)

    return refusing  # type: ignore[return-value]  # it takes what a magic is called with


def refuse(line: str, cell: str | None = None) -> None:
    """Refuse a magic's text in which a key is written out.

    Raises
    ------
    CellError
        Naming the place and the ways out, without the key.
    """
    found = _literal(f"{line}\n{cell or ''}")
    if found is None:
        return
    where = "The magic's line" if found.line == 1 else f"Line {found.line} of this cell"
    raise CellError(
        f"{where} holds {found.what}, written out: nothing was sent, but {_SAVED}.",
        fix="delete it there, and let the key come from `%agent key PROVIDER` (hidden while typed),"
        " keyring or the environment. If it is no key, put it into a variable and write {name}.",
    )


class KeyWatch:
    """Warns, in one line before a cell runs, of a key that is written out in it.

    Parameters
    ----------
    own
        The names of the cell magics that refuse by themselves.
    """

    def __init__(self, shell: InteractiveShell, own: Callable[[], Container[str]]) -> None:
        self._events: Any = shell.events
        self._own = own

    def watch(self) -> None:
        """Look at every cell that begins from now on; a second time does nothing."""
        self.stop()
        self._events.register("pre_run_cell", self._look)

    def stop(self) -> None:
        """Look at none."""
        if self._look in self._events.callbacks["pre_run_cell"]:
            self._events.unregister("pre_run_cell", self._look)

    def _look(self, info: Any) -> None:
        try:
            text = info.raw_cell or ""
            if not info.silent and not self._refuses_itself(text):
                found = _literal(text)
                if found is not None:
                    _warn(found)
        except Exception:  # noqa: BLE001, S110 (no cell may fail for this)
            pass

    def _refuses_itself(self, text: str) -> bool:
        if "%%" not in text:
            return False
        lines = (line for line in text.splitlines() if line.strip())
        first = next((line for line in lines if not line.lstrip().startswith("#")), "")
        return first.startswith("%%") and first[2:].split(maxsplit=1)[0] in self._own()


def _literal(text: str) -> Literal | None:
    global _known  # noqa: PLW0603 (what one process knows)
    from agentcell import keys
    from agentcell.keys.literals import first_literal

    now = time.monotonic()
    if now - _known[0] > _KNOWN_FOR:
        _known = (now, keys.known())
    return first_literal(text, _known[1])


def _warn(found: Literal) -> None:
    from agentcell_magics import cards
    from agentcell_magics.live import show
    from agentcell_magics.wording import say

    show(
        cards.line(
            say(
                "Line {line} holds {what}, written out: {saved}. Delete it there;"
                " `%agent key PROVIDER`, keyring or the environment keep a key out of it.",
                line=found.line,
                what=found.what,
                saved=say(_SAVED),
            )
        )
    )
