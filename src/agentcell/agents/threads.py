"""A sync function → its result, awaited, without holding up the loop or the process's end."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from agentcell.agents.untellable import told
from agentcell.errors import ToolError

T = TypeVar("T")


async def in_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run `function` in a thread of its own and return its result.

    A cancelled caller goes on at once; the function itself cannot be stopped. Its thread is a
    daemon: unlike those of `asyncio.to_thread` it does not keep a kernel from ending.

    Parameters
    ----------
    function, args, kwargs
        What is called; what it prints goes to the cell that the caller runs for.

    Raises
    ------
    Exception
        What the function raised; an exit or an interrupt in it becomes a `ToolError`.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[tuple[Any, Exception | None]] = loop.create_future()
    context = contextvars.copy_context()

    def tell(result: Any, error: Exception | None) -> None:
        if not ended.done():
            ended.set_result((result, error))

    def work() -> None:
        result, error = None, None
        try:
            result = context.run(function, *args, **kwargs)
        except Exception as raised:  # noqa: BLE001 (handed over whole to the caller)
            error = raised
        except BaseException as raised:  # noqa: BLE001 (it would end the loop, and all that runs)
            error = ToolError(f"The function ended with {type(raised).__name__}: {raised}")
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits
            loop.call_soon_threadsafe(tell, result, error)

    threading.Thread(target=work, name="agentcell-tool", daemon=True).start()
    result, error = await ended
    if error is not None:
        raise error
    return result


async def without_exit(result: Awaitable[T]) -> T:
    """Wait for what an async function of anyone's returns; no exit or interrupt leaves it.

    Raises
    ------
    Exception
        What the function raised; an exit or an interrupt in it becomes a `ToolError`.
    """
    try:
        return await result
    except (KeyboardInterrupt, SystemExit) as raised:
        raise ToolError(f"The function ended with {told(raised)}") from None
