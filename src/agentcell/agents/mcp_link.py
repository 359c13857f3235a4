"""How an MCP server is reached → a connection on agentcell's own loop, opened anew if it broke.

Sizes and behaviour of the `mcp` package as in its release 2.3, read 2026-11-30.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from agentcell.errors import ToolError, ToolServerFailed
from agentcell.loop import LOOP
from agentcell.safe_text import plain

START_SECONDS = 30.0
"""How long a server may take to start and to say what it can do."""

_MOST_LOG = 1_000_000
"""Bytes of a server's log that are kept while it runs; only the end is ever shown."""

_LOG_LINES = 2
_LOG_SHOWN = 300
_SHORTEST_SECRET = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """How a server is reached.

    Parameters
    ----------
    name
        What people call it.
    command
        What starts it, as words; empty for one that is reached by `url`.
    url
        Where it listens.
    env
        Environment variables that it gets beside the few that every program needs.
    headers
        Sent with every request to `url`.
    cwd
        The folder that it starts in.
    timeout
        Seconds to wait for a result.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    timeout: float = 120.0

    def without_secrets(self, text: str) -> str:
        """Return a text without the values that only this server is to know."""
        for value in (*self.env.values(), *self.headers.values()):
            if len(value) >= _SHORTEST_SECRET:
                text = text.replace(value, "…")
        return text


class Link:
    """One connection, opened at its first use and again after it broke.

    Its coroutines run on `LOOP` alone.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._client: Any = None
        self._keeper: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._opening = asyncio.Lock()
        self._log: IO[bytes] | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._keeper is not None and not self._keeper.done()

    async def tools(self) -> list[Any]:
        """Return the server's tools as it tells them; one that died meanwhile is started anew."""
        was_open = self.is_open
        try:
            return await self._tools()
        except ToolServerFailed:
            if not was_open:
                raise
        return await self._tools()

    async def _tools(self) -> list[Any]:
        client = await self._opened()
        found: list[Any] = []
        cursor = None
        while True:
            page = await self._asked(client.list_tools(cursor=cursor))
            found += page.tools
            cursor = page.next_cursor
            if not cursor:
                return found

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return the result of one tool. It is not called again if the server fails meanwhile."""
        client = await self._opened()
        return await self._asked(client.call_tool(name, dict(arguments)))

    async def stop(self) -> None:
        """End the connection, and the server if it was started here."""
        keeper, self._keeper, self._client = self._keeper, None, None
        if keeper is not None:
            self._closing.set()
            await asyncio.wait([keeper])

    async def _opened(self) -> Any:
        async with self._opening:
            if not self.is_open:
                self._closing = asyncio.Event()
                ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
                self._keeper = asyncio.create_task(self._keep(ready, self._closing))
                _OPEN.add(self)
                try:
                    async with asyncio.timeout(START_SECONDS):
                        self._client = await asyncio.shield(ready)
                except BaseException as problem:
                    await self._given_up()
                    if isinstance(problem, TimeoutError):
                        raise self._failed(f"said nothing for {START_SECONDS:.0f} s") from None
                    raise
            return self._client

    async def _given_up(self) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None and not keeper.done():
            keeper.cancel()
            await asyncio.wait([keeper])

    async def _keep(self, ready: asyncio.Future[Any], closing: asyncio.Event) -> None:
        """Hold the connection: what opens it must close it, in the same task."""
        try:
            from mcp.client.client import Client

            async with contextlib.AsyncExitStack() as stack:
                transport = await self._transport(stack)
                client = await stack.enter_async_context(
                    Client(transport, read_timeout_seconds=self.place.timeout, cache=None)
                )
                ready.set_result(client)
                await closing.wait()
        except Exception as problem:  # noqa: BLE001 (whatever it is, whoever waits is told)
            if not ready.done():
                is_missing = isinstance(problem, ModuleNotFoundError)
                fix = "run pip install 'agentcell[tools]' and start the kernel anew."
                ready.set_exception(self._failed(_why(problem), fix if is_missing else ""))
                ready.exception()  # it may be that nobody waits any more
        finally:
            if not ready.done():
                ready.cancel()
            _OPEN.discard(self)
            if self._log is not None:
                self._log.close()
                self._log = None

    async def _transport(self, stack: contextlib.AsyncExitStack) -> Any:
        logging.getLogger("mcp").addHandler(logging.NullHandler())  # the cell is no place for it
        place = self.place
        if place.url:
            from mcp.client.streamable_http import streamable_http_client
            from mcp.shared._httpx_utils import create_mcp_http_client

            web = create_mcp_http_client(headers=dict(place.headers))
            await stack.enter_async_context(web)
            return streamable_http_client(place.url, http_client=web)
        from mcp.client.stdio import StdioServerParameters, stdio_client

        self._log = tempfile.TemporaryFile("a+b")  # noqa: SIM115 (closed by whoever keeps it)
        command, *arguments = place.command
        parameters = StdioServerParameters(
            command=command, args=arguments, env=dict(place.env), cwd=place.cwd
        )
        return stdio_client(parameters, errlog=self._log)  # type: ignore[arg-type]

    async def _asked(self, request: Any) -> Any:
        """Wait for an answer; a server that is gone is told as such, and started at next use."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

        if self._log is not None and os.fstat(self._log.fileno()).st_size > _MOST_LOG:
            self._log.truncate(0)
        try:
            return await request
        except MCPError as problem:
            if problem.error.code == REQUEST_TIMEOUT:
                raise ToolError(
                    f"MCP server '{self.place.name}' gave no result in {self.place.timeout:g} s.",
                    fix="ask for less at once, or give McpServer a longer timeout.",
                ) from problem
            if problem.error.code != CONNECTION_CLOSED and not self.place.url:
                raise ToolError(f"MCP server '{self.place.name}': {problem}") from problem
            why = _why(problem)
        except (OSError, EOFError) as problem:
            why = _why(problem)
        except Exception as problem:
            if type(problem).__module__.split(".")[0] not in {"anyio", "httpx2"}:
                raise
            why = _why(problem)
        failed = self._failed(why)
        await self.stop()
        raise failed

    def _failed(self, why: str, fix: str = "") -> ToolServerFailed:
        log = self._last_words()
        said = f" It said last: {log}" if log else ""
        place = self.place
        if not fix:
            fix = (
                f"check that it listens at {place.url}."
                if place.url
                else f"check that this runs in a terminal: {shlex.join(place.command)[:160]}"
            )
        problem = f"MCP server '{place.name}' {why}.{said}"
        return ToolServerFailed(place.without_secrets(problem), fix=place.without_secrets(fix))

    def _last_words(self) -> str:
        if self._log is None:
            return ""
        self._log.seek(max(0, os.fstat(self._log.fileno()).st_size - 4 * _LOG_SHOWN))
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return plain(" / ".join(line.strip() for line in lines[-_LOG_LINES:]))[-_LOG_SHOWN:]


_OPEN: set[Link] = set()
"""Links whose server may run."""


def _why(problem: BaseException) -> str:
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    if isinstance(problem, ModuleNotFoundError):
        return (
            f"cannot be asked: the package {str(problem.name).partition('.')[0]} is not installed"
        )
    if isinstance(problem, FileNotFoundError):
        return "cannot be started: there is no such program"
    if isinstance(problem, PermissionError):
        return "cannot be started: it may not be run"
    said = str(problem).strip() or type(problem).__name__
    if "closed" in said.lower():
        return "ended before it answered"
    return f"failed: {said.splitlines()[0][:200]}"


@atexit.register
def _stop_all() -> None:
    """At the process's end: no server stays behind."""
    if _OPEN:

        async def stop() -> None:
            await asyncio.gather(*(link.stop() for link in tuple(_OPEN)), return_exceptions=True)

        with contextlib.suppress(Exception, KeyboardInterrupt):
            LOOP.run(stop())
