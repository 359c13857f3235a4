"""A command or an address of an MCP server → tools that a model can call."""

from __future__ import annotations

import asyncio
import difflib
import os
import re
import shlex
import sys
import threading
import weakref
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from agentcell.agents.mcp_link import Link, Place
from agentcell.agents.mcp_results import result_of
from agentcell.agents.tools import Tool
from agentcell.errors import ToolError
from agentcell.loop import LOOP

T = TypeVar("T")

_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64
_PYTHONS = {"python", "python3"}


class McpServer:
    """An MCP server, whose tools a model may call. It starts at its first use.

    It runs until `close`, until nothing refers to it any more, or until the kernel ends; a server
    that died is started again at its next use. What it writes to its log does not appear.

    Parameters
    ----------
    where
        The command that starts it, as one text or as a list of words, or its address
        (``http://`` or ``https://``, streamable HTTP). ``python`` means the Python that runs here.
    name
        What people call it; by default what it is called in `where`.
    env
        Environment variables for the command: a mapping, or names to pass on from here. Without
        it the server gets what every program needs (``PATH``, ``HOME``, …) and no keys.
    headers
        Sent with every request to the address.
    cwd
        The folder that the command starts in.
    timeout
        Seconds to wait for a tool's result.
    needs_approval
        Whether a person must allow each call.
    prefix
        Stands before each tool's name, to tell servers with the same tools apart.

    Raises
    ------
    ToolError
        If `where` is neither a command nor an address, or a variable of `env` is not set.

    Examples
    --------
    >>> McpServer("python server.py", name="files")
    McpServer('files', not running)
    """

    def __init__(  # noqa: PLR0913 (each is a fact of its own about the server)
        self,
        where: str | Sequence[str],
        *,
        name: str = "",
        env: Mapping[str, str] | Iterable[str] = (),
        headers: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        timeout: float = 120.0,
        needs_approval: bool = True,
        prefix: str = "",
    ) -> None:
        url, command = _where(where)
        self.name = name or _name(url, command)
        self.needs_approval = needs_approval
        self.prefix = prefix
        self._place = Place(
            name=self.name,
            command=command,
            url=url,
            env=_environment(env),
            headers=dict(headers or {}),
            cwd=None if cwd is None else os.fspath(cwd),
            timeout=timeout,
        )
        self._links = _Links(self._place)
        weakref.finalize(self, _Links.stop_soon, self._links).atexit = False

    def __repr__(self) -> str:
        state = "running" if self.is_running else "not running"
        return f"McpServer({self.name[:80]!r}, {state})"

    @property
    def is_running(self) -> bool:
        """Whether there is a connection to it."""
        link = self._links.current
        return link is not None and link.is_open

    def as_tools(self) -> list[Tool]:
        """Return the server's tools, started if need be.

        Raises
        ------
        ToolServerFailed
            If it cannot be started or reached, or says nothing.
        """
        found = LOOP.run(self._links.link().tools())
        return [self._tool(one) for one in found]

    def __getitem__(self, name: str) -> Tool:
        """Return one of the server's tools by its name.

        Raises
        ------
        ToolError
            If it has none of that name.
        """
        tools = {tool.name: tool for tool in self.as_tools()}
        for wanted in (name, self.prefix + name, _usable(self.prefix + name)):
            if wanted in tools:
                return tools[wanted]
        close = difflib.get_close_matches(name, tools, n=1)
        raise ToolError(
            f"MCP server '{self.name}' has no tool {name[:80]!r}.",
            fix=f"did you mean {close[0]}?"
            if close
            else f"it has {', '.join(tools)[:300] or 'none'}.",
        )

    def close(self) -> None:
        """End the server, if it was started here, and the connection; a later use starts anew."""
        link = self._links.current
        if link is not None:
            LOOP.run(link.stop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _tool(self, told: Any) -> Tool:
        links, server, original = self._links, self.name, told.name

        async def call(**arguments: Any) -> Any:
            result = await _on_our_loop(links.link().call(original, arguments))
            return result_of(server, original, result)

        schema = told.input_schema or {}
        parameters = {key: value for key, value in schema.items() if key != "$schema"}
        return Tool(
            name=_usable(self.prefix + original),
            description=told.description or told.title or "",
            parameters={"type": "object", "properties": {}, **parameters},
            function=call,
            needs_approval=self.needs_approval,
        )


class _Links:
    """The server's connection; one that belongs to a loop that ended is left behind."""

    def __init__(self, place: Place) -> None:
        self.current: Link | None = None
        self._place = place
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def link(self) -> Link:
        with self._lock:
            loop = LOOP.loop()
            if self.current is None or self._loop is not loop:
                self.current, self._loop = Link(self._place), loop
            return self.current

    def stop_soon(self) -> None:
        """End the server without waiting: nothing refers to it any more."""
        link, loop = self.current, self._loop
        if link is not None and loop is not None and link.is_open and not loop.is_closed():
            asyncio.run_coroutine_threadsafe(link.stop(), loop)


async def _on_our_loop(work: Coroutine[Any, Any, T]) -> T:
    loop = LOOP.loop()
    if asyncio.get_running_loop() is loop:
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


def _where(where: object) -> tuple[str, tuple[str, ...]]:
    """Return an address, or a command as words."""
    words: list[str] = []
    if isinstance(where, str):
        if where.strip().lower().startswith(("http://", "https://")):
            return where.strip(), ()
        try:
            words = shlex.split(where, posix=os.name != "nt")
        except ValueError as error:
            raise ToolError(
                f"The command {where[:80]!r} cannot be read: {error}.",
                fix="give it as a list of words.",
            ) from None
    elif isinstance(where, Sequence) and all(
        isinstance(word, (str, os.PathLike)) for word in where
    ):
        words = [os.fspath(word) for word in where]
    if not words:
        raise ToolError(
            f"{str(where)[:80]!r} was given for an MCP server; a command or an address was"
            " expected.",
            fix='write McpServer("python server.py") or McpServer("http://127.0.0.1:8000/mcp").',
        )
    if words[0] in _PYTHONS:
        words[0] = sys.executable
    return "", tuple(words)


def _name(url: str, command: Sequence[str]) -> str:
    if url:
        return urlsplit(url).netloc.rpartition("@")[2] or "server"
    plain = (
        word for word in reversed(command[1:]) if word[:1] != "-" and not re.search(r"\s", word)
    )
    named = next(plain, command[0])
    return os.path.basename(named).removesuffix(".py") or "server"  # noqa: PTH119 (may be no path)


def _environment(given: Mapping[str, str] | Iterable[str]) -> dict[str, str]:
    if isinstance(given, Mapping):
        return {str(name): str(value) for name, value in given.items()}
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in os.environ:
            raise ToolError(
                f"The variable {name[:80]} is to be passed on to an MCP server, but is not set.",
                fix=f"set it, or give its value: env={{{name[:80]!r}: …}}.",
            )
    return {name: os.environ[name] for name in names}


def _usable(name: str) -> str:
    return _UNUSABLE.sub("_", name)[:_LONGEST_NAME] or "tool"
