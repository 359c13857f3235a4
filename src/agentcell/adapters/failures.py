"""What goes wrong with a request, in a service's or a library's words, to one of our errors.

Whatever comes from outside is shortened to one line, and anything that looks like a key is
taken out of it, before it becomes a message.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agentcell.adapters import redaction
from agentcell.adapters.failure_codes import (
    FILTERED,
    LARGE,
    NO_IMAGES,
    NO_KEY,
    NO_MODEL,
    QUOTA,
    STATUS_OF,
    TOO_LONG,
    codes_of,
    error_object,
    retry_delay,
)
from agentcell.adapters.retry import retry_after_seconds
from agentcell.errors import (
    AuthenticationError,
    BadRequest,
    ContentFiltered,
    ModelError,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    ServiceError,
    StreamTruncated,
    Timeout,
    TooLarge,
    UnknownModel,
)
from agentcell.keys.traces import without_traces

_LONGEST_MESSAGE = 300
"""Characters of a service's own message that are shown."""

WAIT = "wait a little, then run the cell again."
THEN = "wait that long, then run the cell again."

_LONGEST_WAIT = 366 * 86_400
"""Seconds; a service that says to wait longer has not meant it so."""

_RETRYABLE = {408, 409, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Whom a request went to, for the messages of errors.

    `secrets` are others besides the key: of headers, and of the address. `fixes` may hold, by
    error class name, better advice than the general one.
    """

    provider: str
    model: str
    address: str = ""
    key: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    key_variable: str = ""
    is_local: bool = False
    request_id: str | None = None
    fixes: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """``provider/model``."""
        return f"{self.provider}/{self.model}" if self.model else self.provider

    @property
    def hidden(self) -> tuple[str, ...]:
        """What must not be shown, the longest first."""
        return redaction.by_length((self.key, *self.secrets))

    def with_request_id(self, request_id: str | None) -> Origin:
        """Return a copy that names the request."""
        return replace(self, request_id=request_id) if request_id else self

    def error(self, kind: type[ModelError], problem: str, fix: str, **facts: Any) -> ModelError:
        """Return an error of `kind` about this origin."""
        request_id = facts.setdefault("request_id", self.request_id)
        if request_id:  # a service may give back what it was sent
            facts["request_id"] = one_line(redacted(request_id, *self.hidden))
        return kind(
            redacted(problem, *self.hidden),
            fix=self.fixes.get(kind.__name__, fix),
            provider=self.provider,
            model=self.model,
            **facts,
        )


def redacted(text: str, *keys: str) -> str:
    """Return `text` without `keys`, without parts of them, and without what looks like one."""
    text = redaction.redacted(text, *keys)
    for key in keys:
        text = without_traces(text, key, redaction.REMOVED)
    return text


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """Return the service's name for the request; Anthropic's header has no "x-"."""
    return headers.get("x-request-id") or headers.get("request-id")


def from_answer(
    origin: Origin, status: int, headers: Mapping[str, str], body: bytes | str
) -> ModelError:
    """Return the error that a service answered with `status`."""
    error = error_object(body)
    named = error.get("request_id")
    request_id = request_id_of(headers) or (named if isinstance(named, str) else origin.request_id)
    asked = retry_after_seconds(headers)
    asked = retry_delay(error) if asked is None else asked
    facts = {"status": status, "request_id": request_id, "retry_after": asked}
    said = _said(error, body, origin)
    if 300 <= status < 400 and (location := headers.get("location")):  # noqa: PLR2004
        return _sent_on(origin, status, location, facts)
    problem = f"{origin.name} answered {status}: {said}" if said else _bare(origin, status)
    failure = _classified(origin, status, codes_of(error), problem, facts)
    if (wish := headers.get("x-should-retry")) in {"true", "false"}:
        failure.retryable = wish == "true"
    return failure


def _sent_on(origin: Origin, status: int, location: str, facts: dict[str, Any]) -> ModelError:
    """Return the error about a redirect that was not followed."""
    where = f" at {origin.address}" if origin.address else ""
    problem = f"{origin.name}{where} answered {status}: it sends on to {one_line(location)}"
    fix = "give the address that it names with base_url=…, without the end that is added to it."
    return origin.error(ServiceError, problem, fix, **facts)


def from_event(origin: Origin, error: Mapping[str, Any] | str) -> ModelError:
    """Return the error that came as an event of a stream that had begun with status 200."""
    known = error if isinstance(error, Mapping) else {"message": error}
    codes = codes_of(known)
    status = next((int(code) for code in codes if re.fullmatch("[45][0-9][0-9]", code)), None)
    if status is None:
        status = next((STATUS_OF[code] for code in codes if code in STATUS_OF), None)
    if status is None:
        status = 429 if codes & QUOTA else 400 if codes & (FILTERED | LARGE) else None
    said = _said(known, "", origin) or "no reason was given"
    problem = f"{origin.name} broke off its answer: {said}"
    facts = {"status": status, "request_id": origin.request_id, "retry_after": retry_delay(known)}
    return _classified(origin, status or 500, codes, problem, facts)


def no_answer(origin: Origin, what: str) -> ModelError:
    """Return the error about an answer with status 200 that is none."""
    fix = "check that the address is that of a model's service; it often ends in /v1."
    where = f" at {origin.address}" if origin.address else ""
    return origin.error(
        ServiceError, f"{origin.name}{where} sent {what}; a model's answer was expected.", fix
    )


def not_sendable(origin: Origin, reason: str) -> ModelError:
    """Return the error about a request that cannot be put into bytes."""
    problem = f"The request to {origin.name} cannot be sent: {one_line(reason)}"
    return origin.error(BadRequest, problem, "change that part of the request.")


def truncated(origin: Origin, after: int) -> ModelError:
    """Return the error about a stream that stopped without its end marker."""
    return origin.error(
        StreamTruncated,
        f"The answer of {origin.name} broke off after {after} characters, without the provider's"
        " end marker.",
        "run the cell again.",
        retryable=True,
    )


def one_line(text: str, limit: int = _LONGEST_MESSAGE) -> str:
    """Return `text` on one line of at most `limit` characters."""
    line = " ".join("".join(map(_visible, text)).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def asked_wait(seconds: float | None) -> str:
    """Return the sentence that says when a service may be asked again; "" if it did not say.

    Parameters
    ----------
    seconds
        From now on, as the service gave them.
    """
    if not seconds or seconds > _LONGEST_WAIT:
        return ""
    units = (("day", 86_400), ("hour", 3600), ("minute", 60))
    unit, size = next((one for one in units if seconds >= 2 * one[1]), ("second", 1))
    count = math.ceil(seconds / size)
    return f"It says to wait {count} {unit}{'' if count == 1 else 's'}."


def _visible(character: str) -> str:
    """Return a blank for what would move the cursor, colour the text or turn it round."""
    return " " if unicodedata.category(character) in _INVISIBLE else character


_INVISIBLE = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}


def _classified(
    origin: Origin, status: int, codes: set[str], problem: str, facts: dict[str, Any]
) -> ModelError:
    kind, fix = _kind(origin, status, codes, problem)
    if wait := asked_wait(facts.get("retry_after")):
        problem = f"{problem.rstrip()} {wait}"
        fix = THEN if fix == WAIT else fix
    retryable = status in _RETRYABLE and not issubclass(
        kind, (QuotaExceeded, ContentFiltered, TooLarge)
    )
    if kind is BadRequest and status >= 500:  # noqa: PLR2004
        retryable = False  # a wrong status for what will not pass
    return origin.error(kind, problem, fix, retryable=retryable, **facts)


def _kind(  # noqa: C901, PLR0911, PLR0912 (a table in the order of its tests)
    origin: Origin, status: int, codes: set[str], problem: str
) -> tuple[type[ModelError], str]:
    key = f"check {origin.key_variable} or api_key" if origin.key_variable else "check api_key"
    if status == 402 or codes & QUOTA:  # noqa: PLR2004
        return QuotaExceeded, "add credit to the account, or use another model: `-m local`."
    if status == 429:  # noqa: PLR2004
        return RateLimited, WAIT
    if codes & FILTERED:
        return ContentFiltered, "word the question differently, or leave the attachment out."
    if NO_IMAGES.search(problem):
        return BadRequest, "leave the image out, or use a model that takes images."
    if status == 413 or codes & LARGE or (status == 400 and TOO_LONG.search(problem)):  # noqa: PLR2004
        return TooLarge, "send less: a smaller file, or start the conversation over."
    if status in {401, 403} or codes & NO_KEY:
        return (
            AuthenticationError,
            f"{key}; a key that is refused may be old or of another account.",
        )
    if status == 404:  # noqa: PLR2004
        if codes & NO_MODEL or "model" in problem.partition(f"{origin.name} answered")[2].lower():
            return UnknownModel, "check the model's name."
        return BadRequest, "check the address (base_url); it often ends in /v1."
    if status == 407:  # noqa: PLR2004
        return AuthenticationError, "give the proxy's user and password in HTTPS_PROXY."
    if status == 408:  # noqa: PLR2004
        return Timeout, WAIT
    if status in {503, 529}:
        return Overloaded, WAIT
    if 400 <= status < 500:  # noqa: PLR2004
        return BadRequest, "change what the service names in its answer."
    if status >= 500:  # noqa: PLR2004
        return ServiceError, WAIT
    return ServiceError, "check the address (base_url)."


def _bare(origin: Origin, status: int) -> str:
    return f"{origin.name} answered {status} and gave no reason."


def _said(error: Mapping[str, Any], body: bytes | str, origin: Origin) -> str:
    """Return the service's own words, on one line, without keys."""
    words = error.get("message") or error.get("detail") or error.get("title")
    if not words:
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        words = error and json.dumps(dict(error), ensure_ascii=False)
        words = words or _page_text(text)
    if not isinstance(words, str):
        words = json.dumps(words, ensure_ascii=False)
    return one_line(redacted(redaction.without_data(words), *origin.hidden))


def _page_text(page: str) -> str:
    """Return what an HTML error page says: its title, else its text."""
    import html

    if "<" not in page:
        return page
    title = re.search(r"<title[^>]*>(.*?)</title>", page, re.IGNORECASE | re.DOTALL)
    if title and title[1].strip():
        return html.unescape(title[1])
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.IGNORECASE | re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", bare))
