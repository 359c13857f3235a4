"""The running cell, to whether a text in it was typed there by the person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentcell_magics.cells import request_code

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class TypedCells:
    """Knows what a person typed into the cell that runs, whatever code in it runs as a cell.

    A program may call `%%agent` with any text; only a front end says what was typed. Where there
    is a kernel, that is the request; in a console, the outermost cell.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._running: list[str] = []

    def watch(self) -> None:
        """Follow which cell runs; a second time does nothing."""
        self.stop()
        self._shell.events.register("pre_run_cell", self._begin)
        self._shell.events.register("post_run_cell", self._end)

    def stop(self) -> None:
        """Follow no more."""
        for event, callback in (("pre_run_cell", self._begin), ("post_run_cell", self._end)):
            if callback in self._shell.events.callbacks[event]:
                self._shell.events.unregister(event, callback)
        self._running.clear()

    def holds(self, text: str) -> bool:
        """Whether the person typed `text` into the cell that runs.

        Parameters
        ----------
        text
            A part of a question.
        """
        return text in self.code

    @property
    def code(self) -> str:
        """What the person typed into the cell that runs; empty where nobody did."""
        code = request_code(self._shell)
        if code is None:
            code = self._running[0] if self._running else ""
        return code

    def _begin(self, info: Any) -> None:
        self._running.append(info.raw_cell or "")

    def _end(self, _: Any) -> None:
        if self._running:  # the cell that loads the extension ends without having begun
            self._running.pop()
