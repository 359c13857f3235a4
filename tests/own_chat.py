"""An adapter as a stranger would write it: the standard library, one request, no stream.

Each step is a method, so that a test can do one of them wrong.
"""

from __future__ import annotations

import base64
import http.client
import json
import urllib.error
import urllib.request
from typing import Any

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.events import ModelResponseType
from agentcell.adapters.model import Model
from agentcell.errors import (
    AuthenticationError,
    BadRequest,
    ConnectionFailed,
    ModelError,
    RateLimited,
    ServiceError,
    Unsupported,
)
from agentcell.messages import MediaMessageBlock

ERRORS: dict[int, type[ModelError]] = {
    401: AuthenticationError,
    403: AuthenticationError,
    429: RateLimited,
}


class OwnChat(Model):
    """One model behind Chat Completions."""

    provider = "own"
    able = ModelCapabilities(image_input=True, streaming=False)

    def __init__(self, model_name: str, api_key: str, base_url: str) -> None:
        super().__init__(model_name, capabilities=self.able)
        self.api_key = api_key
        self.base_url = base_url

    def invoke(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        if tools and not self.capabilities.tools:
            raise Unsupported(f"{self.name} calls no tools.", fix="leave the tools out.")
        body: dict[str, Any] = {"model": self.model_name, "messages": self.encoded(messages)}
        if tools:
            body["tools"] = [{"type": "function", "function": tool} for tool in tools]
        return self.decoded(self.sent(body, {**(settings or {}), **kwargs}))

    def encoded(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [self.message(message) for message in messages]

    def message(self, message: dict[str, Any]) -> dict[str, Any]:
        said: dict[str, Any] = {
            name: message[name] for name in ("role", "tool_call_id") if name in message
        }
        content = message["content"]
        said["content"] = content if isinstance(content, str) else [*map(self.part, content)]
        if calls := message.get("tool_calls"):
            said["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for call in calls
            ]
        return said

    def part(self, block: Any) -> dict[str, Any]:
        if isinstance(block, MediaMessageBlock):
            data = base64.b64encode(block.asset.load_bytes()).decode()
            return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        return {"type": "text", "text": block["text"] if isinstance(block, dict) else block.text}

    def headers(self) -> dict[str, str]:
        return {"content-type": "application/json", "authorization": f"Bearer {self.api_key}"}

    def sent(self, body: dict[str, Any], _settings: dict[str, Any]) -> bytes:
        data = json.dumps(body).encode()
        url = f"{self.base_url}/chat/completions"
        request = urllib.request.Request(url, data, self.headers())  # noqa: S310 (http, given)
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
                whole: bytes = answer.read()
                return whole
        except urllib.error.HTTPError as error:
            with error:
                raise self.refusal(error.code, error.read().decode()) from error
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionFailed(f"{self.name} broke off: {error}", fix="try again.") from error

    def refusal(self, status: int, text: str) -> ModelError:
        kind = ERRORS.get(status, ServiceError if status >= 500 else BadRequest)
        del text  # it may repeat the key
        return kind(f"{self.name} answered {status}.", fix="try again.", status=status)

    def decoded(self, data: bytes) -> dict[str, Any]:
        try:
            choice = json.loads(data)["choices"][0]
        except (ValueError, LookupError) as error:
            raise ServiceError(f"{self.name} sent no answer.", fix="try again.") from error
        message = choice["message"]
        if calls := message.get("tool_calls"):
            content = [
                {
                    "id": call["id"],
                    "name": call["function"]["name"],
                    "arguments": json.loads(call["function"]["arguments"]),
                }
                for call in calls
            ]
            return {"type": ModelResponseType.TOOL_CALL, "content": content}
        return {"type": ModelResponseType.CONTENT, "content": message["content"] or ""}
