"""Requests and answers, to lines of Python's own `logging`, under the name ``agentcell.requests``.

Each request is told at DEBUG, whole, with media as digests; each answer's end at INFO; each retry
and each wait for a place at WARNING and INFO. Headers are never told, keys nowhere. A line is made
only where somebody listens: ``logging.getLogger("agentcell").setLevel("DEBUG")``.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from agentcell.adapters.digests import body_for_people, for_people
from agentcell.adapters.events import Event, Finished, Usage
from agentcell.adapters.model import Model, innermost
from agentcell.adapters.redaction import by_length, known_keys, redacted
from agentcell.errors import ModelError
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock, ToolCall

if TYPE_CHECKING:
    from agentcell.adapters.prepared import Prepared

LOGGER = logging.getLogger("agentcell.requests")
INFO = logging.INFO

# Without a handler of its own Python prints warnings of a library into the cell.
logging.getLogger("agentcell").addHandler(logging.NullHandler())


def request_as_sent(
    model: Model,
    messages: list[Message],
    tools: list[dict[str, Any]] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> str:
    """Return the request that `model` would send, as JSON to be read by people. Nothing is sent.

    Media stand in it as ``<image/png 123 kB sha256:abcd…>``, long texts are cut, keys taken out.
    A model that sends nothing over HTTP is shown with what it is given.

    Parameters
    ----------
    model, messages, tools, settings
        See `Model.invoke`; messages as a session has them, before `Model.ready`.

    Raises
    ------
    BadRequest, Unsupported, AttachmentError
        As when it was sent.
    """
    from agentcell.adapters.remote import RemoteModel

    asked = innermost(model)
    secrets = known_keys()
    shown: dict[str, Any] = {"model": for_people(model.name, *secrets)}
    if isinstance(asked, RemoteModel):
        secrets = by_length((*secrets, *asked.own_keys()))
        address, body = asked.as_sent(messages, tools, settings)
        name = for_people(model.name, *secrets)
        shown = {"POST": redacted(address, *secrets), "model": name}
        shown["body"] = body_for_people(body, *secrets)
    else:
        ready = asked.ready(messages).messages
        shown["messages"] = for_people(_plain(ready), *secrets)
        if tools:
            shown["tools"] = for_people(_plain(tools), *secrets)
        shown["settings"] = for_people(
            _plain({**asked.invoke_settings, **(settings or {})}), *secrets
        )
    return json.dumps(shown, ensure_ascii=False, indent=2, default=str)


def tell_request(prepared: Prepared, address: str, attempt: int) -> None:
    """Log what goes out, if anyone listens at DEBUG."""
    if not LOGGER.isEnabledFor(logging.DEBUG):
        return
    secrets = by_length((*known_keys(), *prepared.origin.hidden))
    try:
        body = json.dumps(body_for_people(prepared.body, *secrets), ensure_ascii=False)
    except RecursionError:  # it was written, but is too deep to be read
        body = "(nested too deeply to be shown)"
    LOGGER.debug(
        "POST %s for %s, attempt %d, %d bytes: %s",
        redacted(address, *secrets),
        redacted(prepared.origin.name, *secrets),
        attempt,
        prepared.body.size_bytes,
        body,
    )


def tell_retry(prepared: Prepared, attempt: int, wait: float, reason: str) -> None:
    """Log that a request is sent once more."""
    if LOGGER.isEnabledFor(logging.WARNING):
        name, why = _safe(prepared, prepared.origin.name), _safe(prepared, reason)
        LOGGER.warning("%s: attempt %d in %.1f s: %s", name, attempt, wait, why)


def tell_wait(prepared: Prepared, wait: float | None, reason: str) -> None:
    """Log that a request is held back here."""
    if LOGGER.isEnabledFor(logging.INFO):
        name = _safe(prepared, prepared.origin.name)
        about = "" if wait is None else f" for about {wait:.1f} s"
        LOGGER.info("%s: waiting%s: %s", name, about, reason)


async def told(
    answer: AsyncGenerator[Iterable[Event]], prepared: Prepared
) -> AsyncGenerator[Iterable[Event]]:
    """Yield what `answer` yields, and log how it ended."""
    began = time.monotonic()
    usage, request_id, said = None, None, "stopped"
    try:
        async with contextlib.aclosing(answer):
            async for some in answer:
                events = tuple(some)
                for event in events:
                    if isinstance(event, Usage):
                        usage = event
                    elif isinstance(event, Finished):
                        request_id, said = event.request_id, f"answered 200, {event.reason}"
                yield events
    except ModelError as error:
        request_id = error.request_id
        said = f"failed with status {error.status or '-'}: {error.problem}"
        raise
    finally:
        LOGGER.info(
            "%s %s; request %s, %.2f s, %s",
            _safe(prepared, prepared.origin.name),
            _safe(prepared, said),
            _safe(prepared, request_id or "-"),
            time.monotonic() - began,
            _counted(usage),
        )


def _counted(usage: Usage | None) -> str:
    if usage is None:
        return "no usage told"
    counts = [f"{one.name}={value}" for one in fields(usage) if (value := getattr(usage, one.name))]
    return ", ".join(counts) or "no usage told"


def _safe(prepared: Prepared, text: str) -> str:
    return redacted(text, *by_length((*known_keys(), *prepared.origin.hidden)))


def _plain(value: Any) -> Any:
    """Return messages and settings as values of JSON, attachments by their digests."""
    if isinstance(value, MediaMessageBlock):
        asset = value.asset
        kind = asset.mime_type or str(value.modality).lower()
        digest = value.fingerprint[: len("sha256:") + 12]
        return f"{value.tag} <{kind} {asset.describe()} {digest}…>"
    if isinstance(value, TextMessageBlock):
        return value.text
    if isinstance(value, ToolCall):
        return {"id": value.id, "name": value.name, "arguments": _plain(value.arguments)}
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
