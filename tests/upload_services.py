"""Three services with files, and what is sent to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import media
from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.adapters.uploads import UploadsFiles
from agentcell.assets.asset import ImageAsset, MediaAsset, PdfAsset
from agentcell.testing import AnthropicServer, GeminiServer, ProviderServer, ResponsesServer
from agentcell.testing.file_server import StoredFile

KEY = "sk-test-0123456789abcdef"

OLDEST_SECONDS = 48 * 3600

UPLOAD_HEADERS = (
    *("protocol", "command", "offset"),
    *("header-content-length", "header-content-type"),
)


@dataclass(frozen=True)
class Service:
    """One service with a Files API: its server, its model, and how a question names a file."""

    name: str
    server: type[ProviderServer]
    model: type[UploadsFiles]
    image: Callable[[StoredFile], dict[str, Any]]
    pdf: Callable[[StoredFile], dict[str, Any]]

    def parts(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """Return what the last message of a question holds."""
        turn = body.get("input") or body.get("messages") or body.get("contents")
        last = turn[-1]  # type: ignore[index]
        return list(last["parts"] if "parts" in last else last["content"])


def gemini_uri(file: StoredFile) -> str:
    return f"https://generativelanguage.googleapis.com/v1beta/{file.file_id}"


OPENAI = Service(
    "responses",
    ResponsesServer,
    OpenAIModel,
    lambda file: {"type": "input_image", "detail": "auto", "file_id": file.file_id},
    lambda file: {"type": "input_file", "file_id": file.file_id},
)
ANTHROPIC = Service(
    "anthropic",
    AnthropicServer,
    AnthropicModel,
    lambda file: {"type": "image", "source": {"type": "file", "file_id": file.file_id}},
    lambda file: {
        "type": "document",
        "source": {"type": "file", "file_id": file.file_id},
        "title": "document.pdf",
    },
)
GEMINI = Service(
    "gemini",
    GeminiServer,
    GeminiModel,
    lambda file: {"fileData": {"mimeType": "image/png", "fileUri": gemini_uri(file)}},
    lambda file: {"fileData": {"mimeType": "application/pdf", "fileUri": gemini_uri(file)}},
)
SERVICES = [OPENAI, ANTHROPIC, GEMINI]

each_service = pytest.mark.parametrize("service", SERVICES, ids=lambda one: one.name)


def made(service: Service, server: ProviderServer, upload: str = "always", **more: Any) -> Any:
    return service.model("m", KEY, server.url, upload=upload, **more)


def picture(color: str = "red", name: str | None = "photo.png") -> ImageAsset:
    return ImageAsset.from_bytes(media.png(color, (9, 9)), filename=name)


def document(text: str = "Total 42.00") -> PdfAsset:
    return PdfAsset.from_bytes(media.pdf(text))


def padded_pdf(size: int) -> PdfAsset:
    whole = media.pdf()
    return PdfAsset.from_bytes(whole[:9] + b"% " + b"x" * size + b"\n" + whole[9:])


def question(*assets: MediaAsset, text: str = "What is it?") -> list[dict[str, Any]]:
    blocks = [media.block(asset, number=number) for number, asset in enumerate(assets, 1)]
    return [{"role": "user", "content": [text, *blocks]}]


def file_requests(server: ProviderServer) -> list[tuple[str, str]]:
    return [(request.method, request.path) for request in server.files.requests]


def everything_said(error: BaseException | None) -> str:
    said = []
    while error is not None:
        said += [str(error), repr(error), str(vars(error)), str(error.args)]
        error = error.__cause__ or error.__context__
    return "\n".join(said)
