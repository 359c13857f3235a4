"""OpenAI's Chat Completions, and every server that speaks it: a request to its body.

The way back is in `openai_chat_decoder`.

Shapes as in the openai SDK 3.57 and its guides, read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.content import arguments_text
from agentcell.adapters.data_url import media_url
from agentcell.adapters.failures import Origin
from agentcell.adapters.openai_chat_decoder import ChatDecoder
from agentcell.adapters.openai_client import IMAGE_TYPES, OpenAIProtocolModel, is_openai
from agentcell.adapters.openai_detail import knows_original, without_original
from agentcell.adapters.openai_models import sampling_instead, stop_instead
from agentcell.adapters.parts import Media, Part, Text, Turn
from agentcell.adapters.request import Request, Tool, read_request
from agentcell.adapters.settings import ToolChoice
from agentcell.assets.limits import OPENAI_CHAT
from agentcell.errors import Unsupported
from agentcell.messages import Message
from agentcell.modality import FieldModality


class LegacyOpenAIModel(OpenAIProtocolModel):
    """One model of OpenAI's by Chat Completions, or of any server that speaks it.

    Parameters
    ----------
    model_name, api_key, base_url, and all others
        See `RemoteModel`. For a server on this machine or network no key is needed, and the one
        in ``OPENAI_API_KEY`` is not sent to a `base_url` given here.

    Notes
    -----
    A PDF, an attachment in a system message and one in a tool's result are refused: the protocol
    has no place for them. ``system_media="user"`` and ``tool_result_media="user"`` move them
    into a user message instead.
    """

    provider = "openai-chat"
    media_limits = OPENAI_CHAT
    path = "/chat/completions"

    def default_capabilities(self) -> ModelCapabilities:
        """Images from anywhere but a file id; no PDF."""
        return ModelCapabilities(
            image_input=True,
            image_sources=frozenset({"path", "bytes", "base64", "url"}),
            pdf_sources=frozenset({"path", "bytes", "base64", "file_id"}),
            image_types=IMAGE_TYPES if is_openai(self.base_url) else frozenset(),
        )

    def encode(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the body of the request. Nothing is sent."""
        merged = {**self.invoke_settings, **(settings or {})}
        instead = sampling_instead(self.model_name, merged.get("reasoning"))
        instead |= stop_instead(self.model_name)
        request = read_request(self, messages, tools, settings, instead)
        return encode(request, for_openai=is_openai(self.base_url), name=self.name)

    def decoder(self, origin: Origin) -> ChatDecoder:
        """Return a decoder for one answer."""
        return ChatDecoder(origin)


def encode(request: Request, *, for_openai: bool = True, name: str = "") -> dict[str, Any]:
    """Return `request` as the body of a Chat Completions request, streamed.

    Parameters
    ----------
    for_openai
        Whether it goes to OpenAI itself, which has given some fields new names that other
        servers do not know.
    name
        The model's, for the messages of errors.
    """
    if not for_openai or not knows_original(request.model):  # vLLM refuses the newer word
        request = without_original(request)
    settings = request.settings
    detail = settings.detail
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(turn, detail, for_openai=for_openai) for turn in request.turns],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(tool, name or request.model) for tool in request.tools]
    if settings.tool_choice is not None:
        body["tool_choice"] = _tool_choice(settings.tool_choice)
    # OpenAI's own models of today refuse max_tokens; llama.cpp, Ollama, vLLM and LM Studio all
    # know max_tokens, and older ones of them nothing else.
    longest = "max_completion_tokens" if for_openai else "max_tokens"
    if settings.schema is not None:
        schema = settings.schema
        form = {"name": schema.name, "schema": schema.document, "strict": schema.strict}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    if settings.reasoning is not None:
        body["reasoning_effort"] = _effort(settings.reasoning, name or request.model)
    values = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        longest: settings.max_tokens,
        "stop": list(settings.stop) or None,
        "seed": settings.seed,
    }
    body.update((key, value) for key, value in values.items() if value is not None)
    return body


def _message(turn: Turn, detail: str, *, for_openai: bool) -> dict[str, Any]:
    match turn.role:
        case "system" | "developer":
            role = turn.role if for_openai else "system"  # templates of other servers know no more
            return {"role": role, "content": _content(turn.parts, detail)}
        case "assistant":
            return _assistant(turn)
        case "tool":
            content = _content(turn.parts, detail)
            return {"role": "tool", "tool_call_id": turn.call_id, "content": content}
    return {"role": "user", "content": _content(turn.parts, detail)}


def _assistant(turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    if turn.text or not turn.calls:
        message["content"] = turn.text
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": arguments_text(call)},
            }
            for call in turn.calls
        ]
    return message


def _content(parts: Sequence[Part], detail: str) -> str | list[dict[str, Any]]:
    """Return one text as a text, which every server reads; anything else as a list."""
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return [_part(part, detail) for part in parts]


def _part(part: Part, detail: str) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Media():
            if part.modality is FieldModality.IMAGE:
                image = {"url": media_url(part)}
                if part.detail or detail:
                    image["detail"] = part.detail or detail
                return {"type": "image_url", "image_url": image}
            if part.file_id:
                return {"type": "file", "file": {"file_id": part.file_id}}
            file = {"filename": part.filename, "file_data": media_url(part)}
            return {"type": "file", "file": file}
        case _:
            assert_never(part)


def _tool(tool: Tool, name: str) -> dict[str, Any]:
    if tool.builtin is not None:
        raise Unsupported(
            f"{name} cannot take the tool of type {tool.builtin['type']!r} by Chat Completions.",
            fix="use a function, or the same model as openai/….",
            provider="openai-chat",
        )
    function: dict[str, Any] = {"name": tool.name, "parameters": dict(tool.parameters)}
    if tool.description:
        function["description"] = tool.description
    if tool.strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def _tool_choice(choice: ToolChoice) -> str | dict[str, Any]:
    if choice.mode == "tool":
        return {"type": "function", "function": {"name": choice.name}}
    return choice.mode


def _effort(reasoning: Mapping[str, Any], name: str) -> str:
    if set(reasoning) != {"effort"}:
        raise Unsupported(
            f"{name} takes no more than an effort under 'reasoning' by Chat Completions;"
            f" {', '.join(sorted(map(str, reasoning)))} was given.",
            fix="give reasoning='low' or the like, or use the same model as openai/….",
            provider="openai-chat",
        )
    return str(reasoning["effort"])
