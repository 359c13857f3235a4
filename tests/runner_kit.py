"""A model that says what a test wants, and what a run of it told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agentcell import tool
from agentcell.runner.result import RunResult

HI = [{"role": "user", "content": "Hi"}]
KEY = "AIzaSyTestKeyOfNobody1234567890abcdefg"


def run(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


def wants(name: str, arguments: str = "{}", call_id: str = "c1") -> dict[str, Any]:
    """An answer in OpenAI's words that calls a tool."""
    function = {"name": name, "arguments": arguments}
    return {"content": None, "tool_calls": [{"id": call_id, "function": function}]}


def says(*answers: Any) -> Callable[..., Any]:
    """A fake llm_call: gives `answers` in order, the last again and again; keeps what it got."""

    async def llm_call(messages: list[Any], model: str | None = None, **options: Any) -> Any:
        asked.append({"messages": messages, "model": model, **options})
        answer = answers[min(len(asked), len(answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    asked: list[dict[str, Any]] = []
    llm_call.asked = asked  # type: ignore[attr-defined]
    return llm_call


def told(result: RunResult) -> list[str]:
    """What tools gave, in order, as the model reads it."""
    return [one["content"] for one in result["messages"] if one["role"] == "tool"]


@tool(read_only=True)
def look_up(x: int = 0) -> str:
    """Look something up."""
    return f"found {x}"
