"""Files, to OpenAI and to Anthropic, by their own clients, which read them piece by piece."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any, ClassVar

from agentcell.adapters import failures
from agentcell.adapters.openai_client import is_openai
from agentcell.adapters.prepared import Prepared
from agentcell.adapters.sdk_client import SdkModel
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
from agentcell.assets.asset import MediaAsset


class SdkUploads(UploadsFiles, SdkModel):
    """Uploads by ``client.files``; both vendors' have one shape but for what is sent along."""

    async def send_file(
        self, files: Any, file: tuple[str, IO[bytes], str], prepared: Prepared, **options: Any
    ) -> Any:
        """Send one open file and return the raw answer."""
        raise NotImplementedError

    async def put_file(self, asset: MediaAsset, prepared: Prepared) -> tuple[Upload, bool]:
        """Send one file."""
        with asset.open() as content:
            file = (upload_name(asset), content, asset.mime_type)
            async with self.using_client(prepared) as client:
                raw = client.files.with_raw_response
                answer = await self.send_file(raw, file, prepared, **_options(prepared))
        origin = prepared.origin.with_request_id(failures.request_id_of(answer.headers))
        told = file_object(origin, answer.http_response.content)
        seconds = seconds_between(told.get("created_at"), told.get("expires_at"))
        return upload_of(asset, origin, told.get("id"), seconds=seconds), True

    async def remove_file(self, upload: Upload, prepared: Prepared) -> None:
        """Delete one file."""
        async with self.using_client(prepared) as client:
            raw = client.files.with_raw_response
            await raw.delete(upload.file_id, **_options(prepared))


class OpenAIUploads(SdkUploads):
    """OpenAI's Files API, and those of others that are like it."""

    async def send_file(
        self, files: Any, file: tuple[str, IO[bytes], str], prepared: Prepared, **options: Any
    ) -> Any:
        """Send one open file.

        OpenAI's guide uploads images for the purpose "vision"; elsewhere they are "user_data" as
        all else is, and DeepSeek takes no other (https://api-docs.deepseek.com/guides/files_api,
        read 2026-11-30).
        """
        is_image = file[2] != "application/pdf"
        purpose = "vision" if is_image and is_openai(prepared.origin.address) else "user_data"
        expiry = {"anchor": "created_at", "seconds": KEPT_SECONDS}
        return await files.create(file=file, purpose=purpose, expires_after=expiry, **options)


class AnthropicUploads(SdkUploads):
    """Anthropic's Files API; since the API of 2026-10-21 it needs no beta header.

    A PDF may be larger as a file than in a request: what counts is the request alone.
    """

    file_limits: ClassVar[Mapping[str, int]] = {"pdf_bytes": 500_000_000}

    async def send_file(
        self,
        files: Any,
        file: tuple[str, IO[bytes], str],
        prepared: Prepared,  # noqa: ARG002 (the other vendor's needs it)
        **options: Any,
    ) -> Any:
        """Send one open file."""
        return await files.upload(file=file, expires_in_seconds=KEPT_SECONDS, **options)


def _options(prepared: Prepared) -> dict[str, Any]:
    import httpx2

    timeouts = prepared.timeouts
    limits = httpx2.Timeout(timeouts.first_byte, connect=timeouts.connect, pool=timeouts.connect)
    return {"extra_headers": file_headers(prepared.headers), "timeout": limits}
