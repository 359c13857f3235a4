"""Each fault at each moment of an exchange, with each adapter: typed, and the next call is well.

The moments: instead of a connection's first answer, after the headers, in the middle of the text,
in the middle of a tool call, and in the call that brings the tool's result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from agentcell.adapters.events import TextDelta, ToolCallDelta
from agentcell.errors import (
    AuthenticationError,
    ConnectionFailed,
    ModelError,
    RateLimited,
    ServiceError,
    StreamTruncated,
    TooLarge,
)
from agentcell.testing import Call, ProviderServer, Reply, failure
from agentcell.testing.conformance import HI, TOOLS, Subject
from test_adapter_conformance import SUBJECTS

CALL = Call("weather", '{"town": "Kyoto"}', "call_a")
GARBAGE = b"\x00<!{not an event}\n\n"

STATUSES: dict[str, tuple[int, type[ModelError], dict[str, dict[str, Any]]]] = {
    "401": (
        401,
        AuthenticationError,
        {"openai": {"code": "invalid_api_key"}, "anthropic": {"type": "authentication_error"}},
    ),
    "413": (
        413,
        TooLarge,
        {"openai": {"code": "request_too_large"}, "anthropic": {"type": "request_too_large"}},
    ),
    "429": (
        429,
        RateLimited,
        {"openai": {"code": "rate_limit_exceeded"}, "anthropic": {"type": "rate_limit_error"}},
    ),
    "500": (
        500,
        ServiceError,
        {"openai": {"code": "server_error"}, "anthropic": {"type": "api_error"}},
    ),
}
MOMENTS = ("connect", "first byte", "mid-stream", "tool", "after tool")
BROKEN = (StreamTruncated, ConnectionFailed, ServiceError)


def events_before(server: ProviderServer, moment: str) -> int:
    """Return how many events a server sends before the fault at `moment`."""
    whole = list(server.events(answer(), "m"))
    if moment == "mid-stream":
        return next(n for n, event in enumerate(whole) if b"P-2-P" in event)
    if moment == "tool":  # the last event that holds a piece of the call
        return max(n for n, event in enumerate(whole) if b"Kyoto" in event or b"oto" in event)
    return 0


def answer(**faults: Any) -> Reply:
    return Reply("P-1-P", "P-2-P", calls=[CALL], **faults)


def error_of(name: str, status: str) -> Mapping[str, Any]:
    number, _, words = STATUSES[status]
    if name == "gemini":
        return {"code": number, "message": "no", "status": "WORD"}
    return {"message": "no", **words["anthropic" if name == "anthropic" else "openai"]}


def faulty(name: str, server: ProviderServer, moment: str, fault: str) -> Reply:
    """Return the reply that has `fault` at `moment`."""
    at = events_before(server, moment)
    instead = moment in {"connect", "after tool"}
    if fault == "interrupt":
        return answer(stall=-1 if instead else at)
    if fault == "cut":
        return answer(cut=-1 if instead else at)
    if fault == "garbage":
        if instead:
            return Reply(raw=GARBAGE)
        head = b"".join(list(server.events(answer(), "m"))[:at])
        raw = head + b"data: {not json\n\n"
        return Reply(raw=raw, headers={"content-type": "text/event-stream"})
    if instead:
        return failure(STATUSES[fault][0], "no")
    return answer(error=error_of(name, fault), error_after=at)


async def interrupted(
    model: Any, server: ProviderServer, messages: list[dict[str, Any]]
) -> list[Any]:
    """Ask, cancel once nothing more comes, and return what came."""
    seen: list[Any] = []

    async def read() -> None:
        async for event in model.astream(messages, TOOLS):
            seen.append(event)  # noqa: PERF401 (one by one: it is cancelled in the middle)

    task = asyncio.create_task(read())
    assert await asyncio.to_thread(server.asked.wait, 60)  # the first call imports an SDK
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return seen


def conversation(moment: str) -> list[dict[str, Any]]:
    if moment != "after tool":
        return HI
    call = {"id": "call_a", "name": "weather", "arguments": {"town": "Kyoto"}}
    said = {"role": "tool", "tool_call_id": "call_a", "content": "rain"}
    return [*HI, {"role": "assistant", "content": "", "tool_calls": [call]}, said]


@pytest.mark.parametrize("fault", ["interrupt", *STATUSES, "cut", "garbage"])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_fault_has_its_type_and_the_next_call_is_well(name: str, moment: str, fault: str) -> None:
    subject: Subject = SUBJECTS[name]
    messages = conversation(moment)
    with subject.talking(max_retries=0) as (model, server):
        server.then(faulty(name, server, moment, fault))
        seen: list[Any] = []
        if fault == "interrupt":
            seen = asyncio.run(interrupted(model, server, messages))
            assert server.disconnected.wait(1)
        else:
            with pytest.raises(ModelError) as caught:
                seen.extend(model.stream(messages, TOOLS))
            kinds = STATUSES[fault][1] if fault in STATUSES else BROKEN
            assert isinstance(caught.value, kinds), caught.value
            assert caught.value.fix
        server.then("fine")
        result = model.invoke(messages, TOOLS)

        assert result["content"] == "fine"
        assert server.bodies[0] == server.bodies[1]
    texts = [event.text for event in seen if isinstance(event, TextDelta)]
    expected = {"mid-stream": ["P-1-P"], "tool": ["P-1-P", "P-2-P"]}
    assert texts == expected.get(moment, [])
    if moment == "tool" and name != "gemini":  # there a call comes whole or not at all
        assert any(isinstance(event, ToolCallDelta) for event in seen)
