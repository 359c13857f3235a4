"""Files, to Google: the documented resumable protocol, on the connection that all models share.

It takes two requests, one that says what will come and one with the content, which is read piece
by piece; then the file may be in process for a while. As in google-genai 3.6 and
https://ai.google.dev/gemini-api/docs/files, read 2026-11-30.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit, urlunsplit

from agentcell.adapters import failures
from agentcell.adapters.addresses import host_of, joined
from agentcell.adapters.gemini_address import uploading, versioned
from agentcell.adapters.prepared import Prepared
from agentcell.adapters.upload_failures import tried
from agentcell.adapters.upload_form import (
    KEPT_SECONDS,
    file_headers,
    file_object,
    seconds_between,
    upload_name,
    upload_of,
)
from agentcell.adapters.upload_store import Upload
from agentcell.adapters.uploads import UploadsFiles
from agentcell.adapters.whole_answers import whole_answer
from agentcell.assets.asset import MediaAsset
from agentcell.errors import BadRequest, ModelError, Timeout

if TYPE_CHECKING:
    import httpx2

_PIECE = 256 * 1024

_FIRST_LOOK, _LONGEST_LOOK = 0.2, 5.0
"""Seconds between looks at a file in process; each wait is half as long again as the last."""


class GeminiUploads(UploadsFiles):
    """Google's Files API. A file is named by its address, and gone after 48 hours by itself."""

    async def put_file(self, asset: MediaAsset, prepared: Prepared) -> tuple[Upload, bool]:
        """Send one file."""
        origin = prepared.origin
        size = asset.content.size_bytes
        about = {"file": {"displayName": upload_name(asset), "mimeType": asset.mime_type}}
        begin = {
            "content-type": "application/json",
            "x-goog-upload-protocol": "resumable",
            "x-goog-upload-command": "start",
            "x-goog-upload-header-content-length": str(size),
            "x-goog-upload-header-content-type": asset.mime_type,
        }
        start = await whole_answer(
            prepared,
            "POST",
            uploading(origin.address),
            headers=_with_key(prepared, begin),
            content=json.dumps(about).encode(),
        )
        address = start.headers.get("x-goog-upload-url", "")
        if not address.startswith(("http://", "https://")):
            raise failures.no_answer(origin, "no address to upload to")
        # The address is the permission; the key does not go there.
        content = {
            "content-length": str(size),
            "x-goog-upload-command": "upload, finalize",
            "x-goog-upload-offset": "0",
        }
        async with contextlib.aclosing(_pieces(asset)) as pieces:
            end = await whole_answer(
                prepared,
                "POST",
                _at(origin.address, address),
                headers=content,
                content=pieces,
            )
        told = file_object(origin, end.content).get("file")
        if not isinstance(told, dict):
            raise failures.no_answer(origin, "what tells of no file")
        kept = seconds_between(told.get("createTime"), told.get("expirationTime"))
        seconds = KEPT_SECONDS if kept is None else kept
        upload = upload_of(asset, origin, told.get("name"), seconds=seconds, uri=told.get("uri"))
        return upload, told.get("state") not in {"PROCESSING", "FAILED"}

    async def settle_file(self, upload: Upload, prepared: Prepared) -> None:
        """Wait until the file is ``ACTIVE``, for as long as a first byte may take."""
        limit = prepared.timeouts.first_byte
        end, wait = time.monotonic() + limit, _FIRST_LOOK
        while True:
            file = await self._file(upload, prepared)
            if (state := file.get("state")) == "FAILED":
                await self._removed(upload, prepared)
                raise _unread(file, prepared)
            if state != "PROCESSING":
                return
            if time.monotonic() + wait > end:
                await self._removed(upload, prepared)
                raise prepared.origin.error(
                    Timeout,
                    f"{prepared.origin.name} had the file in process for {limit:g} seconds.",
                    "run the cell again, or make the model with a longer timeout.",
                )
            await asyncio.sleep(wait)
            wait = min(wait * 1.5, _LONGEST_LOOK)

    async def remove_file(self, upload: Upload, prepared: Prepared) -> None:
        """Delete one file."""
        await whole_answer(
            prepared, "DELETE", _place(upload, prepared), headers=_with_key(prepared)
        )

    async def _file(self, upload: Upload, prepared: Prepared) -> dict[str, Any]:
        async def look() -> httpx2.Response:
            headers = _with_key(prepared)
            return await whole_answer(prepared, "GET", _place(upload, prepared), headers=headers)

        return file_object(prepared.origin, (await tried(look, prepared)).content)

    async def _removed(self, upload: Upload, prepared: Prepared) -> None:
        """Delete a file that is of no use; if that fails too, it goes by itself."""
        with contextlib.suppress(ModelError):
            await self.remove_file(upload, prepared)


def _unread(file: Mapping[str, Any], prepared: Prepared) -> ModelError:
    reason = file.get("error")
    words = reason.get("message") if isinstance(reason, dict) else None
    said = failures.one_line(words) if isinstance(words, str) else "no reason was given"
    return prepared.origin.error(
        BadRequest,
        f"{prepared.origin.name} could not read the file: {said}",
        "open it elsewhere to see whether it is whole, and save it anew.",
    )


def _place(upload: Upload, prepared: Prepared) -> str:
    return joined(versioned(prepared.origin.address), f"/{quote(upload.file_id)}")


def _with_key(prepared: Prepared, headers: Mapping[str, str] | None = None) -> dict[str, str]:
    own = {"x-goog-api-key": prepared.origin.key, **file_headers(prepared.headers)}
    return {**own, **(headers or {})}


def _at(base: str, address: str) -> str:
    """Return the address to upload to, at the host that was asked.

    A gateway may pass on an address of Google's, and no other host is to get the file. Google's
    own client does the same where it is told an address for the upload (google-genai 3.6).
    """
    own = all(f".{host_of(url)}".endswith(".googleapis.com") for url in (base, address))
    if own and address.startswith("https://"):
        return address
    given, asked = urlsplit(address), urlsplit(base)
    return urlunsplit(given._replace(scheme=asked.scheme, netloc=asked.netloc))


async def _pieces(asset: MediaAsset) -> AsyncGenerator[bytes]:
    with asset.open() as content:
        while piece := content.read(_PIECE):
            yield piece
