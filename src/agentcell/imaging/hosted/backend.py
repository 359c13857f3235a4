"""A wish → events of a job at a hosted media service: submitted once, then asked after."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import Any, ClassVar

from agentcell import keys
from agentcell.adapters.connection import Timeouts
from agentcell.assets.encoded import decode_text
from agentcell.errors import AttachmentError, GenerationFailed
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.download import Downloader
from agentcell.imaging.download_limits import DownloadLimits
from agentcell.imaging.events import Accepted, BackendEvent, Ended, Made, Progressed
from agentcell.imaging.hosted import encode, endings
from agentcell.imaging.hosted.answers import Item, Snapshot
from agentcell.imaging.hosted.client import TIMEOUTS, MediaClient
from agentcell.imaging.hosted.polling import states
from agentcell.imaging.hosted.service import (
    NAME,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    MediaService,
    found_service,
    needed_service,
)
from agentcell.imaging.hosted.states import Patience, outcome
from agentcell.imaging.wish import GenerationWish, Kind


class HostedMediaBackend(ImageBackend):
    """Pictures and clips by a hosted media service.

    Parameters
    ----------
    base_url, token
        None: from ``AGENTCELL_MEDIA_URL``, and from ``AGENTCELL_MEDIA_TOKEN`` or where else keys
        are kept.
    patience
        How long jobs are waited for.
    timeouts
        For each request.
    limits
        For its files.

    Notes
    -----
    A job is submitted with an idempotency key and never again by itself. Whatever happens after,
    it can be asked for by its request id, which costs nothing.
    """

    name: ClassVar[str] = NAME
    kinds: ClassVar[frozenset[Kind]] = frozenset({"image", "video"})
    known_models: ClassVar[tuple[str, ...]] = (
        "seedream-4-0-250828",
        "seedance-1-0-pro-fast-251015",
    )
    can_resume: ClassVar[bool] = True
    keeps_keys: ClassVar[bool] = True

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        *,
        patience: Patience | None = None,
        timeouts: Timeouts = TIMEOUTS,
        limits: DownloadLimits | None = None,
    ) -> None:
        self._base_url, self._token = base_url, token
        self._patience = patience or Patience()
        self._timeouts = timeouts
        self._limits = limits or DownloadLimits()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def is_at_hand(self) -> bool:
        """Whether an address and a token are set."""
        url = self._base_url or os.environ.get(URL_VARIABLE, "").strip()
        return bool(url) and (bool(self._token) or keys.is_at_hand((TOKEN_VARIABLE,)))

    def service(self) -> MediaService | None:
        """Return what is configured; None if nothing is. Errors as for `found_service`."""
        return found_service(self._base_url, self._token)

    def downloader(self) -> Downloader:
        """Return what fetches its files: from this machine only if the service is on it."""
        service = needed_service(self._base_url, self._token)
        return Downloader(limits=self._limits, loopback=service.is_here)

    def check(self, wish: GenerationWish) -> None:
        """Refuse what the service cannot make, or what cannot be sent to it.

        Parameters
        ----------
        wish
            What is asked for.

        Raises
        ------
        GenerationError
            What is wrong; nothing was sent.
        """
        super().check(wish)
        encode.check(wish)
        needed_service(self._base_url, self._token)

    async def run(self, wish: GenerationWish, *, key: str) -> AsyncGenerator[BackendEvent]:
        """Submit `wish` and yield what comes; see `ImageBackend.run`."""
        client = self._client()
        body = await asyncio.to_thread(encode.body_of, wish)
        first = await client.submit(encode.PATHS[wish.kind], body, key)
        yield Accepted(first.request_id)
        async with contextlib.aclosing(self._followed(client, first, wish.kind)) as events:
            async for event in events:
                yield event

    async def resume(self, request_id: str, wish: GenerationWish) -> AsyncGenerator[BackendEvent]:
        """Ask for a job that was accepted earlier; see `ImageBackend.resume`."""
        job = Snapshot(request_id=request_id, status="")
        async with contextlib.aclosing(self._followed(self._client(), job, wish.kind)) as events:
            async for event in events:
                yield event

    async def cancel(self, request_id: str) -> bool:
        """Ask the service to stop a job; False if it cannot.

        Parameters
        ----------
        request_id
            The service's own name of it.

        Raises
        ------
        ModelError
            If there is no answer.
        """
        return await self._client().cancel(request_id)

    async def models(self, *, include_upstream: bool = False) -> Any:
        """Return what the service says of its models; see `MediaClient.models`."""
        return await self._client().models(include_upstream=include_upstream)

    # -- within

    def _client(self) -> MediaClient:
        return MediaClient(needed_service(self._base_url, self._token), self._timeouts)

    async def _followed(
        self, client: MediaClient, job: Snapshot, kind: Kind
    ) -> AsyncGenerator[BackendEvent]:
        """Ask after a job until it is over; yield what it says, and what it has made."""
        patience, said = self._patience, ""
        watched = states(client, job, patience.budget(kind), patience)
        async with contextlib.aclosing(watched) as looks:
            async for look in looks:
                job = look
                if job.status != said:
                    said = job.status
                    yield Progressed(said)
        if outcome(said) == "failed":
            raise endings.gave_up(client.origin, job)
        if not job.media:
            raise endings.empty(client.origin, job)
        for item in job.media:
            yield await asyncio.to_thread(_made, item)
        yield Ended(model=job.model, cost=job.cost)


def _made(item: Item) -> Made:
    """Return one file; a small one may stand in its address itself."""
    kind: Kind = "video" if item.type.strip().lower().startswith("video") else "image"
    if item.url[:5].lower() != "data:":
        return Made(kind=kind, url=item.url, thumbnail_url=item.thumbnail_url)
    try:
        data = decode_text(item.url, DownloadLimits().image_bytes).data
    except AttachmentError as error:
        raise _unreadable() from error
    return Made(kind=kind, data=data)


def _unreadable() -> GenerationFailed:
    return GenerationFailed(
        "The media service sent a file within its answer that cannot be read.",
        fix="ask the service's support.",
        provider=NAME,
        is_billed=True,
    )
