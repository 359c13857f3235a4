"""An address that a service gave → a file on disk, of a type that is looked for, or an error.

Nothing of what comes is believed: where the address leads (see `addresses`), how much it is, or
what it is called. No text holds more of an address than its scheme and host: its path and query
may be a signature.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from agentcell.adapters.retry import retry_after_seconds
from agentcell.errors import DownloadError
from agentcell.imaging import addresses
from agentcell.imaging.addresses import Address, Resolve
from agentcell.imaging.download_limits import DownloadLimits
from agentcell.imaging.media_type import HEAD_BYTES, MediaType, media_type
from agentcell.imaging.placing import Part, PartWriter

if TYPE_CHECKING:
    import ssl

    import httpx2

_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING = (408, 425, 429, 500, 502, 503, 504)
_FOUND = 200


class Downloader:
    """Fetches files that a service made. Holds nothing open; may be shared.

    Parameters
    ----------
    limits
        How much and how long.
    loopback
        Whether this machine may be asked, by http too: only where the service itself is on it.
        From a public machine no way leads here all the same.
    resolve
        Looks names up; the system's way by default.
    transport
        Makes what carries requests; by default connections of our own, without a proxy: which
        machine is asked must be decided here.
    """

    def __init__(
        self,
        *,
        limits: DownloadLimits | None = None,
        loopback: bool = False,
        resolve: Resolve | None = None,
        transport: Callable[[], httpx2.AsyncBaseTransport] | None = None,
    ) -> None:
        self.limits = limits or DownloadLimits()
        self.loopback = loopback
        self._resolve = resolve
        self._transport = transport or _own_transport

    def __repr__(self) -> str:
        return f"Downloader(loopback={self.loopback})"

    async def fetch(self, url: str, folder: Path) -> Part:
        """Return the file at `url`, whole and on disk, still without a name.

        An interrupt or an error leaves nothing behind.

        Parameters
        ----------
        url
            As a service gave it.
        folder
            Where the file is to lie; made when the first bytes are what they should be.

        Raises
        ------
        DownloadError
            If the address may not be fetched, does not answer, or leads to something else than a
            picture or a clip of the size that is allowed.
        """
        limits = self.limits
        begun: list[PartWriter] = []
        try:
            async with asyncio.timeout(limits.total):
                return await self._patiently(url, folder, begun)
        except TimeoutError:
            _drop(begun)
            raise DownloadError(
                f"The download from {addresses.checked(url, loopback=self.loopback)} took longer"
                f" than {limits.total:g} seconds.",
                fix="try again, or allow more: DownloadLimits(total=…).",
            ) from None
        except BaseException:
            _drop(begun)
            raise

    async def _patiently(self, url: str, folder: Path, begun: list[PartWriter]) -> Part:
        """Try as often as the limits allow, where the failure may pass."""
        limits = self.limits
        for attempt in range(limits.retries + 1):
            try:
                return await self._once(url, folder, begun)
            except _Passing as passing:
                _drop(begun)
                wait = limits.first_wait * 2**attempt if passing.wait is None else passing.wait
                if attempt == limits.retries or wait > limits.longest_wait:
                    raise passing.error from None
            await asyncio.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _once(self, url: str, folder: Path, begun: list[PartWriter]) -> Part:
        import httpx2

        address = addresses.checked(url, loopback=self.loopback)
        may_be_here = self.loopback
        client = httpx2.AsyncClient(
            transport=self._transport(), trust_env=False, follow_redirects=False
        )
        async with client:
            for _ in range(self.limits.redirects + 1):
                machines = await addresses.machines(
                    address, loopback=may_be_here, resolve=self._resolve
                )
                may_be_here = may_be_here and addresses.is_loopback(machines[0])
                answer = await self._answer(client, address, machines)
                try:
                    if answer.status_code not in _REDIRECTS:
                        return await self._saved(answer, address, folder, begun)
                    url = addresses.joined(
                        f"{address}{address.target}", answer.headers.get("location", "")
                    )
                finally:
                    await answer.aclose()
                address = addresses.checked(url, loopback=may_be_here)
        raise DownloadError(
            f"The way to the file leads on more than {self.limits.redirects} times.",
            fix="tell the service that gave the address.",
        )

    async def _answer(
        self, client: httpx2.AsyncClient, address: Address, machines: tuple[str, ...]
    ) -> httpx2.Response:
        """Ask the first machine that takes a connection."""
        import httpx2

        for machine in machines:
            request = self._request(address, machine)
            try:
                return await client.send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = f"cannot be reached ({_word(error)})"
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                failure = f"did not answer ({_word(error)})"
                break
        raise _Passing(DownloadError(f"{address} {failure}.", fix="try again."))

    def _request(self, address: Address, machine: str) -> httpx2.Request:
        import httpx2

        limits = self.limits
        waits = {"connect": limits.connect, "pool": limits.connect}
        waits |= {"read": limits.idle, "write": limits.idle}
        return httpx2.Request(
            "GET",
            address.at(machine),
            headers={
                "host": address.netloc,
                "accept": "image/*, video/*",
                "accept-encoding": "identity",
                "user-agent": "agentcell",
            },
            # The certificate must be the name's, although a number is asked.
            extensions={"timeout": waits, "sni_hostname": address.host},
        )

    async def _saved(
        self, answer: httpx2.Response, address: Address, folder: Path, begun: list[PartWriter]
    ) -> Part:
        import httpx2

        self._check_head(answer, address)
        try:
            await self._written(answer, address, folder, begun)
            return await asyncio.to_thread(begun[-1].finish)
        except httpx2.HTTPError as error:
            problem = f"The file from {address} broke off ({_word(error)}); nothing of it is kept."
            raise _Passing(DownloadError(problem, fix="try again.")) from None
        except OSError as error:
            raise DownloadError(
                f"The file from {address} cannot be written to '{folder.name}':"
                f" {error.strerror or type(error).__name__}.",
                fix="make room or leave to write there, then try again.",
            ) from error

    async def _written(
        self, answer: httpx2.Response, address: Address, folder: Path, begun: list[PartWriter]
    ) -> None:
        """Write the file as it comes; none is begun before its type is known."""
        head, most = bytearray(), 0
        writer: PartWriter | None = None
        async with contextlib.aclosing(answer.aiter_raw()) as pieces:
            async for piece in pieces:
                data = piece
                if writer is None:
                    head += piece
                    if len(head) < HEAD_BYTES:
                        continue
                    most = self._most(media_type(bytes(head)), answer, address)
                    writer, data = PartWriter(folder), bytes(head)
                    begun.append(writer)
                if writer.size_bytes + len(data) > most:
                    raise self._too_large(address, most)
                writer.write(data)
        if writer is None:
            most = self._most(media_type(bytes(head)), answer, address)
            if len(head) > most:
                raise self._too_large(address, most)
            begun.append(PartWriter(folder))
            begun[-1].write(bytes(head))

    def _check_head(self, answer: httpx2.Response, address: Address) -> None:
        """Refuse what the first lines of an answer show not to be the file."""
        if answer.status_code != _FOUND:
            error = DownloadError(
                f"{address} answered {answer.status_code}; the file was expected.",
                fix="the address may be old: ask the service for the job again.",
            )
            if answer.status_code in _PASSING:
                raise _Passing(error, retry_after_seconds(answer.headers))
            raise error
        if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise DownloadError(
                f"{address} sent a packed file, which was not asked for.",
                fix="tell the service that gave the address.",
            )

    def _most(self, media: MediaType, answer: httpx2.Response, address: Address) -> int:
        """Return how many bytes a file of that type may have; refuse one that will be more."""
        if not media.mime_type:
            raise DownloadError(
                f"{address} sent {media.noun}; a picture (PNG, WebP, JPEG, GIF, AVIF, HEIC) or a"
                " clip (MP4, WebM, QuickTime) was expected.",
                fix="the address may be old: ask the service for the job again.",
            )
        most = self.limits.clip_bytes if media.kind == "video" else self.limits.image_bytes
        said = answer.headers.get("content-length", "")
        if said.isdecimal() and int(said) > most:
            raise self._too_large(address, most)
        return most

    def _too_large(self, address: Address, most: int) -> DownloadError:
        return DownloadError(
            f"The file from {address} is larger than {most:,} bytes; nothing of it is kept.",
            fix="allow more: DownloadLimits(image_bytes=…, clip_bytes=…).",
        )


class _Passing(Exception):
    """A failure that may pass, and the seconds to wait that were asked for."""

    def __init__(self, error: DownloadError, wait: float | None = None) -> None:
        super().__init__(error.problem)
        self.error = error
        self.wait = wait


def _drop(begun: list[PartWriter]) -> None:
    while begun:
        begun.pop().discard()


def _word(error: Exception) -> str:
    """Return what went wrong in a word: the client's own texts may quote the address."""
    return type(error).__name__


def _own_transport() -> httpx2.AsyncBaseTransport:
    import httpx2

    return httpx2.AsyncHTTPTransport(verify=_certificates(), trust_env=False)


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Return the authorities that are trusted; to read them takes 20 ms."""
    import httpx2

    return httpx2.create_ssl_context()
