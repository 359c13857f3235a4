"""An interrupt of a person's → an interrupt that a notebook shows in one line.

Scripts and loops around us still see a `KeyboardInterrupt`; only the thirty lines of stack, which
say where a wait happened to be, are not shown under the cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agentcell.errors import Stopped


class Interrupted(KeyboardInterrupt):
    """The person stopped what was under way; a `KeyboardInterrupt` that is shown in one line.

    Parameters
    ----------
    problem
        When, and what became of it; read after ``Stopped:``.
    fix
        What to do now; may be empty.
    graph_run
        The `GraphRun` until then, where a graph was stopped.
    """

    def __init__(self, problem: str, *, fix: str = "", graph_run: Any = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.fix = fix
        self.graph_run = graph_run

    def __str__(self) -> str:
        return str(Stopped(self.problem, fix=self.fix))

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.problem,), self.__dict__)

    def _render_traceback_(self) -> list[str]:
        return Stopped(self.problem, fix=self.fix)._render_traceback_()


@contextmanager
def calmly(problem: str = "as you asked.", *, fix: str = "") -> Iterator[None]:
    """Let an interrupt inside be shown in one line.

    Parameters
    ----------
    problem, fix
        See `Interrupted`.

    Raises
    ------
    Interrupted
        In the place of another `KeyboardInterrupt`.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(problem, fix=fix) from None
