"""A request's body, to what the official SDK's own parameter types say is wrong with it.

Beside the types, today's rules of the services that types do not catch: `wire_rules`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import pydantic

import wire_rules


@functools.cache
def _adapter(kind: str) -> pydantic.TypeAdapter[Any]:
    if kind == "chat":
        from openai.types.chat import completion_create_params as chat

        return pydantic.TypeAdapter(chat.CompletionCreateParamsStreaming)
    if kind == "anthropic":
        from anthropic.types import message_create_params as messages

        return pydantic.TypeAdapter(messages.MessageCreateParamsStreaming)
    from openai.types.responses import response_create_params as responses

    return pydantic.TypeAdapter(responses.ResponseCreateParamsStreaming)


def check(kind: str, body: Mapping[str, Any]) -> None:
    """Raise `pydantic.ValidationError` unless `body` is what the SDK's types allow.

    The adapter is kept: its iterables check their items only as they are read, and need it then.
    """
    assert not list(_nulls(body)), "nothing is sent as null"
    if kind == "gemini":
        _check_gemini(body)
        wire_rules.check_gemini(body)
        return
    _walk(_adapter(kind).validate_python(dict(body), strict=True, extra="forbid"))
    if kind == "anthropic":
        wire_rules.check_anthropic(body)


def _check_gemini(body: Mapping[str, Any]) -> None:
    """Check each field by the model of it: google-genai has none for a whole body."""
    from google.genai import types

    fields: dict[str, Any] = {
        "contents": list[types.Content],
        "systemInstruction": types.Content,
        "tools": list[types.Tool],
        "toolConfig": types.ToolConfig,
        "generationConfig": types.GenerationConfig,
        "serviceTier": str,
    }
    for name, value in body.items():
        pydantic.TypeAdapter(fields[name]).validate_python(value)


def _walk(value: object) -> None:
    if isinstance(value, Mapping):
        for item in value.values():
            _walk(item)
    elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        for item in value:
            _walk(item)


def _nulls(value: object, path: str = "") -> Iterable[str]:
    if value is None:
        yield path
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _nulls(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _nulls(item, f"{path}[{index}]")


def check_images(body: Mapping[str, Any]) -> None:
    """Raise `pydantic.ValidationError` unless OpenAI's types allow `body` for pictures."""
    from openai.types import image_generate_params as images

    assert not list(_nulls(body)), "nothing is sent as null"
    streams = bool(body.get("stream"))
    kind = (
        images.ImageGenerateParamsStreaming if streams else images.ImageGenerateParamsNonStreaming
    )
    adapter = pydantic.TypeAdapter[Any](kind)
    _walk(adapter.validate_python(dict(body), strict=True, extra="forbid"))


def check_interaction(body: Mapping[str, Any]) -> None:
    """Raise unless google-genai's models of an interaction allow `body`."""
    from google.genai._gaos.types.interactions.createmodelinteraction import CreateModelInteraction
    from google.genai._gaos.types.interactions.generationconfig import GenerationConfig
    from google.genai._gaos.types.interactions.videoresponseformat import VideoResponseFormat

    assert not list(_nulls(body)), "nothing is sent as null"
    CreateModelInteraction.model_validate(body)
    assert set(body) <= set(CreateModelInteraction.model_fields), set(body)
    GenerationConfig.model_validate(body["generation_config"])
    VideoResponseFormat.model_validate(body["response_format"])
    assert set(body["response_format"]) <= set(VideoResponseFormat.model_fields)
    assert set(body["generation_config"]) <= set(GenerationConfig.model_fields)
