"""A script, to OpenAI's Chat Completions and Responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentcell.testing.provider_server import ProviderServer
from agentcell.testing.replies import Reply, pieces, server_event


class ChatServer(ProviderServer):
    """Speaks OpenAI's Chat Completions."""

    path = "/chat/completions"

    def events(self, reply: Reply, model: str) -> Iterator[bytes]:
        """Yield a streamed answer; see `Scripted.events`."""

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            return server_event({**_chat_head(model), "choices": [choice]}, reply.newline)

        yield chunk({"role": "assistant", "content": "", "refusal": None})
        for piece in reply.thinking:
            yield chunk({"reasoning_content": piece})
        for piece in reply.text:
            yield chunk({"content": piece})
        if reply.refusal:
            yield chunk({"refusal": reply.refusal})
        for index, call in enumerate(reply.calls):
            function = {"name": call.name, "arguments": ""}
            head = {"index": index, "id": call.id, "type": "function", "function": function}
            yield chunk({"tool_calls": [head]})
            for piece in pieces(call.arguments, call.pieces):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, reply.finish)
        if reply.usage is not None:
            whole = {**_chat_head(model), "choices": [], "usage": _chat_usage(reply.usage)}
            yield server_event(whole, reply.newline)
        if reply.done:
            yield f"data: [DONE]{reply.newline * 2}".encode()

    def document(self, reply: Reply, model: str) -> dict[str, Any]:
        """Return an answer as one document."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": "".join(reply.text) or None,
            "refusal": reply.refusal or None,
        }
        if reply.thinking:
            message["reasoning_content"] = "".join(reply.thinking)
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in reply.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": reply.finish}
        whole = {**_chat_head(model), "object": "chat.completion", "choices": [choice]}
        if reply.usage is not None:
            whole["usage"] = _chat_usage(reply.usage)
        return whole


class ResponsesServer(ProviderServer):
    """Speaks OpenAI's Responses."""

    path = "/responses"
    files_as = "openai"

    def events(self, reply: Reply, model: str) -> Iterator[bytes]:
        """Yield a streamed answer; see `Scripted.events`."""
        count = 0

        def event(kind: str, **values: Any) -> bytes:
            nonlocal count
            count += 1
            body = {"type": kind, "sequence_number": count - 1, **values}
            return server_event(body, reply.newline, name=kind)

        yield event("response.created", response=self._response(reply, model, "in_progress"))
        yield event("response.in_progress", response=self._response(reply, model, "in_progress"))
        calls = iter(reply.calls)
        for index, item in enumerate(self._items(reply)):
            at = {"output_index": index, "item_id": item["id"]}
            begun = {**item, "status": "in_progress"}
            if item["type"] == "reasoning":
                begun = {**item, "summary": [], "encrypted_content": ""}
            elif item["type"] == "message":
                begun["content"] = []
            else:
                begun["arguments"] = ""
            yield event("response.output_item.added", output_index=index, item=begun)
            if item["type"] == "reasoning":
                for piece in reply.thinking:
                    yield event(
                        "response.reasoning_summary_text.delta", **at, summary_index=0, delta=piece
                    )
            elif item["type"] == "message":
                yield from self._message_events(event, reply, at)
            else:
                call = next(calls)  # in order: several may have the same id
                for piece in pieces(call.arguments, call.pieces):
                    yield event("response.function_call_arguments.delta", **at, delta=piece)
                yield event(
                    "response.function_call_arguments.done",
                    **at,
                    name=call.name,
                    arguments=call.arguments,
                )
            yield event("response.output_item.done", output_index=index, item=item)
        status = _responses_status(reply)
        yield event(f"response.{status}", response=self._response(reply, model, status))

    @staticmethod
    def _message_events(event: Any, reply: Reply, at: dict[str, Any]) -> Iterator[bytes]:
        at = {**at, "content_index": 0}
        kind = "refusal" if reply.refusal else "output_text"
        pieces = (reply.refusal,) if reply.refusal else reply.text
        yield event("response.content_part.added", **at, part=_part(kind, ""))
        for piece in pieces:
            yield event(f"response.{kind}.delta", **at, delta=piece, obfuscation="x1y2")
        whole = "".join(pieces)
        done = {"refusal": whole} if reply.refusal else {"text": whole, "logprobs": []}
        yield event(f"response.{kind}.done", **at, **done)
        yield event("response.content_part.done", **at, part=_part(kind, whole))

    def document(self, reply: Reply, model: str) -> dict[str, Any]:
        """Return an answer as one document."""
        return self._response(reply, model, _responses_status(reply))

    def _response(self, reply: Reply, model: str, status: str) -> dict[str, Any]:
        at_end = status != "in_progress"
        reason = {"length": "max_output_tokens", "content_filter": "content_filter"}
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_790_000_000,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": reason.get(reply.finish)}
            if status == "incomplete"
            else None,
            "model": model or self.model,
            "output": self._items(reply) if at_end else [],
            "usage": _responses_usage(reply.usage) if at_end and reply.usage else None,
        }

    @staticmethod
    def _items(reply: Reply) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        if reply.thinking:
            summary = [{"type": "summary_text", "text": "".join(reply.thinking)}]
            items.append(
                {
                    "id": "rs_1",
                    "type": "reasoning",
                    "summary": summary,
                    "encrypted_content": "gAAAA-sealed",
                }
            )
        if reply.text or reply.refusal or not reply.calls:
            kind = "refusal" if reply.refusal else "output_text"
            items.append(
                {
                    "id": "msg_1",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "phase": "final_answer",
                    "content": [_part(kind, reply.refusal or "".join(reply.text))],
                }
            )
        items.extend(
            {
                "id": f"fc_{number}",
                "type": "function_call",
                "status": "completed",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments,
            }
            for number, call in enumerate(reply.calls, 1)
        )
        return items

    def error_event(self, error: Mapping[str, Any], newline: str) -> bytes:
        """Return an error in the middle of a stream."""
        # OpenAI's schema has the error's fields beside "type"; the service has nested them, too.
        fields = {"error": dict(error)} if "type" in error else dict(error)
        return server_event(
            {"sequence_number": 9, **fields, "type": "error"}, newline, name="error"
        )


def _chat_head(model: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": model,
    }


def _chat_usage(usage: tuple[int, ...]) -> dict[str, Any]:
    cached, reasoning = (*usage[2:], 0, 0)[:2]
    return {
        "prompt_tokens": usage[0],
        "completion_tokens": usage[1],
        "total_tokens": usage[0] + usage[1],
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


def _responses_usage(usage: tuple[int, ...]) -> dict[str, Any]:
    cached, reasoning = (*usage[2:], 0, 0)[:2]
    return {
        "input_tokens": usage[0],
        "output_tokens": usage[1],
        "total_tokens": usage[0] + usage[1],
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": reasoning},
    }


def _responses_status(reply: Reply) -> str:
    return "incomplete" if reply.finish in {"length", "content_filter"} else "completed"


def _part(kind: str, text: str) -> dict[str, Any]:
    if kind == "refusal":
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
