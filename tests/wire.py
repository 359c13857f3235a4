"""A request's body, to what the official SDK's own parameter types say is wrong with it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import pydantic


@functools.cache
def _adapter(kind: str) -> pydantic.TypeAdapter[Any]:
    if kind == "chat":
        from openai.types.chat import completion_create_params as chat

        return pydantic.TypeAdapter(chat.CompletionCreateParamsStreaming)
    from openai.types.responses import response_create_params as responses

    return pydantic.TypeAdapter(responses.ResponseCreateParamsStreaming)


def check(kind: str, body: Mapping[str, Any]) -> None:
    """Raise `pydantic.ValidationError` unless `body` is what the SDK's types allow.

    The adapter is kept: its iterables check their items only as they are read, and need it then.
    """
    assert not list(_nulls(body)), "nothing is sent as null"
    _walk(_adapter(kind).validate_python(dict(body), strict=True, extra="forbid"))


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
