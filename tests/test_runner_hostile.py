"""Runs with a thousand calls, exits, secrets and answers that are none."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from agentcell import AgentRunner, tool
from runner_kit import HI, run, says, told, wants


def test_of_a_thousand_calls_a_bounded_number_runs_at_the_same_time() -> None:
    lock, running, most = threading.Lock(), 0, 0

    @tool(read_only=True)
    def look(number: int) -> int:
        """Look."""
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.002)
        with lock:
            running -= 1
        return number

    calls = [
        wants("look", json.dumps({"number": n}), f"c{n}")["tool_calls"][0] for n in range(1000)
    ]
    llm_call = says({"content": "", "tool_calls": calls}, "done")

    result = run(AgentRunner(llm_call, tools=[look]).call(HI))

    assert told(result) == [str(n) for n in range(1000)]
    assert 1 < most <= 32


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt()])
def test_an_exit_in_an_llm_call_fails_the_run_and_the_next_one_works(raised: BaseException) -> None:
    async def leave(**_: Any) -> str:
        raise raised

    failed = AgentRunner(leave).call_sync("Hi")

    assert failed["stop_reason"] == "failed"
    assert f"ended with {type(raised).__name__}" in failed["error"]
    assert AgentRunner(says("still here")).call_sync("Hi")["content"] == "still here"


def test_a_runner_inside_a_tool_of_a_runner_does_not_hang() -> None:
    @tool
    def ask(question: str) -> str:
        """Ask another."""
        return str(AgentRunner(says(f"{question}!")).call_sync("Hi")["content"])

    @tool
    async def ask_here(question: str) -> str:
        """Ask another where it cannot be waited for."""
        return str(AgentRunner(says(f"{question}!")).call_sync("Hi")["content"])

    said = json.dumps({"question": "why"})
    for name, found in (("ask", "why!"), ("ask_here", "use await instead")):
        runner = AgentRunner(says(wants(name, said), "done"), tools=[ask, ask_here])
        assert found in runner.call_sync("Hi")["messages"][-2]["content"]


def test_no_key_stands_in_a_trace_where_a_long_text_is_cut_or_by_its_name(tmp_path: Path) -> None:
    known = f"sk-{'known' * 8}"
    plain = "correct horse battery staple"

    @tool(hidden=["db_password"])
    def read(token: str, db_password: str) -> str:
        """Read."""
        assert token
        return f"{'x ' * 49_990}{known} {db_password}"

    @tool(hidden=["db_password"])
    def fail(db_password: str) -> str:
        """Fail."""
        raise ValueError(f"login with {db_password} failed")

    calls = [
        wants("read", '{"token": "t0ken-of-a-person"}', "c1")["tool_calls"][0],
        wants("fail", "{}", "c2")["tool_calls"][0],
    ]
    llm_call = says({"content": "", "tool_calls": calls}, "done")
    headers = {"X-Api-Key": "zzz-yyy-xxx-111", "Authorization": "Basic YWJjOmRlZg=="}
    runner = AgentRunner(
        llm_call, tools=[read, fail], hidden={"db_password": plain}, trace_store=tmp_path
    )

    result = run(runner.call(HI, settings={"headers": headers, "max_tokens": 5}))

    assert result["stop_reason"] == "completed"
    trace = next(tmp_path.glob("*.jsonl")).read_text(encoding="utf-8")
    for secret in (known[:12], plain, "t0ken-of", "zzz-yyy", "YWJjOm"):
        assert secret not in trace
    assert '"max_tokens":5' in trace


def test_calls_of_a_function_that_gives_them_no_ids_have_ids_of_their_own() -> None:
    @tool
    def add(a: int) -> int:
        """Add one."""
        return a + 1

    calls = [{"function": {"name": "add", "arguments": json.dumps({"a": a})}} for a in (1, 2)]
    llm_call = says({"tool_calls": calls}, {"tool_calls": calls[:1]}, "done")

    result = run(AgentRunner(llm_call, tools=[add]).call(HI))

    ids = [call["id"] for one in result["messages"] for call in one.get("tool_calls", ())]
    assert (len(ids), len(set(ids))) == (3, 3)
    assert [one["tool_call_id"] for one in result["messages"] if one["role"] == "tool"] == ids
    assert told(result) == ["2", "3", "2"]


def test_a_conversation_that_goes_on_gives_no_id_of_a_call_twice() -> None:
    @tool
    def now() -> str:
        """Tell the time."""
        return "noon"

    first = run(AgentRunner(says(wants("now"), "noon"), tools=[now]).call(HI))
    again = [*first["messages"], *HI]
    second = run(AgentRunner(says(wants("now"), "still noon"), tools=[now]).call(again))

    ids = [call["id"] for one in second["messages"] for call in one.get("tool_calls", ())]
    assert ids == ["c1", "c1_2"]


def test_what_a_function_returns_and_cannot_be_read_names_that_function() -> None:
    async def ask_my_server(messages: list[Any]) -> Any:
        return {"text": len(messages)}

    class Asks:
        def __call__(self, messages: list[Any]) -> Any:
            return len(messages)

    failures = [run(AgentRunner(one).call(HI)) for one in (ask_my_server, Asks())]

    assert failures[0]["error"].startswith("ask_my_server returned a dict with text; an answer")
    assert failures[1]["error"].startswith("Asks returned an int; an answer was expected")


def test_hidden_params_is_another_name_for_hidden() -> None:
    @tool(description="Say who asks.", hidden_params=["context"])
    async def who(context: dict[str, str]) -> str:
        return context["user"]

    llm_call = says(wants("who"), "done")
    runner = AgentRunner(llm_call, tools=[who], hidden={"context": {"user": "me"}})
    result = run(runner.call(HI))

    (schema,) = llm_call.asked[0]["tools"]  # type: ignore[attr-defined]
    assert schema["function"]["parameters"]["properties"] == {}
    assert told(result) == ["me"]


def test_a_budget_that_is_used_up_says_how_to_give_a_runner_more() -> None:
    llm_call = says({**wants("none"), "cost": 0.5}, {**wants("none"), "cost": 0.7}, "never")

    result = run(AgentRunner(llm_call, budget="1.20").call(HI))

    assert result["stop_reason"] == "budget"
    assert result.exception is not None
    assert 'budget="1.21"' in result.exception.fix
    assert "%agent" not in result["error"]
