"""A script, to Anthropic's Messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agentcell.testing.provider_server import ProviderServer
from agentcell.testing.replies import Call, Reply, Request, pieces, server_event

_SERVER = 500
_ERRORS = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""The service's own words for a status, as its SDK 2.14 lists them."""
_ENDS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


class AnthropicServer(ProviderServer):
    """Speaks Anthropic's Messages. Its base address may end in ``/v1`` or not."""

    path = "/v1/messages"
    files_as = "anthropic"
    request_id_header = "request-id"
    ends = frozenset({"length", "refusal"})
    extras = ({"service_tier": "auto"}, {"metadata": {"user_id": "b"}})

    def events(self, reply: Reply, model: str) -> Iterator[bytes]:
        """Yield a streamed answer; see `Scripted.events`."""

        def event(kind: str, **values: Any) -> bytes:
            return server_event({"type": kind, **values}, reply.newline, name=kind)

        whole = self.document(reply, model)
        blocks = whole["content"]
        start = {**whole, "content": [], "stop_reason": None, "stop_details": None}
        if reply.usage is not None:
            start["usage"] = {**whole["usage"], "output_tokens": 1, "output_tokens_details": None}
        yield event("message_start", message=start)
        yield event("ping")
        calls = iter(reply.calls)
        for index, block in enumerate(blocks):
            empty: dict[str, Any] = {
                "text": {"type": "text", "text": ""},
                "thinking": {"type": "thinking", "thinking": "", "signature": ""},
                "tool_use": {**block, "input": {}},
            }[block["type"]]
            yield event("content_block_start", index=index, content_block=empty)
            for delta in self._deltas(block, reply, calls):
                yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        end = {name: whole[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
        usage = {"usage": whole["usage"]} if reply.usage is not None else {}
        yield event("message_delta", delta=end, **usage)
        yield event("message_stop")

    @staticmethod
    def _deltas(
        block: dict[str, Any], reply: Reply, calls: Iterator[Call]
    ) -> Iterator[dict[str, Any]]:
        match block["type"]:
            case "text":
                yield from ({"type": "text_delta", "text": piece} for piece in reply.text)
            case "thinking":
                for piece in reply.thinking:
                    yield {"type": "thinking_delta", "thinking": piece}
                yield {"type": "signature_delta", "signature": block["signature"]}
            case "tool_use":
                call = next(calls)  # in order: several may have the same id
                yield {"type": "input_json_delta", "partial_json": ""}
                for piece in pieces(call.arguments, call.pieces):
                    yield {"type": "input_json_delta", "partial_json": piece}

    def document(self, reply: Reply, model: str) -> dict[str, Any]:
        """Return an answer as one document."""
        whole: dict[str, Any] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": self._blocks(reply),
            "stop_reason": "refusal" if reply.refusal else _ENDS.get(reply.finish, reply.finish),
            "stop_sequence": None,
            "stop_details": None,
        }
        if reply.refusal:
            details = {"type": "refusal", "category": "cyber", "explanation": reply.refusal}
            whole["stop_details"] = details
        if reply.usage is not None:
            cached, thought = (*reply.usage[2:], 0, 0)[:2]
            whole["usage"] = {
                "input_tokens": reply.usage[0] - cached,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": cached,
                "output_tokens": reply.usage[1],
                "output_tokens_details": {"thinking_tokens": thought},
            }
        return whole

    @staticmethod
    def _blocks(reply: Reply) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        if reply.thinking:
            thought = "".join(reply.thinking)
            blocks.append({"type": "thinking", "thinking": thought, "signature": "EqQBCg-sealed"})
        if reply.text:
            blocks.append({"type": "text", "text": "".join(reply.text)})
        for call in reply.calls:
            try:
                arguments = json.loads(call.arguments)
            except ValueError:
                arguments = call.arguments
            block = {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}
            blocks.append(block)
        return blocks

    def error_event(self, error: Mapping[str, Any], newline: str) -> bytes:
        """Return an error in the middle of a stream."""
        body = {"type": "error", "error": dict(error)}
        return server_event(body, newline, name="error")

    def error_document(self, status: int, message: str, error: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of a refusal."""
        kind = _ERRORS.get(status, "api_error" if status >= _SERVER else "invalid_request_error")
        return {
            "type": "error",
            "error": {"type": kind, "message": message, **error},
            "request_id": "req_1",
        }

    def key_of(self, request: Request) -> str:
        """Return the key that came with `request`."""
        return request.headers.get("x-api-key") or super().key_of(request)
