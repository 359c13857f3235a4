"""Attachments that are to go up, to their copies at the service: those that are there, or new."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agentcell.adapters.events import Retrying
from agentcell.adapters.prepared import Prepared
from agentcell.adapters.upload_failures import about, tried
from agentcell.adapters.upload_store import UPLOADS, Upload, account_of, kept
from agentcell.assets.asset import MediaAsset
from agentcell.errors import ModelError

AT_ONCE = 4
"""Files of one question that go up at the same moment."""

_LOOK = 0.02
"""Seconds between looks at an upload that another thread has under way."""


class FileService(Protocol):
    """What takes files; see `agentcell.adapters.uploads.UploadsFiles`."""

    async def put_file(self, asset: MediaAsset, prepared: Prepared) -> tuple[Upload, bool]:
        """Send one file; return its copy, and whether that can be asked about already."""
        ...

    async def settle_file(self, upload: Upload, prepared: Prepared) -> None:
        """Wait until a file that was sent can be asked about."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Sends the files of one question; each content once, whoever else is sending it.

    Parameters
    ----------
    prepared
        Whom to send to, and how patiently.
    folder
        Where copies are remembered, besides in this process; or None.
    """

    service: FileService
    prepared: Prepared
    folder: Path | None

    @property
    def account(self) -> str:
        """Whose files they are."""
        return account_of(self.prepared.origin)

    async def send(
        self, chosen: Mapping[str, MediaAsset], files: dict[str, Upload]
    ) -> AsyncGenerator[Retrying | str]:
        """Yield each retry, and the digest of each file that was there before.

        Parameters
        ----------
        chosen
            The attachments by digest.
        files
            Filled with their copies; what it holds already is not sent.

        Raises
        ------
        ModelError
            If one cannot be sent; the others are then given up.
        """
        steps: asyncio.Queue[Retrying | str | None] = asyncio.Queue()
        places = asyncio.Semaphore(AT_ONCE)

        async def one(digest: str, asset: MediaAsset) -> None:
            async with places:
                files[digest] = await self._copy(digest, asset, steps.put_nowait)

        async def each() -> None:
            async with asyncio.TaskGroup() as group:
                for digest, asset in chosen.items():
                    if digest not in files:
                        group.create_task(one(digest, asset))

        work = asyncio.create_task(each())
        work.add_done_callback(lambda _: steps.put_nowait(None))
        try:
            while (step := await steps.get()) is not None:
                yield step
            try:
                await work
            except BaseExceptionGroup as group:
                raise group.exceptions[0] from group.exceptions[0].__cause__
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _copy(
        self, digest: str, asset: MediaAsset, tell: Callable[[Retrying | str], None]
    ) -> Upload:
        """Return the copy of `asset`; made now, unless it is there or another is making it."""
        while True:
            if known := await kept(self.folder, UPLOADS.find, self.account, digest):
                tell(digest)
                return known
            flight, own = UPLOADS.take_off(self.account, digest)
            if own:
                break
            while not flight.landed:  # noqa: ASYNC110 (it lands in another thread, perhaps)
                await asyncio.sleep(_LOOK)
            if flight.error is not None:
                raise copy.copy(flight.error)
        failure: Exception | None = None
        try:
            # Another may have landed between the look for it and the take-off.
            if known := await kept(self.folder, UPLOADS.find, self.account, digest):
                tell(digest)
                return known
            upload = await self._sent(asset, tell)
        except ModelError as error:
            failure = about(error, asset, self.prepared.origin)
            raise failure from error.__cause__
        else:
            return upload
        finally:
            UPLOADS.land(self.account, digest, failure)

    async def _sent(self, asset: MediaAsset, tell: Callable[[Retrying | str], None]) -> Upload:
        service, prepared = self.service, self.prepared
        upload, settled = await tried(lambda: service.put_file(asset, prepared), prepared, tell)
        if not settled:
            await service.settle_file(upload, prepared)
        await kept(self.folder, UPLOADS.keep, self.account, upload)
        return upload
