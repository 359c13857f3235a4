"""A maker of pictures, to what it does against the protocol of `agentcell.imaging.backend`.

For tests of a backend of one's own::

    check_image_backend(lambda: MyBackend(base_url=server.url), GenerationWish(prompt="a fox"))
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from dataclasses import replace

from agentcell.errors import AgentcellError, GenerationError
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.events import Accepted, BackendEvent, Ended, Made, PartialImage, Progressed
from agentcell.imaging.wish import GenerationWish, Kind

_EVENTS = (Accepted, Progressed, PartialImage, Made, Ended)


def check_image_backend(make: Callable[[], ImageBackend], wish: GenerationWish) -> None:
    """Raise `AssertionError`, with a sentence, if a backend breaks the protocol.

    Parameters
    ----------
    make
        Returns a new one; called several times.
    wish
        What it can make. It is made once.

    Raises
    ------
    AssertionError
        Saying what is wrong.
    """
    backend = make()
    _demand(isinstance(backend, ImageBackend), "it is no subclass of ImageBackend")
    _demand(bool(backend.name) and "/" not in backend.name, "its name is empty or holds a slash")
    _demand(bool(backend.kinds), "it makes nothing: kinds is empty")
    _demand(isinstance(backend.is_at_hand(), bool), "is_at_hand returns no bool")
    _check_refusals(backend, wish)
    backend.check(wish)
    price = backend.price(wish)
    _demand(price is None or price >= 0, f"its price is {price}")
    _demand(not backend.is_free or price == 0, "it is free, and has a price")
    _check_events(asyncio.run(_all_events(backend, wish)), wish)
    _check_resume(make(), wish)


def _check_refusals(backend: ImageBackend, wish: GenerationWish) -> None:
    others: list[Kind] = ["image", "video"]
    for kind in others:
        if kind in backend.kinds:
            continue
        other = replace(
            wish, kind=kind, count=1, size="", seconds=None, aspect="", references=(), mask=None
        )
        try:
            backend.check(other)
        except GenerationError:
            continue
        raise AssertionError(f"check takes a {kind}, which is not among its kinds")


async def _all_events(backend: ImageBackend, wish: GenerationWish) -> list[BackendEvent]:
    before = copy.deepcopy(wish)
    source = backend.run(wish, key="conformance")
    _demand(hasattr(source, "__aiter__"), "run returns no asynchronous iterator")
    events = [event async for event in source]
    _demand(before == wish, "run changes the wish")
    return events


def _check_events(events: list[BackendEvent], wish: GenerationWish) -> None:
    strange = [type(one).__name__ for one in events if not isinstance(one, _EVENTS)]
    _demand(not strange, f"run yields {', '.join(strange)}, which are no events of a backend")
    ends = [number for number, one in enumerate(events) if isinstance(one, Ended)]
    _demand(ends == [len(events) - 1], "Ended is not the last event, exactly once")
    made = [one for one in events if isinstance(one, Made)]
    _demand(len(made) == wish.count, f"{len(made)} files were made; {wish.count} were wished")
    for one in made:
        _demand(one.kind == wish.kind, f"a {one.kind} was made; a {wish.kind} was wished")
        _demand(
            (one.data is None) == bool(one.url), "a file has neither bytes nor an address, or both"
        )
    taken = [number for number, one in enumerate(events) if isinstance(one, Accepted)]
    first = next((number for number, one in enumerate(events) if isinstance(one, Made)), 0)
    _demand(not taken or taken[0] < first, "Accepted comes after the first file")
    for told in events:
        if isinstance(told, Progressed) and told.part is not None:
            _demand(0 <= told.part <= 1, f"progress is {told.part}; 0 to 1 was expected")


def _check_resume(backend: ImageBackend, wish: GenerationWish) -> None:
    if backend.can_resume:
        return

    async def begun() -> None:
        async for _ in backend.resume("conformance", wish):
            return

    try:
        asyncio.run(begun())
    except AgentcellError:
        return
    raise AssertionError("can_resume is False, and resume yields something")


def _demand(holds: bool, problem: str) -> None:
    if not holds:
        raise AssertionError(problem)
