"""What a job tells on its way, from the first word of its service to the files on disk."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from agentcell.errors import GenerationError

if TYPE_CHECKING:
    from agentcell.imaging.generation import Generation
    from agentcell.imaging.wish import Kind


@dataclass(frozen=True, slots=True)
class Planned:
    """The job is written down, and nothing is sent yet; always first.

    `job_id` is its name in the ledger, `price` US dollars that it will cost, None where nobody
    knows.
    """

    job_id: str
    backend: str
    price: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The service took the job; it may be paid for from now on.

    `request_id` is the service's own name of it, by which it can be asked for again; empty if it
    has none.
    """

    request_id: str


@dataclass(frozen=True, slots=True)
class Progressed:
    """How far it is: the service's word for it, and a part from 0 to 1 where one is told."""

    state: str
    part: float | None = None


@dataclass(frozen=True, slots=True)
class PartialImage:
    """A picture that is not finished, as the bytes of its file."""

    data: bytes = field(repr=False)
    index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One finished file: its bytes, or the address that it must be fetched from."""

    kind: Kind
    data: bytes | None = field(default=None, repr=False)
    url: str = field(default="", repr=False)  # it may be signed
    thumbnail_url: str = field(default="", repr=False)
    revised_prompt: str = ""
    model: str = ""
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The service is done. What it did not tell is None or empty."""

    model: str = ""
    cost: Decimal | None = None
    seed: int | None = None


BackendEvent: TypeAlias = Accepted | Progressed | PartialImage | Made | Ended
"""What a backend yields; `Ended` last, exactly once."""


@dataclass(frozen=True, slots=True)
class Saved:
    """One file is on disk, whole.

    `source_url` and `thumbnail_url` are where the service had it and a small copy of it, without
    what may be a signature; empty where it named no address.
    """

    path: Path
    index: int
    source_url: str = ""
    thumbnail_url: str = ""


@dataclass(frozen=True, slots=True)
class NotSaved:
    """One file of several could not be had; the others are kept."""

    index: int
    problem: str


@dataclass(frozen=True, slots=True)
class Generated:
    """All that could be saved is; always last."""

    generation: Generation


GenerationEvent: TypeAlias = (
    Planned | Accepted | Progressed | PartialImage | Saved | NotSaved | Generated
)
"""What `Generator.stream` yields to a magic, a panel or a tool."""


async def made_of(events: AsyncGenerator[GenerationEvent]) -> Generation:
    """Read a job's events to their end, and return what was made.

    Raises
    ------
    GenerationError
        If nothing was, and they say nothing of it. Other errors are those of the events.
    """
    made: Generation | None = None
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Generated):
                made = event.generation
    if made is None:
        raise GenerationError("The job came to no end.", fix="look at `%generate jobs`.")
    return made
