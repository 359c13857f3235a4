"""Rows that come to their end → a bar that moves, and no time of it in what is saved.

A bar tells of times, which differ with each run. So at its end it goes away, in a notebook it
becomes a line that counts. Where nobody attends (a test run, a replay) there is none; a notebook
has that line alone, so that it is the same again.
"""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Callable
from typing import Any, Protocol

from agentcell.adapters.recording import RecordingModel

_UNATTENDED = ("CI", "PYTEST_CURRENT_TEST", "AGENTCELL_MODE")
"""Variables of an environment in which a tool runs the notebook."""


class Progress(Protocol):
    """Is told of each row as it comes to its end."""

    def begin(self, count: int | None) -> None:
        """Start; `count` rows will come, None if nobody knows."""
        ...

    def row(self, *, failed: bool) -> None:
        """Take note of one row."""
        ...

    def end(self) -> None:
        """All is over, or stopped."""
        ...


class Silent:
    """Says nothing."""

    def begin(self, count: int | None) -> None:
        """Start."""

    def row(self, *, failed: bool) -> None:
        """Take note of one row."""

    def end(self) -> None:
        """All is over."""


class Bar:
    """A bar of tqdm's, in the form that fits the place; it goes away at the end."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._bar: Any = None
        self._failed = 0

    def begin(self, count: int | None) -> None:
        """Show an empty bar."""
        self._bar = self._make(total=count, unit="row", leave=False, dynamic_ncols=True)

    def row(self, *, failed: bool) -> None:
        """Move the bar by one."""
        if failed:
            self._failed += 1
            self._bar.set_postfix(failed=str(self._failed), refresh=False)  # 100000, not 1e5
        self._bar.update()

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


class Ended:
    """Shows in a notebook what a bar leaves there, and nothing before."""

    def __init__(self) -> None:
        self._rows = self._failed = 0

    def begin(self, count: int | None) -> None:
        """Start."""

    def row(self, *, failed: bool) -> None:
        """Take note of one row."""
        self._rows += 1
        self._failed += failed

    def end(self) -> None:
        """Show how many rows there were."""
        from IPython.display import display

        display({"text/plain": _left(self._rows, self._failed)}, raw=True)


class Line:
    """A line on the error stream for every tenth of the rows, where there is no tqdm."""

    def __init__(self) -> None:
        self._count: int | None = None
        self._rows = self._failed = 0

    def begin(self, count: int | None) -> None:
        """Note how many will come."""
        self._count = count

    def row(self, *, failed: bool) -> None:
        """Say how far it is, now and then."""
        self._rows += 1
        self._failed += failed
        step = max(1, self._count // 10) if self._count else 100
        if self._rows % step == 0:
            of = f" of {self._count:,}" if self._count else ""
            print(f"{self._rows:,}{of} rows, {self._failed:,} failed", file=sys.stderr)  # noqa: T201

    def end(self) -> None:
        """Nothing is left to say."""


def progress_of(wanted: Any, model: Any) -> Progress:
    """Return who is told how far a batch is.

    Parameters
    ----------
    wanted
        See `Plan.progress`.
    model
        Who is asked; a replay shows no bar.
    """
    if wanted is not True:
        return wanted or Silent()
    is_replay = isinstance(model, RecordingModel) and model.mode == "replay"
    is_quiet = is_replay or _is_unattended()
    if is_quiet and not _in_notebook():
        return Silent()
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Silent() if is_quiet else Line()
    if is_quiet:
        return Ended()
    return Bar(_notebook_bar() if _in_notebook() else tqdm)


def _in_notebook() -> bool:
    """Whether this runs in a kernel: its own displays can be updated, and are saved."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


@functools.cache  # tqdm starts a thread for each class of bars, which never ends
def _notebook_bar() -> Callable[..., Any]:
    """Return a bar in one display of text, which ends as a line without times.

    tqdm's own for notebooks is a widget: of a closed one the saved notebook keeps an empty place
    with a name that differs each time.
    """
    from IPython.display import display
    from tqdm.std import tqdm

    class Shown(tqdm):  # type: ignore[misc]  # it carries no types
        def __init__(self, **options: Any) -> None:
            self._place: Any = None
            own = {"ncols": 80, "dynamic_ncols": False, "leave": True, "file": io.StringIO()}
            super().__init__(**{**options, **own})  # nothing goes to the error stream

        def display(self, msg: str | None = None, pos: int | None = None) -> bool:  # noqa: ARG002
            text = str(self) if msg is None else msg
            data = {"text/plain": text}
            if self._place is None:
                self._place = display(data, raw=True, display_id=True)
            else:
                self._place.update(data, raw=True)
            return True

        def close(self) -> None:
            if not self.disable:
                super().close()
                failed = str(self.postfix or "").rpartition("=")[2]
                self.display(_left(self.n, int(failed or 0)))

    return Shown


def _left(rows: int, failed: int) -> str:
    """Return what stays of a bar in a notebook."""
    return f"{rows:,} row{'' if rows == 1 else 's'}{f', failed={failed}' if failed else ''}"


def _is_unattended() -> bool:
    return any(os.environ.get(name) for name in _UNATTENDED)
