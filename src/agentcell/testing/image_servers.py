"""A script, to OpenAI's Images API, and to Gemini's pictures and clips."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agentcell.testing.gemini_server import GeminiServer
from agentcell.testing.media_files import PIXEL
from agentcell.testing.provider_server import ProviderServer
from agentcell.testing.replies import Reply, Request, Script, server_event

CLIP = bytes.fromhex("000000186674797069736f6d0000020069736f6d69736f32") + b"\x00\x00\x00\x08mdat"
"""The beginning of an MP4: enough to be known as one."""

_JSON = {"content-type": "application/json"}


def _text(data: bytes | str) -> str:
    return data if isinstance(data, str) else base64.b64encode(data).decode()


@dataclass(frozen=True, slots=True)
class FormPart:
    """One part of a form: its name, and the name, type and content of a file."""

    name: str
    filename: str
    mime_type: str
    data: bytes = field(repr=False)


class OpenAIImagesServer(ProviderServer):
    """Speaks OpenAI's Images API: a reply's texts are pictures in base64, the last one finished.

    Attributes
    ----------
    pictures
        What it draws: one file for each picture that is asked for; the last one repeats. A text is
        sent as it is, in the place of base64.
    previews
        What it shows before, where a stream is asked for.
    """

    path = "/images/generations"
    takes_forms: ClassVar[bool] = True
    model = "gpt-image-2.5-flare"

    def __init__(
        self,
        *replies: Script,
        key: str = "",
        pictures: tuple[bytes | str, ...] = (PIXEL,),
        previews: tuple[bytes | str, ...] = (),
    ) -> None:
        super().__init__(*replies, key=key)
        self.pictures = pictures
        self.previews = previews
        self._wanted, self._is_edit = 1, False

    def serves(self, path: str) -> bool:
        """Return whether pictures are made or edited at `path`."""
        return path.endswith(("/images/generations", "/images/edits"))

    def form_of(self, content_type: str, data: bytes) -> list[FormPart]:
        """Return the parts of a form.

        Parameters
        ----------
        content_type, data
            Of the request.
        """
        return form_parts(content_type, data)

    def model_of(self, request: Request) -> str:
        """Return the model that `request` asks."""
        return str(fields_of(request).get("model") or self.model)

    def wants_stream(self, request: Request) -> bool:
        """Return whether `request` asks for a stream of events."""
        self._wanted = int(fields_of(request).get("n") or 1)
        self._is_edit = request.path.endswith("/images/edits")
        return str(fields_of(request).get("stream")).lower() == "true"

    def events(self, reply: Reply, model: str) -> Iterator[bytes]:
        """Yield a streamed answer; see `Scripted.events`."""
        del model
        kind = "image_edit" if self._is_edit else "image_generation"
        common = {
            "background": "opaque",
            "created_at": 1_790_000_000,
            "output_format": "png",
            "quality": "low",
            "size": "1024x1024",
        }
        for index, preview in enumerate(self.previews):
            name = f"{kind}.partial_image"
            body = {"type": name, "b64_json": _text(preview), "partial_image_index": index}
            yield server_event({**body, **common}, reply.newline, name)
        name = f"{kind}.completed"
        body = {"type": name, "b64_json": _text(self.pictures[0]), "usage": _usage(reply)}
        yield server_event({**body, **common}, reply.newline, name)

    def document(self, reply: Reply, model: str) -> dict[str, Any]:
        """Return an answer as one document."""
        del model
        count = self._wanted
        drawn = [self.pictures[min(n, len(self.pictures) - 1)] for n in range(count)]
        return {
            "created": 1_790_000_000,
            "data": [{"b64_json": _text(one)} for one in drawn],
            "output_format": "png",
            "usage": _usage(reply),
        }


def _usage(reply: Reply) -> dict[str, Any]:
    read, wrote = (reply.usage or (0, 0))[:2]
    return {
        "input_tokens": read,
        "input_tokens_details": {"image_tokens": 0, "text_tokens": read},
        "output_tokens": wrote,
        "total_tokens": read + wrote,
    }


def fields_of(request: Request) -> dict[str, Any]:
    """Return the fields of a request, be it JSON or a form."""
    if isinstance(request.body, list):  # of a form
        return {
            part.name: part.data.decode()
            for part in request.body
            if isinstance(part, FormPart) and not part.filename
        }
    return request.body if isinstance(request.body, dict) else {}


def form_parts(content_type: str, data: bytes) -> list[FormPart]:
    """Return the parts of a form's body.

    Parameters
    ----------
    content_type
        With the boundary.
    data
        The whole body.
    """
    boundary = content_type.partition("boundary=")[2].strip('"').encode()
    parts = []
    for part in data.split(b"--" + boundary)[1:-1]:
        head, _, body = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        text = head.decode()
        name = re.search(r'[ ;]name="([^"]*)"', text)
        filename = re.search(r'filename="([^"]*)"', text)
        mime_type = re.search(r"(?i)content-type: *(\S+)", text)
        parts.append(
            FormPart(
                name=name[1] if name else "",
                filename=filename[1] if filename else "",
                mime_type=mime_type[1] if mime_type else "",
                data=body.removesuffix(b"\r\n"),
            )
        )
    return parts


class GeminiMediaServer(GeminiServer):
    """Speaks generate_content with pictures in the answer, and Interactions with clips.

    Attributes
    ----------
    pictures
        What it draws, in one answer.
    states
        How a clip is, at its submit and at each look after it; the last state stays.
    clip
        What is done in the end; None: nothing.
    interactions
        What was begun, by its id: the request's body.
    """

    path = ":generateContent"
    files_as = ""

    def __init__(
        self,
        *replies: Script,
        key: str = "",
        pictures: tuple[bytes | str, ...] = (PIXEL,),
        states: tuple[str, ...] = ("in_progress", "completed"),
        clip: bytes | None = CLIP,
    ) -> None:
        super().__init__(*replies, key=key)
        self.pictures = pictures
        self.states = list(states)
        self.clip = clip
        self.interactions: dict[str, Any] = {}
        self.cancelled: list[str] = []
        self.errors: list[dict[str, str]] = []

    @property
    def submits(self) -> list[Request]:
        """The requests that begin a clip."""
        return [one for one in self.requests if one.path.split("?")[0].endswith("/interactions")]

    def serves(self, path: str) -> bool:
        """Return whether questions to the model go to `path`."""
        return path.endswith((":generateContent", "/interactions")) or "/interactions/" in path

    def take(self, request: Request) -> Reply:
        """Record `request` and return its reply."""
        reply = super().take(request)
        path = request.path.split("?")[0]
        if "/interactions" not in path or reply.raw is not None or _is_faulty(reply):
            return reply
        if path.endswith("/cancel"):
            name = path.rpartition("/interactions/")[2].removesuffix("/cancel")
            self.cancelled.append(name)
            self.states = ["cancelled"]
        elif request.method == "POST":
            name = f"int-{len(self.interactions) + 1}"
            self.interactions[name] = request.body
        else:
            name = path.rpartition("/")[2]
            if name not in self.interactions:
                return self._refusal(404, "There is no such interaction.")
        said = json.dumps(self._interaction(name))
        return Reply(raw=said, headers=_JSON, delay=reply.delay)

    def document(self, reply: Reply, model: str) -> dict[str, Any]:
        """Return an answer with pictures as one document."""
        whole = super().document(reply, model)
        if reply.finish == "stop":
            parts = [
                {"inlineData": {"mimeType": "image/png", "data": _text(one)}}
                for one in self.pictures
            ]
            whole["candidates"][0]["content"]["parts"] = parts
        else:
            whole["candidates"][0].pop("content")
        return whole

    def _interaction(self, name: str) -> dict[str, Any]:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        said: dict[str, Any] = {"id": name, "object": "interaction", "status": state}
        if self.errors:
            said["errors"] = self.errors
        if state == "completed":
            content = []
            if self.clip is not None:
                content = [{"type": "video", "mime_type": "video/mp4", "data": _text(self.clip)}]
            said["steps"] = [{"type": "model_output", "content": content}]
            said["usage"] = {
                "total_input_tokens": 20,
                "total_output_tokens": 1000,
                "output_tokens_by_modality": [{"modality": "video", "tokens": 1000}],
            }
        return said


def _is_faulty(reply: Reply) -> bool:
    faults = (reply.cut, reply.reset, reply.stall, reply.clean_cut)
    return reply.error is not None or any(one is not None for one in faults)
