"""OpenAI's Responses: a request to its body. The way back is in `openai_responses_decoder`.

Shapes as in the openai SDK 3.57 and its guides, read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.content import arguments_text
from agentcell.adapters.data_url import media_url
from agentcell.adapters.failures import Origin
from agentcell.adapters.openai_client import IMAGE_TYPES, OpenAIProtocolModel, is_openai
from agentcell.adapters.openai_detail import knows_original, without_original
from agentcell.adapters.openai_models import sampling_instead, stop_instead, thinks
from agentcell.adapters.openai_responses_decoder import OPAQUE, SEPARATOR, ResponsesDecoder
from agentcell.adapters.parts import Media, Part, Text, Turn
from agentcell.adapters.request import Request, Tool, read_request
from agentcell.adapters.segments import kept_items, split_text
from agentcell.adapters.settings import ToolChoice
from agentcell.adapters.upload_sdk import OpenAIUploads
from agentcell.assets.limits import OPENAI
from agentcell.messages import Message, ToolCall
from agentcell.modality import FieldModality


class OpenAIModel(OpenAIUploads, OpenAIProtocolModel):
    """One model of OpenAI's, by Responses. Images and PDFs go anywhere in a conversation.

    Parameters
    ----------
    model_name, api_key, base_url, and all others
        See `RemoteModel`, and `UploadsFiles` for ``upload``. The key comes from
        ``OPENAI_API_KEY``, the address from ``OPENAI_BASE_URL``.

    Notes
    -----
    Nothing is kept at OpenAI (``store`` is false); a model's sealed reasoning comes back with
    its answer and is sent again with the next question.
    """

    provider = "openai"
    media_limits = OPENAI
    path = "/responses"

    def default_capabilities(self) -> ModelCapabilities:
        """Images and PDFs from anywhere, in any place."""
        return ModelCapabilities(
            image_input=True,
            pdf_input=True,
            system_media="sent",
            tool_result_media="sent",
            structured_output=True,
            image_types=IMAGE_TYPES,
        )

    def encode(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the body of the request. Nothing is sent."""
        merged = {**self.invoke_settings, **(settings or {})}
        other = f"use the same model as openai-chat/{self.model_name}, which takes it."
        instead = sampling_instead(self.model_name, merged.get("reasoning"))
        instead |= {"stop": other, "seed": other} | stop_instead(self.model_name)
        request = read_request(self, messages, tools, settings, instead)
        return encode(request, for_openai=is_openai(self.base_url))

    def decoder(self, origin: Origin) -> ResponsesDecoder:
        """Return a decoder for one answer."""
        return ResponsesDecoder(origin)


def encode(request: Request, *, for_openai: bool = True) -> dict[str, Any]:
    """Return `request` as the body of a Responses request, streamed.

    Parameters
    ----------
    for_openai
        Whether it goes to OpenAI itself, which pads its events unless asked not to, and takes an
        earlier answer as a text.
    """
    if for_openai and not knows_original(request.model):
        request = without_original(request)
    settings = request.settings
    items = [item for turn in request.turns for item in _items(turn, settings.detail)]
    if not for_openai:
        items = [_as_output(item, number) for number, item in enumerate(items)]
    body: dict[str, Any] = {
        "model": request.model,
        "input": items,
        "stream": True,
        "store": False,
    }
    if for_openai:
        body["stream_options"] = {"include_obfuscation": False}
    if thinks(request.model) or settings.reasoning is not None:
        body["include"] = ["reasoning.encrypted_content"]
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if settings.tool_choice is not None:
        body["tool_choice"] = _tool_choice(settings.tool_choice, request.tools)
    if settings.schema is not None:
        schema = settings.schema
        form = {"name": schema.name, "schema": schema.document, "strict": schema.strict}
        body["text"] = {"format": {"type": "json_schema", **form}}
    values = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_output_tokens": settings.max_tokens,
        "reasoning": None if settings.reasoning is None else dict(settings.reasoning),
    }
    body.update((key, value) for key, value in values.items() if value is not None)
    return body


def _items(turn: Turn, detail: str) -> Iterator[dict[str, Any]]:
    match turn.role:
        case "assistant":
            yield from _assistant(turn)
        case "tool":
            output = _content(turn.parts, detail)
            yield {"type": "function_call_output", "call_id": turn.call_id, "output": output}
        case role:
            yield {"role": role, "content": _content(turn.parts, detail)}


def _assistant(turn: Turn) -> Iterator[dict[str, Any]]:
    """Yield an earlier answer's items in the order in which they came.

    A reasoning item must stand before the item that it led to. The text and the calls are those
    of the message, which may have been changed since; the kept parts only say where and how.
    """
    kept = kept_items(turn.opaque, OPAQUE)
    calls = {call.id: call for call in turn.calls}
    lengths = [item["length"] for item in kept if item["type"] == "message"]
    texts = split_text(turn.text, lengths, SEPARATOR)
    for item in kept:
        match item["type"]:
            case "message":
                if texts:
                    yield _message(texts.pop(0), item.get("phase"))
            case "function_call":
                if call := calls.pop(item["call_id"], None):
                    yield _call(call)
            case _:
                yield dict(item)
    yield from (_message(text, None) for text in texts)
    yield from map(_call, calls.values())


def _message(text: str, phase: object) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {**message, "phase": phase} if isinstance(phase, str) else message


def _as_output(item: dict[str, Any], number: int) -> dict[str, Any]:
    """Return an earlier answer's text in its long form.

    llama.cpp's server knows it in no other ("Cannot determine type of 'item'"). The long form
    needs an id, and OpenAI itself looks ids up; so its own server gets the short one.
    """
    if item.get("role") != "assistant":
        return item
    text = {"type": "output_text", "text": item["content"], "annotations": []}
    head = {"type": "message", "id": f"msg_{number}", "status": "completed"}
    return {**item, **head, "content": [text]}


def _call(call: ToolCall) -> dict[str, Any]:
    # Without an "id": that is the item's own (fc_…), and the API refuses the call's in its place.
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments_text(call),
    }


def _content(parts: Sequence[Part], detail: str) -> str | list[dict[str, Any]]:
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return [_part(part, detail) for part in parts]


def _part(part: Part, detail: str) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "input_text", "text": part.text}
        case Media():
            is_image = part.modality is FieldModality.IMAGE
            where = {"file_id": part.file_id} if part.source == "file_id" else None
            if is_image:
                level = part.detail or detail or "auto"
                where = where or {"image_url": media_url(part)}
                return {"type": "input_image", "detail": level, **where}
            if where is None and part.source == "url":
                where = {"file_url": media_url(part)}
            # The data of a file is a data URL too; bare base64 is answered with 400.
            where = where or {"filename": part.filename, "file_data": media_url(part)}
            return {"type": "input_file", **where}
        case _:
            assert_never(part)


def _tool(tool: Tool) -> dict[str, Any]:
    if tool.builtin is not None:
        return dict(tool.builtin)
    function = {
        "type": "function",
        "name": tool.name,
        "parameters": dict(tool.parameters),
        "strict": tool.strict,  # left out it would mean true here, and most schemas are not
    }
    return {**function, "description": tool.description} if tool.description else function


def _tool_choice(choice: ToolChoice, tools: Iterable[Tool]) -> str | dict[str, Any]:
    if choice.mode != "tool":
        return choice.mode
    if any(tool.name == choice.name for tool in tools):
        return {"type": "function", "name": choice.name}
    return {"type": choice.name}
