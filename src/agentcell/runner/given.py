"""What a runner and its runs are given → checked values, before anything is sent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from agentcell.assets.wording import a_type
from agentcell.errors import AgentError
from agentcell.messages import Message
from agentcell.runner.trace import FileSystemTraceStore, NoTraceStore, TraceStore

_WANTED = 'give [{"role": "user", "content": "…"}], or a text.'


def messages_of(given: Any) -> list[Message]:
    """Return messages as a list of their own."""
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise AgentError(
            f"{a_type(given, start=True)} was given; a list of messages was expected.", fix=_WANTED
        )
    messages = list(given)
    if not messages:
        raise AgentError("No message was given; one at least was expected.", fix=_WANTED)
    for number, one in enumerate(messages, 1):
        if not isinstance(one, Mapping):
            raise AgentError(
                f"Message {number} is {a_type(one)}; a mapping with role and content was expected.",
                fix=_WANTED,
            )
        if not isinstance(one.get("role"), str):
            raise AgentError(
                f"Message {number} has the role {repr(one.get('role'))[:40]}; system, user,"
                " assistant or tool was expected.",
                fix=_WANTED,
            )
    return [dict(one) for one in messages]


def mapping_of(name: str, given: Any) -> Mapping[str, Any]:
    """Return a mapping as it is; None is an empty one."""
    if given is None or isinstance(given, Mapping):
        return given or {}
    raise AgentError(
        f"{name} is {a_type(given)}; a mapping was expected.",
        fix=f"give a dict, or leave {name} out.",
    )


def store_of(given: Any) -> TraceStore:
    """Return a trace store; a folder is one of files, None one that keeps nothing."""
    if given is None:
        return NoTraceStore()
    if isinstance(given, (str, os.PathLike)):
        return FileSystemTraceStore(given)
    if callable(getattr(given, "append", None)) and callable(getattr(given, "put_media", None)):
        return given  # type: ignore[no-any-return]
    raise AgentError(
        f"trace_store is {a_type(given)}; a folder or a trace store was expected.",
        fix='give trace_store=FileSystemTraceStore("traces").',
    )


def count_of(value: Any) -> int:
    """Return how often one run may ask the model."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise AgentError(
        f"max_iterations is {str(value)[:40]}; a whole number, at least 1, was expected.",
        fix="give for example max_iterations=10.",
    )
