"""The bytes of a hosted media service's answers → how a job is, or why there is no such thing."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agentcell.adapters import failures
from agentcell.adapters.failures import Origin
from agentcell.adapters.redaction import without_data
from agentcell.errors import GenerationFailed, ModelError
from agentcell.imaging.web_text import without_queries
from agentcell.safe_text import unsendable

MOST_DETAIL = 500
"""Bytes of a service's own words that an error repeats."""

_INVISIBLE = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}


class NoAnswer(Exception):
    """An answer with a good status that says nothing that is understood; its text says what."""


class Refused(Exception):
    """An answer with a good status that says no; its text is the service's reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One file that a job made; its addresses may be signed."""

    type: str
    url: str = field(repr=False)
    thumbnail_url: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """How a job is, at one moment.

    Parameters
    ----------
    request_id, status, model
        In the service's words.
    media
        What it made so far.
    cost
        US dollars; None if the service does not tell.
    reason
        Why it failed, where the service says so.
    """

    request_id: str
    status: str
    model: str = ""
    media: tuple[Item, ...] = ()
    cost: Decimal | None = None
    reason: str = ""

    @property
    def name(self) -> str:
        """The request id as it may stand in a text."""
        return failures.one_line(self.request_id, 120)


def snapshot(body: bytes, origin: Origin) -> Snapshot:
    """Read the answer to a submit or to a question about a job.

    Raises
    ------
    Refused
        If it says no.
    NoAnswer
        If it is none.
    """
    data = data_of(body, origin)
    if not isinstance(data, Mapping):
        raise NoAnswer("data that is no object")
    request_id, status = data.get("requestId"), data.get("status")
    if not isinstance(request_id, str) or not request_id or not isinstance(status, str):
        raise NoAnswer("data without a requestId and a status")
    if unsendable(request_id):
        raise NoAnswer("data with a requestId that nobody can ask for")
    model = data.get("model")
    return Snapshot(
        request_id=request_id,
        status=_line(status, origin, 60),
        model=_line(model, origin, 200) if isinstance(model, str) else "",
        media=_items(data.get("media")),
        cost=_dollars(data.get("costUsd")),
        reason=_reason(data, origin),
    )


def data_of(body: bytes, origin: Origin) -> Any:
    """Return what stands in the envelope of a good answer; errors as for `snapshot`."""
    try:
        envelope = json.loads(body)
    except (ValueError, RecursionError):
        raise NoAnswer("a body that is no JSON") from None
    if not isinstance(envelope, Mapping) or not isinstance(envelope.get("success"), bool):
        raise NoAnswer("a body without `success`")
    if not envelope["success"]:
        said = envelope.get("error")
        text = _line(said, origin) if isinstance(said, str) and said.strip() else ""
        raise Refused(text or "no reason was given")
    if envelope.get("data") is None:
        raise NoAnswer("a success without data")
    return envelope["data"]


def refusal(
    origin: Origin, asked: str, status: int, headers: Mapping[str, str], body: bytes
) -> ModelError:
    """Return the error about an answer with a bad status.

    Parameters
    ----------
    asked
        The method and the address, without a query.
    """
    error = failures.from_answer(origin, status, headers, body)
    said = f"{asked} answered {status}: {detail(body, origin)}"
    error.problem = " ".join(filter(None, (said, failures.asked_wait(error.retry_after))))
    error.args = (error.problem,)
    return error


def detail(body: bytes, origin: Origin) -> str:
    """Return a service's words: its ``error``, else all; at most `MOST_DETAIL` bytes."""
    text = body.decode("utf-8", "replace")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, Mapping) and said.get("error"):
        words = said["error"]
        text = words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
    return _line(text, origin) or "(an empty body)"


def failed(origin: Origin, problem: str, fix: str, **facts: Any) -> GenerationFailed:
    """Return the error about a job, without keys and queries of addresses in it."""
    problem = failures.redacted(without_queries(problem), *origin.hidden)
    return GenerationFailed(problem, fix=fix, provider=origin.provider, **facts)


def cut(text: str, most: int) -> str:
    """Return the beginning of `text` that has at most `most` bytes, with ``…`` if it is less."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return text
    return data[: most - len("…".encode())].decode("utf-8", "ignore") + "…"


def _line(text: str, origin: Origin, most: int = MOST_DETAIL) -> str:
    """Return `text` on one line: visible, short, and without what is secret."""
    text = text[: 8 * MOST_DETAIL]
    seen = "".join(" " if unicodedata.category(one) in _INVISIBLE else one for one in text)
    line = " ".join(seen.split())
    return cut(failures.redacted(without_data(without_queries(line)), *origin.hidden), most)


def _items(media: object) -> tuple[Item, ...]:
    items = []
    for one in media if isinstance(media, list) else ():
        if not isinstance(one, Mapping):
            continue
        kind, url, thumbnail = one.get("type"), one.get("url"), one.get("thumbnailUrl")
        if isinstance(kind, str) and isinstance(url, str) and url:
            small = thumbnail if isinstance(thumbnail, str) else ""
            items.append(Item(type=kind, url=url, thumbnail_url=small))
    return tuple(items)


def _dollars(cost: object) -> Decimal | None:
    if isinstance(cost, bool) or not isinstance(cost, (int, float)):
        return None
    return Decimal(str(cost)) if math.isfinite(cost) and cost >= 0 else None


def _reason(data: Mapping[str, Any], origin: Origin) -> str:
    """Return why a job failed; the protocol names no field for it, and services use these."""
    for name in ("error", "reason", "failureReason", "message"):
        said = data.get(name)
        if isinstance(said, Mapping):
            said = said.get("message")
        if isinstance(said, str) and said.strip():
            return _line(said, origin)
    return ""
