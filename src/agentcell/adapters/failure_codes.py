"""The object in which a service describes an error, to the codes, the words and the wait in it.

Codes and types of OpenAI's (SDK 3.57 and its guide to error codes), Anthropic's (SDK 2.14),
Google's (https://ai.google.dev/gemini-api/docs/troubleshooting, and google.rpc), and of servers
that speak their protocols; all read 2026-11-29.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

QUOTA = {
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
    "contract_spend_limit_reached",
    "enforced_spend_limit_reached",
    "linked_organization_spend_limit_reached",
    "daily_quota",
}
"""Waiting a little does not help."""

FILTERED = {
    "content_policy_violation",
    "moderation_blocked",
    "image_content_policy_violation",
    "content_filter",
    "bio_policy",
    "misalignment_policy_violation",
}
LARGE = {
    "context_length_exceeded",
    "exceed_context_size_error",
    "string_above_max_length",
    "request_too_large",
    "request_body_too_large_after_decoding",
}
NO_MODEL = {"model_not_found", "model_not_available"}
NO_KEY = {"api_key_invalid", "api_key_expired", "invalid_api_key"}
"""Google says these with status 400."""

TOO_LONG = re.compile(
    r"prompt is too long|exceed(s)? context limit|input token count .{0,40}exceeds"
    r"|request payload size exceeds",
    re.IGNORECASE,
)
"""How Anthropic and Google say with status 400 that a request is too large."""

NO_IMAGES = re.compile(
    r"image input is not supported|not a multimodal model|data required for image input"
    r"|does not support (images?|vision|multimodal)",
    re.IGNORECASE,
)
"""How servers that people run themselves say that their model has no eyes: llama.cpp with status
500, vLLM and Ollama with 400."""

STATUS_OF = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "too_many_requests": 429,
    "resource_exhausted": 429,
    "tokens": 429,
    "requests": 429,
    "overloaded_error": 529,
    "overloaded": 529,
    "slow_down": 503,
    "unavailable": 503,
    "server_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "internal": 500,
    "api_error": 500,
    "timeout": 504,
    "timeout_error": 504,
    "deadline_exceeded": 504,
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "invalid_argument": 400,
    "failed_precondition": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "unauthenticated": 401,
    "billing_error": 402,
    "permission_error": 403,
    "permission_denied": 403,
    "not_found_error": 404,
    "not_found": 404,
    "request_too_large": 413,
}
"""The status that an error in the middle of a stream stands for."""


def error_object(body: bytes | str) -> Mapping[str, Any]:
    """Return the error in a body: ``{"error": {…}}``, ``{"error": "…"}``, ``{"detail": …}``.

    Anthropic's name for the request stands beside the error, and is put into it.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if isinstance(document, list) and document:  # Google sends a list where a stream was asked for
        document = document[0]
    if not isinstance(document, dict):
        return {"message": str(document)}
    error = document.get("error")
    if isinstance(error, dict):
        request_id = document.get("request_id")
        return {**error, "request_id": request_id} if isinstance(request_id, str) else error
    if isinstance(error, str):
        return {**document, "message": document.get("message") or error}
    return document


def codes_of(error: Mapping[str, Any]) -> set[str]:
    """Return all that tells what kind of error it is, in lower case."""
    names = ("code", "type", "status", "error_code")
    codes = {str(error[name]).lower() for name in names if isinstance(error.get(name), (str, int))}
    for detail in _details(error):
        codes |= {
            str(detail[name]).lower() for name in ("error_code", "reason") if detail.get(name)
        }
        codes |= {"daily_quota" for quota in _quotas(detail) if "PerDay" in quota}
    return codes


def retry_delay(error: Mapping[str, Any]) -> float | None:
    """Return the seconds that Google asks to wait, ``{"retryDelay": "34.07s"}``, or None."""
    for detail in _details(error):
        delay = re.fullmatch(r"(\d+(?:\.\d+)?)s", str(detail.get("retryDelay")))
        if delay:
            return float(delay[1])
    return None


def _details(error: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield Anthropic's one object of details, or those of Google's list."""
    details = error.get("details")
    for detail in details if isinstance(details, list) else [details]:
        if isinstance(detail, Mapping):
            yield detail


def _quotas(detail: Mapping[str, Any]) -> Iterator[str]:
    violations = detail.get("violations")
    for violation in violations if isinstance(violations, list) else []:
        if isinstance(violation, Mapping):
            yield str(violation.get("quotaId"))
