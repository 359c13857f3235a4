"""What a session has on its way in the background: begun, told of, stopped."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from agentcell.errors import CellError
from agentcell.session import Session
from agentcell_magics.handle import Handle

H = TypeVar("H", bound=Handle[Any])

_LAST_SECONDS = 1.0
"""How long a kernel that ends waits for what it has under way to be kept."""


class Background:
    """The answers and pictures of one session that are still on their way."""

    def __init__(self) -> None:
        self._handles: list[Handle[Any]] = []
        self._count = 0
        self._lock = threading.Lock()

    @property
    def running(self) -> list[Handle[Any]]:
        """Those that are not at their end, oldest first."""
        with self._lock:
            self._handles = [handle for handle in self._handles if not handle.done]
            return list(self._handles)

    def in_conversation(self, name: str) -> int:
        """Return how many of them belong to a conversation: a question now does not see them."""
        return sum(handle.conversation == name for handle in self.running)

    def begin(
        self,
        make: Callable[[str], H],
        name: str | None,
        *,
        updates: bool,
    ) -> H:
        """Start it; an earlier run of the same cell is stopped first.

        Parameters
        ----------
        make
            Makes the handle, by its name.
        name
            What the person calls it; None: a name is made up.
        updates
            Whether displays may be updated; if not, it is done before this returns.
        """
        with self._lock:
            self._count += 1
            handle = make(name or f"async_{self._count}")
        for other in self.running:
            if handle.asker[0] is not None and other.asker == handle.asker:
                other.cancel()
                other.wait(_LAST_SECONDS)
        if not updates:
            handle.run()
            return handle
        with self._lock:
            self._handles.append(handle)
        handle.start()
        return handle

    def cancel(self, name: str | None) -> list[Handle[Any]]:
        """Stop the one of that name, or ``all``; without a name the only one.

        Raises
        ------
        CellError
            If none, or more than one, is meant.
        """
        running = self.running
        chosen = [one for one in running if name in (None, "all", one.name)]
        if not chosen or (name is None and len(chosen) > 1):
            raise _which(running, name)
        for handle in chosen:
            handle.cancel()
        for handle in chosen:
            handle.wait(_LAST_SECONDS)
        return chosen


def _which(running: list[Handle[Any]], name: str | None) -> CellError:
    if not running:
        return CellError(
            "Nothing is answered in the background.", fix="begin a cell with %%agent --async."
        )
    names = ", ".join(one.name for one in running)
    if name is None:
        return CellError(
            f"{len(running)} questions are answered in the background: {names}.",
            fix="name one of them, or all.",
        )
    return CellError(
        f"No question in the background is called {name[:80]!r}.", fix=f"name one of {names}."
    )


_BACKGROUNDS: weakref.WeakKeyDictionary[Session, Background] = weakref.WeakKeyDictionary()


def background(session: Session) -> Background:
    """Return what of a session is answered in the background."""
    return _BACKGROUNDS.setdefault(session, Background())


@atexit.register
def _stop_all() -> None:
    """At the kernel's end: what came until then is kept."""
    handles = [handle for one in list(_BACKGROUNDS.values()) for handle in one.running]
    for handle in handles:
        handle.cancel()
    end = time.monotonic() + _LAST_SECONDS
    for handle in handles:
        handle.wait(max(0.0, end - time.monotonic()))
