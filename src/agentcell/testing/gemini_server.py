"""A script, to Gemini's generate_content."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agentcell.testing.provider_server import ProviderServer, server_event
from agentcell.testing.replies import Reply, Request

SEAL = "c2VhbGVkLWJ5LWdlbWluaQ=="
_ENDS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}


class GeminiServer(ProviderServer):
    """Speaks generate_content. Nothing but the end of the body ends a stream."""

    path = ":streamGenerateContent"
    request_id_header = "x-goog-nothing"  # the answer names itself, in its body

    def key_of(self, request: Request) -> str:
        return request.headers.get("x-goog-api-key", "")

    def model_of(self, request: Request) -> str:
        return request.path.partition("/models/")[2].partition(":")[0] or self.model

    def wants_stream(self, request: Request) -> bool:
        return request.path.endswith("?alt=sse")

    def events(self, reply: Reply, model: str) -> Iterator[bytes]:
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
