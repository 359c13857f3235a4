"""One event loop, to the HTTP client that all models share on it.

A client's connections belong to the loop on which they were made. Making a client costs about
20 ms (its table of certificates), so it is made once for each loop and shared by all models.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcell.errors import ConnectionFailed

if TYPE_CHECKING:
    import httpx2

MOST_CONNECTIONS = 1000
MOST_IDLE_CONNECTIONS = 100

_lock = threading.Lock()
_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Any, Any]] = (
    weakref.WeakKeyDictionary()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds that each part of an answer may take. An interrupt always ends it sooner.

    Parameters
    ----------
    connect
        Until the connection stands.
    first_byte
        From then to the answer's first byte. Long, since a model may think before it speaks.
    silence
        Between two pieces of an answer.
    """

    connect: float = 10.0
    first_byte: float = 300.0
    silence: float = 300.0

    def __post_init__(self) -> None:
        for name in ("connect", "first_byte", "silence"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise ValueError(f"{name} is {value!r}; a number of seconds above 0 was expected")

    @classmethod
    def of(cls, timeout: float | Timeouts | None) -> Timeouts:
        """Return `timeout`; a number is the longest wait for a first byte and for each next one."""
        if timeout is None:
            return cls()
        if isinstance(timeout, cls):
            return timeout
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
            raise TypeError(f"timeout is {timeout!r}; a number of seconds above 0 was expected")
        return cls(connect=min(10.0, timeout), first_byte=timeout, silence=timeout)


async def shared_client() -> httpx2.AsyncClient:
    """Return the running loop's client; it is closed when the loop ends."""
    loop = asyncio.get_running_loop()
    with _lock:
        client, _ = _clients.get(loop, (None, None))
    if client is None or client.is_closed:
        client = _new_client()
        keeper = _closed_with_its_loop(client)
        with _lock:
            _clients[loop] = (client, keeper)
        await anext(keeper)
    return client  # type: ignore[no-any-return]


async def _closed_with_its_loop(client: httpx2.AsyncClient) -> AsyncIterator[None]:
    """Close `client` when the loop shuts its asynchronous generators down.

    `asyncio.run` does so at its end. Without this, the connections that are kept open for the
    next call would be reported as leaked.
    """
    with contextlib.suppress(asyncio.CancelledError):
        try:
            yield
        finally:
            with _lock:  # else this generator, which knows its loop, would keep the loop alive
                _clients.pop(asyncio.get_running_loop(), None)
            await client.aclose()


def _new_client() -> httpx2.AsyncClient:
    import httpx2

    try:
        return httpx2.AsyncClient(
            follow_redirects=False,  # `transport.post` does, and takes no secret along
            limits=httpx2.Limits(
                max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_IDLE_CONNECTIONS
            ),
            # A proxy from the environment is for the outside; this machine is reached without.
            mounts=dict.fromkeys(("all://localhost", "all://127.0.0.1", "all://[::1]")),
        )
    except ImportError as error:  # the client's own words name another package
        raise ConnectionFailed(
            "ALL_PROXY or HTTPS_PROXY names a SOCKS proxy, for which a package is missing.",
            fix="run `pip install socksio`, or name an http proxy.",
        ) from error
    except (ValueError, OSError) as error:
        raise ConnectionFailed(
            f"No connection can be made with this environment's settings: {error}",
            fix="check HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE.",
        ) from error
