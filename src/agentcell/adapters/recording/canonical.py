"""A question in any spelling, to the one form that tells whether it was asked before.

The form is neutral of providers: texts, tools, settings and the model's name as they were given,
attachments by the SHA-256 of what the person attached. It holds no key, no path and no address
of a server, and keys of objects have no order, so a moved folder asks the same question.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentcell.adapters.recording.content import named
from agentcell.errors import ModelError
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock, ToolCall

_DATA = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,")


def canonical(
    model: str,
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]] | None,
    settings: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return what is asked, as JSON values.

    Parameters
    ----------
    model
        ``provider/model``.
    messages, tools, settings
        As `Model.invoke` takes them.

    Raises
    ------
    ModelError
        If a tool or a setting holds what cannot be written down.
    """
    asked = {
        "model": model,
        "settings": {
            name: _setting(name, value)
            for name, value in (settings or {}).items()
            if value is not None
        },
        "tools": [_tool(tool) for tool in tools or ()],
        "messages": [_message(message) for message in messages],
    }
    return _plain(asked, "the request")  # type: ignore[no-any-return]


def key_of(asked: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a canonical question, 64 hexadecimal digits."""
    text = json.dumps(asked, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _setting(name: str, value: Any) -> Any:
    if name != "schema" or (isinstance(value, Mapping) and "properties" not in value):
        return value
    from agentcell.adapters.schema import Schema

    return Schema.of(value).document


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool without the wrapping that some providers put round it."""
    function = tool.get("function")
    return dict(function) if isinstance(function, Mapping) else dict(tool)


def _message(message: Message) -> dict[str, Any]:
    """Return a message without what only its own provider reads."""
    said: dict[str, Any] = {"role": message.get("role"), "content": _content(message["content"])}
    if calls := message.get("tool_calls"):
        said["calls"] = [_call(call) for call in calls]
    for name in ("tool_call_id", "name"):
        if message.get(name):
            said[name] = message[name]
    return said


def _content(content: Any) -> Any:
    if isinstance(content, (list, tuple)):
        return [_block(block) for block in content]
    return [{"text": content}] if isinstance(content, str) and content else content or []


def _block(block: Any) -> Any:
    if isinstance(block, str):
        return {"text": block}
    if isinstance(block, TextMessageBlock):
        return {"text": block.text}
    if isinstance(block, MediaMessageBlock):
        asset = block.asset
        return {"tag": block.tag, "media": asset.made_from or asset.fingerprint()}
    if isinstance(block, Mapping) and block.get("type") == "text":
        return {"text": block.get("text")}
    return block


def _call(call: Any) -> Any:
    if not isinstance(call, ToolCall):
        return call
    arguments: Any = call.raw_arguments or call.arguments
    return {"id": call.id, "name": call.name, "arguments": arguments}


def _plain(value: Any, where: str) -> Any:
    """Return JSON values alone; the content of a data address becomes its SHA-256."""
    if isinstance(value, str):
        return _without_content(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{where}[{number}]") for number, item in enumerate(value)]
    raise ModelError(
        f"{where} holds a {type(value).__name__}, which cannot be written into a recording.",
        fix="use texts, numbers, lists and dicts there; or stop recording: %agent record off.",
    )


def _without_content(text: str) -> str:
    found = _DATA.match(text)
    if found is None:
        return named(text)
    digest = hashlib.sha256(text[found.end() :].encode("utf-8", "surrogatepass")).hexdigest()
    return f"{found.group()}sha256:{digest}"
