"""What happens to a job, to the displays of its cell: how far it is, then what was made."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentcell.imaging.events import (
    Accepted,
    NotSaved,
    PartialImage,
    Progressed,
    Saved,
)
from agentcell.imaging.generation import Generation
from agentcell_magics import cards, generate_cards
from agentcell_magics.cards import Bundle
from agentcell_magics.live import show
from agentcell_magics.making import Happening
from agentcell_magics.wording import say

_SHORTEST_WAIT = 0.25
"""Seconds between updates of the line, at least: people read it, they do not watch it."""

_PICTURE_WAIT = 1.0
"""Seconds between pictures that are not finished."""

_NOTHING: Bundle = {"text/html": "<span></span>", "text/markdown": "", "text/plain": ""}


class MakingDisplay:
    """One display while a job runs: a line, above which a first preview may come.

    At the end thumbnails stand in the line's place, and a card below them.

    Parameters
    ----------
    head
        Who makes what, and for how much.
    home
        The notebook's folder.
    updates
        Whether displays may be updated; if not, only the end is shown.
    prints
        Whether the person sits at a terminal, which shows text alone.
    """

    def __init__(
        self, head: Iterable[str], home: Path, *, updates: bool, prints: bool = False
    ) -> None:
        self.lock = threading.RLock()
        """Held while it changes: events come from one thread, a cell that waits is another."""
        self._head = tuple(filter(None, head))
        self._home = home
        self._updates = updates and not prints
        self._prints = prints
        self._above = _Place()
        self._line = _Place()
        self._has_picture = False
        self._state = ""
        self._part: float | None = None
        self._saved = 0
        self._missing = 0
        self._began = time.monotonic()
        self._last_line = self._last_picture = float("-inf")
        self.job_id = ""
        """The job's name in the ledger, once there is one."""

    @property
    def seconds(self) -> float:
        """How long it runs."""
        return time.monotonic() - self._began

    @property
    def told(self) -> str:
        """How far it is, in one line."""
        return str(self._progress()["text/plain"])

    def planned(self, job_id: str) -> None:
        """Note the job's name in the ledger; nothing is shown."""
        self.job_id = job_id

    def begin(self, *, both: bool = False) -> None:
        """Say what is waited for.

        Parameters
        ----------
        both
            Whether to begin both displays now: hosts take no new one once their cell has ended.
        """
        if self._prints:
            print(self.told)  # noqa: T201 (a terminal has no displays)
        if not self._updates:
            return
        with self.lock:
            if both:
                self._above.put(self._progress(), {})
                self._line.put(_NOTHING, {})
            else:
                self._update(now=True)

    def take(self, event: Happening) -> None:
        """Show what happened.

        Parameters
        ----------
        event
            A `Tick` lets the seconds go on.
        """
        with self.lock:
            match event:
                case Accepted():
                    self._state = self._state or say("accepted")
                case Progressed():
                    self._state, self._part = event.state, event.part
                case PartialImage():
                    self._preview(event.data)
                case Saved():
                    self._saved += 1
                    self._part = None
                    self._state = say("{count} saved", count=self._saved)
                case NotSaved():
                    self._missing += 1
                case _:
                    pass
            self._update()

    def finish(self, generation: Generation) -> None:
        """Show what was made.

        Parameters
        ----------
        generation
            Whose files are on disk.
        """
        card, facts = generate_cards.result(generation, self._home)
        if self._prints:
            print(card["text/plain"])  # noqa: T201
            return
        picture = generate_cards.thumbnails(generation)
        with self.lock:
            if picture is not None:
                self._put_picture(*picture)
            self._put(card, facts)

    def end(self, said: str) -> None:
        """Say in the line's place how it ended, where nothing was made."""
        if not self._prints:
            with self.lock:
                self._put(cards.line(said), {})

    def show(self) -> None:
        """Begin both displays anew, in the cell that runs now."""
        with self.lock:
            for place in (self._above, self._line):
                place.show()

    def show_again(self) -> None:
        """Send the last state from the cell that waits: nbclient drops what came between cells."""
        with self.lock:
            if self._updates:
                for place in (self._above, self._line):
                    place.send_again()

    def _preview(self, data: bytes) -> None:
        now = time.monotonic()
        if not self._updates or now - self._last_picture < _PICTURE_WAIT:
            return
        shown = generate_cards.partial(data)
        if shown is not None:
            self._last_picture = now
            self._put_picture(*shown)
            self._last_line = float("-inf")  # the line moved below it

    def _progress(self) -> Bundle:
        state = self._state
        if self._missing:
            state += say(", {count} missing", count=self._missing)
        return generate_cards.progress(self._head, state, self._part, self.seconds)

    def _update(self, *, now: bool = False) -> None:
        at = time.monotonic()
        if self._updates and (now or at - self._last_line >= _SHORTEST_WAIT):
            self._last_line = at
            self._put(self._progress(), {})

    def _put_picture(self, data: Bundle, metadata: Bundle) -> None:
        """Show a picture; the first one takes the line's place, and the line moves below it."""
        if not self._updates:
            show(data, metadata)
            return
        if not self._has_picture:
            if self._above.is_shown:  # both began at once: at no moment is there no line
                self._line.put(self._progress(), {})
            else:
                self._above, self._line = self._line, self._above
        self._has_picture = True
        self._above.put(data, metadata)

    def _put(self, data: Bundle, metadata: Bundle) -> None:
        if not self._updates:
            show(data, metadata)
        elif self._above.is_shown and not self._has_picture:
            self._above.put(data, metadata)  # both began at once: the second one waits
        else:
            self._line.put(data, metadata)


class _Place:
    """One display, begun with what is first put there."""

    def __init__(self) -> None:
        self._id = uuid.uuid4().hex
        self._handle: Any = None
        self._last: tuple[Bundle, Bundle] | None = None

    @property
    def is_shown(self) -> bool:
        return self._handle is not None

    def put(self, data: Bundle, metadata: Bundle) -> None:
        self._last = data, metadata
        if self._handle is None:
            self._handle = show(data, metadata, display_id=self._id)
        else:
            self._handle.update(data, metadata=metadata, raw=True)

    def show(self) -> None:
        if self._last is not None:
            self._handle = show(*self._last, display_id=self._id)

    def send_again(self) -> None:
        if self._last is not None:
            self.put(*self._last)
