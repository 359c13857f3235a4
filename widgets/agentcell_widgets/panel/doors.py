"""A panel's methods -> which of them answers what a page asks, and with what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def handles(kind: str, *, at_once: bool = False) -> Callable[[_F], _F]:
    """Mark the method that answers messages of a kind.

    It is called with the `Message`, in a thread or, if it is a coroutine function, on
    `agentcell.loop.LOOP`; never in the shell's thread, so a cell may be running meanwhile. What it
    returns, a dict or None, answers the page; so does an `AgentcellError` that it raises. A
    `Payload` carries bytes as well.

    Parameters
    ----------
    kind
        As the page sends it.
    at_once
        Whether it runs beside the messages before it, rather than after them: for what stops.
    """

    def mark(method: _F) -> _F:
        method._handles = (kind, at_once)  # type: ignore[attr-defined]  # noqa: SLF001
        return method

    return mark


ANSWERED: Any = object()
"""What a handler returns that has sent its answer itself."""


class Payload(dict[str, Any]):
    """An answer's payload that bytes go with.

    Parameters
    ----------
    payload
        By names.
    buffers
        The bytes; the page gets them as `DataView`s beside the payload.
    """

    def __init__(self, payload: Mapping[str, Any], buffers: Sequence[bytes] = ()) -> None:
        super().__init__(payload)
        self.buffers = list(buffers)


def doors_of(panel: type) -> dict[str, tuple[str, bool]]:
    """Return the methods that answer, and whether at once, by the kinds of messages.

    Parameters
    ----------
    panel
        Its class; what those that it derives from answer is among it.
    """
    return {
        kind: (name, at_once)
        for base in reversed(panel.__mro__)
        for name, value in vars(base).items()
        if (marked := getattr(value, "_handles", None))
        for kind, at_once in [marked]
    }


def buffers_of(payload: Mapping[str, Any] | None) -> list[bytes]:
    """Return the bytes that go with a payload.

    Parameters
    ----------
    payload
        Of an answer or an event.
    """
    return payload.buffers if isinstance(payload, Payload) else []
