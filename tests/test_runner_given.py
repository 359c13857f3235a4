"""What a runner is given wrongly is told before anything is sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentcell import AgentRunner, create_gemini_llm_call, create_openai_llm_call
from agentcell.errors import AgentcellError, AgentError, BadRequest
from agentcell.testing import ChatServer, GeminiServer, Reply, failure

HI = [{"role": "user", "content": "Hi"}]

WRONG: list[tuple[Any, str]] = [
    (["Hi"], "Message 1 is a str; a mapping with role and content"),
    ([*HI, ("user", "Hi")], "Message 2 is a tuple"),
    ([*HI, {"content": "Hi"}], "Message 2 has the role None"),
    ({"role": "user", "content": "Hi"}, "A dict was given; a list of messages"),
    ([], "No message was given"),
    (None, "A NoneType was given"),
    (3, "An int was given"),
]


@pytest.mark.parametrize(("messages", "says"), WRONG)
def test_messages_that_are_none_are_told_by_their_number(messages: Any, says: str) -> None:
    with ChatServer("never") as server:
        runner = AgentRunner(create_openai_llm_call("m", api="chat", base_url=server.url))

        with pytest.raises(AgentError) as caught:
            asyncio.run(runner.call(messages))

        assert server.requests == []
    assert caught.value.problem.startswith(says)
    assert '[{"role": "user"' in caught.value.fix


@pytest.mark.parametrize("name", ["settings", "hidden"])
def test_what_is_to_be_a_mapping_is_told_of_at_both_doors(name: str) -> None:
    async def ask(messages: list[Any]) -> str:
        return str(len(messages))

    with pytest.raises(AgentError, match=f"{name} is an int; a mapping was expected"):
        AgentRunner(ask, **{name: 3})  # type: ignore[arg-type]
    with pytest.raises(AgentError, match=f"{name} is an int; a mapping was expected"):
        AgentRunner(ask).call_sync(HI, None, **{name: 3})


def test_messages_may_come_from_an_iterator() -> None:
    async def ask(messages: list[Any]) -> str:
        return str(messages[0]["content"])

    assert AgentRunner(ask).call_sync(iter(HI))["content"] == "Hi"  # type: ignore[arg-type]


BAD: dict[str, Any] = {
    "a content that is none": [{"role": "user", "content": 3}],
    "a role that nobody has": [{"role": "bot", "content": "Hi"}],
    "a result without its call": [*HI, {"role": "tool", "tool_call_id": "zz", "content": "42"}],
}


@pytest.mark.parametrize("case", BAD)
def test_what_no_request_can_be_made_of_is_raised_at_once(case: str) -> None:
    with GeminiServer("never") as server:
        runner = AgentRunner(create_gemini_llm_call("m", api_key="k", base_url=server.url))

        with pytest.raises(BadRequest):
            asyncio.run(runner.call(BAD[case]))

        assert server.requests == []


def test_what_the_service_refuses_is_a_run_that_failed() -> None:
    with ChatServer(failure(400, "no such thing")) as server:
        runner = AgentRunner(create_openai_llm_call("m", api="chat", base_url=server.url))

        result = asyncio.run(runner.call(HI))

    assert result["stop_reason"] == "failed"
    assert isinstance(result.exception, BadRequest)
    assert "no such thing" in result["error"]


def test_what_breaks_off_in_the_middle_is_a_run_that_failed() -> None:
    reply = Reply(
        "Hel", "lo", error={"message": "bad", "type": "invalid_request_error"}, error_after=1
    )
    with ChatServer(reply) as server:
        runner = AgentRunner(create_openai_llm_call("m", api="chat", base_url=server.url))

        result = asyncio.run(runner.call(HI))

    assert result["stop_reason"] == "failed"
    assert isinstance(result.exception, AgentcellError)


def test_a_function_may_return_openais_whole_answer() -> None:
    async def ask(messages: list[Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": f"{len(messages)} messages"}
        usage = {"prompt_tokens": 3, "completion_tokens": 2}
        return {"id": "x", "choices": [{"index": 0, "message": message}], "usage": usage}

    result = AgentRunner(ask).call_sync(HI)

    assert (result["content"], result["stop_reason"]) == ("1 messages", "completed")
    assert (result["usage"].input_tokens, result["usage"].output_tokens) == (3, 2)
    assert result["messages"][-1] == {"role": "assistant", "content": "1 messages"}
