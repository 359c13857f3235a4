"""A script, to Gemini's generate_content."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agentcell.testing.provider_server import ProviderServer
from agentcell.testing.replies import Reply, Request, server_event

SEAL = "c2VhbGVkLWJ5LWdlbWluaQ=="
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_ENDS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}


class GeminiServer(ProviderServer):
    """Speaks generate_content. Nothing but the end of the body ends a stream."""

    path = ":streamGenerateContent"
    files_as = "gemini"
    request_id_header = "x-goog-nothing"  # the answer names itself, in its body
    ends = frozenset({"length", "content_filter"})
    extras = ({"serviceTier": "flex"}, {"generationConfig": {"seed": 7}})

    def serves(self, path: str) -> bool:
        """Return whether questions to the model go to `path`."""
        return path.endswith((self.path, ":generateContent"))

    def error_document(self, status: int, message: str, error: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of a refusal."""
        word = _STATUSES.get(status, "UNKNOWN")
        return {"error": {"code": status, "message": message, "status": word, **error}}

    def key_of(self, request: Request) -> str:
        """Return the key that came with `request`."""
        return request.headers.get("x-goog-api-key", "")

    def model_of(self, request: Request) -> str:
        """Return the model that `request` asks."""
        return request.path.partition("/models/")[2].partition(":")[0] or self.model

    def wants_stream(self, request: Request) -> bool:
        """Return whether `request` asks for a stream of events."""
        return request.path.endswith("?alt=sse")

    def events(self, reply: Reply, model: str) -> Iterator[bytes]:
        """Yield a streamed answer; see `Scripted.events`."""

        def chunk(*parts: dict[str, Any], **fields: Any) -> bytes:
            candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **fields}
            body = {"candidates": [candidate], **_head(model)}
            if reply.usage is not None:
                body["usageMetadata"] = _usage(reply.usage)
            return server_event(body, reply.newline)

        yield chunk({"text": ""})
        for part in _parts(reply, streamed=True):
            yield chunk(part)
        end = {"text": "", **({"thoughtSignature": SEAL} if reply.thinking else {})}
        yield chunk(end, finishReason=_ENDS[reply.finish])

    def document(self, reply: Reply, model: str) -> dict[str, Any]:
        """Return an answer as one document."""
        content = {"role": "model", "parts": _parts(reply, streamed=False)}
        candidate = {"content": content, "index": 0, "finishReason": _ENDS[reply.finish]}
        whole = {"candidates": [candidate], **_head(model)}
        if reply.usage is not None:
            whole["usageMetadata"] = _usage(reply.usage)
        return whole


def _head(model: str) -> dict[str, Any]:
    return {"modelVersion": model, "responseId": "req_1"}


def _parts(reply: Reply, *, streamed: bool) -> list[dict[str, Any]]:
    thoughts = reply.thinking if streamed else ("".join(reply.thinking),)
    texts = reply.text if streamed else ("".join(reply.text),)
    parts: list[dict[str, Any]] = [{"text": piece, "thought": True} for piece in thoughts if piece]
    parts += [{"text": piece} for piece in texts if piece]
    for number, call in enumerate(reply.calls):
        try:
            arguments = json.loads(call.arguments)
        except ValueError:
            arguments = call.arguments  # what a server with a fault would send
        part: dict[str, Any] = {
            "functionCall": {"id": call.id, "name": call.name, "args": arguments}
        }
        parts.append(part if number else {**part, "thoughtSignature": SEAL})
    return parts


def _usage(usage: tuple[int, ...]) -> dict[str, Any]:
    cached, thought = (*usage[2:], 0, 0)[:2]
    return {
        "promptTokenCount": usage[0],
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": usage[1] - thought,
        "thoughtsTokenCount": thought,
        "totalTokenCount": usage[0] + usage[1],
    }
