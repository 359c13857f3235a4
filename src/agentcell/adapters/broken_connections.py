"""What goes wrong between here and a service, in the HTTP client's words, to one of our errors."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from agentcell.adapters import failures
from agentcell.adapters.failures import Origin, one_line
from agentcell.errors import ConnectionFailed, ModelError, Timeout

if TYPE_CHECKING:
    from agentcell.adapters.connection import Timeouts

_LASTING = re.compile(r"CERTIFICATE|SSL|not known|nodename|No address|getaddrinfo", re.IGNORECASE)


def broken(  # noqa: PLR0911 (one for each way)
    error: Exception,
    origin: Origin,
    timeouts: Timeouts,
    limit: float,
    said: int | None = None,
) -> ModelError:
    """Return our error for the client's own, about a connection or a body.

    Parameters
    ----------
    limit
        Seconds of silence that were allowed.
    said
        Characters of the answer that had come; None if it had not begun.
    """
    import httpx2

    if isinstance(error, (httpx2.ConnectTimeout, httpx2.PoolTimeout)):
        reason = f"it did not stand within {timeouts.connect:g} seconds"
        return _not_reached(origin, reason, timed_out=True)
    if isinstance(error, (httpx2.ReadTimeout, httpx2.WriteTimeout)):
        return _silent(origin, limit)
    if isinstance(error, httpx2.LocalProtocolError):
        return failures.not_sendable(origin, str(error))
    if isinstance(error, httpx2.DecodingError):
        return failures.no_answer(origin, "a body that cannot be unpacked")
    if said is not None:
        return failures.truncated(origin, said)
    reason = failures.redacted(str(error), *origin.hidden) or type(error).__name__
    if isinstance(error, httpx2.ProxyError):
        return _proxy_refused(origin, reason)
    if isinstance(error, httpx2.ConnectError):
        return _not_reached(origin, reason)
    if isinstance(error, (httpx2.TooManyRedirects, httpx2.UnsupportedProtocol)):
        return failures.no_answer(origin, f"a redirect that leads nowhere ({reason})")
    return broken_off(origin, reason)


def never_left(cause: BaseException | None) -> bool:
    """Tell whether no byte of a request went out, by what the client raised.

    What may have come in the middle of a request counts as gone out: it may be paid for.

    Parameters
    ----------
    cause
        The client's own error; None: ours, from before there was a connection.
    """
    import httpx2

    return cause is None or isinstance(
        cause,
        (
            *(httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout),
            *(httpx2.ProxyError, httpx2.UnsupportedProtocol, httpx2.InvalidURL),
        ),
    )


def broken_off(origin: Origin, reason: str) -> ModelError:
    """Return the error about a connection that broke before an answer began."""
    return origin.error(
        ConnectionFailed,
        f"The connection to {origin.name} broke before an answer came: {one_line(reason)}",
        "run the cell again.",
        retryable=True,
        # At once: most often the service had just given up a connection that was kept open. (Seen
        # of llama.cpp's server after each streamed answer.)
        retry_after=0.0,
    )


def _silent(origin: Origin, seconds: float) -> ModelError:
    """Return the error about a service that said nothing for so long."""
    return origin.error(
        Timeout,
        f"{origin.name} said nothing for {seconds:g} seconds.",
        "run the cell again, or make the model with a longer timeout.",
        retryable=True,
    )


def _not_reached(origin: Origin, reason: str, *, timed_out: bool = False) -> ModelError:
    """Return the error about a connection that did not come about, or broke before an answer."""
    kind = Timeout if timed_out else ConnectionFailed
    problem = f"No connection to {origin.name} at {one_line(origin.address)}: {one_line(reason)}"
    fix = "check that you are online and that the address is right."
    if not origin.is_local and (names := _proxies()):
        fix = f"check that you are online, the address, and the proxy in {' and '.join(names)}."
    if origin.is_local:
        fix = "start the server there, or give its address with base_url=…"
    # Nobody listens on this machine, no such host, a certificate that is not trusted: waiting a
    # second changes none of them.
    lasting = (origin.is_local and not timed_out) or _LASTING.search(reason) is not None
    return origin.error(kind, problem, fix, retryable=not lasting)


def _proxy_refused(origin: Origin, reason: str) -> ModelError:
    """Return the error about a proxy that lets nothing through to the service."""
    return origin.error(
        ConnectionFailed,
        f"The proxy on the way to {origin.name} at {one_line(origin.address)} refused:"
        f" {one_line(reason)}",
        "check the address, user and password in HTTPS_PROXY or ALL_PROXY, or except the"
        " service's host in NO_PROXY.",
        retryable=re.match("5[0-9][0-9]", reason) is not None,
    )


def _proxies() -> list[str]:
    """Return the variables that name a proxy."""
    names = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
    return [name for name in names if os.environ.get(name) or os.environ.get(name.lower())]
