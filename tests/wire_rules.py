"""A request's body, to what a service of today refuses in it although its types allow it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_KINDS = {
    *("text", "inlineData", "fileData", "functionCall", "functionResponse"),
    *("executableCode", "codeExecutionResult", "toolCall", "toolResponse"),
}
"""What a part of Gemini's may hold, one of them."""


def check_anthropic(body: Mapping[str, Any]) -> None:
    """Check the rules of 2026-10-21, and those on tools, thinking and empty texts."""
    assert not body.keys() & {"temperature", "top_p", "top_k"}
    messages = body["messages"]
    assert messages
    used: set[str] = set()
    open_calls: list[str] = []
    for message in messages:
        blocks = _blocks(message["content"])
        assert blocks, "a message says something"
        kinds = [block["type"] for block in blocks]
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        assert sorted(results) == sorted(open_calls), "each call is answered, in the next message"
        assert kinds[: len(results)] == ["tool_result"] * len(results), "results stand first"
        open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for call_id in open_calls:
            assert re.fullmatch(r"[a-zA-Z0-9_-]+", call_id), call_id
            assert call_id not in used, "no id twice"
            used.add(call_id)
        if message["role"] == "assistant":
            assert "document" not in kinds
            assert kinds[-1] not in {"thinking", "redacted_thinking"}
        for block in _all_blocks(blocks):
            assert block["type"] != "text" or block["text"].strip()
            assert message["role"] == "assistant" or not isinstance(block.get("citations"), list)
    assert not open_calls or messages[-1]["role"] == "assistant"
    assert not used or body.get("tools"), "who shows calls of tools tells tools"


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _all_blocks(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        yield block
        if block["type"] == "tool_result" and isinstance(block.get("content"), list):
            yield from block["content"]


def check_gemini(body: Mapping[str, Any]) -> None:
    """Check that each part is of one kind, and that results answer the calls before them."""
    contents = body["contents"]
    assert contents
    calls: list[tuple[str, str | None]] = []
    for content in contents:
        parts = content["parts"]
        assert parts, "a content says something"
        assert content["role"] in {"user", "model"}
        for part in parts:
            assert len(part.keys() & _KINDS) == 1, part
        answered = [_named(p["functionResponse"]) for p in parts if "functionResponse" in p]
        assert answered == calls, "each call is answered, in the next content"
        calls = [_named(part["functionCall"]) for part in parts if "functionCall" in part]
        assert not calls or content["role"] == "model"
    for part in body.get("systemInstruction", {"parts": []})["parts"]:
        assert part.keys() == {"text"}


def _named(call: Mapping[str, Any]) -> tuple[str, str | None]:
    assert call["name"]
    return call["name"], call.get("id")
