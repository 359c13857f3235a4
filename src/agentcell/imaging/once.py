"""Tools that cost money → the same tools, of which one call is let through."""

from __future__ import annotations

import inspect
import threading
from dataclasses import replace
from typing import Any

from agentcell.agents.calls import failed
from agentcell.agents.threads import in_thread
from agentcell.agents.tools import Tool
from agentcell.errors import (
    AttachmentError,
    BudgetExceeded,
    GenerationError,
    Stopped,
    ToolError,
)

BILLED = frozenset(
    ("media_generate_image", "media_generate_video", "image_generation", "video_generation")
)
"""Tools of this package that cost money."""

_NOTHING_SENT = (AttachmentError, BudgetExceeded, GenerationError, Stopped, ToolError)
"""Errors that are raised before a request."""


class Once:
    """Lets one paid request through, for one delegation. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: list[str] = []
        self.was_sent = False

    def guard(self, tool: Tool) -> Tool:
        """Return `tool`, refused once a paid request was sent by it or by another.

        Whoever may call it has been asked already, so nobody is asked again.

        Parameters
        ----------
        tool
            Not changed.
        """

        async def once(*args: Any, **kwargs: Any) -> Any:
            self._take(tool.name)
            try:
                result = await _called(tool, args, kwargs)
            except BaseException as error:
                if isinstance(error, _NOTHING_SENT) or getattr(error, "is_billed", True) is False:
                    self.was_sent = False
                else:
                    self._results.append(str(failed(error).content))
                raise
            self._results.append(str(result))
            return result

        return replace(tool, function=once, needs_approval=False)

    def told(self) -> str:
        """Return what came of the paid request, as its tool told it."""
        if self._results:
            return "\n".join(["From the tool itself:", *self._results])
        return "No paid request was sent."

    def _take(self, name: str) -> None:
        with self._lock:
            if self.was_sent:
                raise ToolError(
                    f"'{name}' was not called: a request that costs money was sent already, and"
                    " one task sends no second one.",
                    fix="report what came of the first; the person decides what to do next.",
                )
            self.was_sent = True


async def _called(tool: Tool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(tool.function):
        return await tool.function(*args, **kwargs)
    result = await in_thread(tool.function, *args, **kwargs)
    return await result if inspect.isawaitable(result) else result
