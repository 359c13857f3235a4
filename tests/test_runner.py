"""A model that calls tools, run to its end: order, limits, errors, budgets."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest

import media
from agentcell import (
    AgentRunner,
    Budget,
    FileSystemTraceStore,
    ImageAsset,
    SimplePrompt,
    create_gemini_llm_call,
    create_local_llm_call,
    set_price,
    tool,
)
from agentcell.adapters.pricing import forget_price
from agentcell.agents.signature import Hidden
from agentcell.agents.tools import Tool
from agentcell.errors import (
    AgentError,
    AuthenticationError,
    KeyMissing,
    ModelError,
    ToolError,
    Unsupported,
)
from agentcell.runner.result import RunResult
from agentcell.testing import Call, FakeModel, GeminiServer, Reply
from runner_kit import HI, KEY, look_up, run, says, told, wants


async def types_of(runner: AgentRunner, **options: Any) -> list[str]:
    return [event.type async for event in runner.run(HI, **options)]


# -- cases 90 to 97


def test_an_answer_without_calls_completes_after_one_call() -> None:  # case 90
    llm_call = says({"content": "Hello.", "usage": {"prompt_tokens": 3, "completion_tokens": 2}})

    result = run(AgentRunner(llm_call=llm_call).call(messages=HI, model="m"))

    assert result.keys() == {
        *("content", "messages", "usage", "cost", "stop_reason", "trace_id", "error"),
    }
    assert (result["content"], result["stop_reason"], result["error"]) == (
        *("Hello.", "completed", ""),
    )
    assert result["messages"] == [*HI, {"role": "assistant", "content": "Hello."}]
    assert (result["usage"].input_tokens, result["usage"].output_tokens) == (3, 2)
    assert (len(llm_call.asked), llm_call.asked[0]["model"]) == (1, "m")  # type: ignore[attr-defined]
    assert result.check() is result


def test_a_tool_and_then_a_text_are_told_in_this_order() -> None:  # case 91
    runner = AgentRunner(llm_call=says(wants("look_up", '{"x": 7}'), "Done."), tools=[look_up])

    types = run(types_of(runner))

    assert types == ["model_start", "tool_start", "tool_end", "model_start", "final"]


def test_a_tool_that_raises_is_an_error_that_the_model_reads() -> None:  # case 92
    @tool
    def break_() -> str:
        """Break."""
        raise ValueError("it is broken")

    llm_call = says(wants("break_"), "Sorry.")
    result = run(AgentRunner(llm_call=llm_call, tools=[break_]).call(HI))

    assert (result["stop_reason"], result["content"]) == ("completed", "Sorry.")
    assert "it is broken" in told(result)[0]
    assert result["messages"][2]["is_error"] is True


def test_a_model_that_never_stops_is_stopped() -> None:  # case 93
    llm_call = says(wants("look_up"))

    result = run(AgentRunner(llm_call=llm_call, tools=look_up, max_iterations=3).call(HI))

    assert len(llm_call.asked) == 3  # type: ignore[attr-defined]
    assert (result["stop_reason"], result.is_success) == ("max_iterations", False)
    assert [one["role"] for one in result["messages"][1:]] == ["assistant", "tool"] * 3
    ids = [one["tool_call_id"] for one in result["messages"] if one["role"] == "tool"]
    assert len(set(ids)) == 3
    with pytest.raises(AgentError, match="max_iterations"):
        result.check()


def test_an_unknown_tool_is_told_with_those_that_there_are() -> None:  # case 94
    llm_call = says(wants("lok_up"), "Oh.")

    result = run(AgentRunner(llm_call=llm_call, tools=[look_up]).call(HI))

    assert "no tool named 'lok_up'" in told(result)[0]
    assert "look_up" in told(result)[0]


def test_a_hidden_parameter_is_not_in_the_schema_and_is_filled_in() -> None:  # case 95
    seen: list[Any] = []

    @tool(hidden=["context"])
    def save(note: str, context: dict[str, Any]) -> str:
        """Save a note."""
        seen.append((note, context))
        return "saved"

    @tool
    def also(context: Annotated[Any, Hidden]) -> str:
        """Do more."""
        seen.append(context)
        return "ok"

    calls = wants("save", '{"note": "n", "context": "forged"}')
    calls["tool_calls"].append({"id": "c2", "name": "also", "arguments": {}})
    llm_call = says(calls, "Done.")
    runner = AgentRunner(llm_call=llm_call, tools=[save, also], hidden={"context": {"user": 0}})
    result = run(runner.call(HI, hidden={"context": {"user": 1}}))

    sent = llm_call.asked[0]["tools"]  # type: ignore[attr-defined]
    properties = [list(one["function"]["parameters"].get("properties", {})) for one in sent]
    assert properties == [["note"], []]
    assert "context" not in json.dumps(sent)
    assert (result["content"], seen[-1]) == ("Done.", {"user": 1})
    assert all("forged" not in str(one) for one in seen)
    with pytest.raises(ToolError, match="needs a value for its hidden parameter 'context'"):
        run(AgentRunner(llm_call=llm_call, tools=[save]).call(HI))
    with pytest.raises(ToolError, match="No tool has a hidden parameter 'user'"):
        run(AgentRunner(llm_call=llm_call, tools=[look_up], hidden={"user": 1}).call(HI))


def test_a_run_that_is_cancelled_in_a_tool_says_so_and_its_trace_ends_there(
    tmp_path: Path,
) -> None:  # case 96
    begun = threading.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.sleep(600)
        return "never"

    store = FileSystemTraceStore(tmp_path)
    runner = AgentRunner(llm_call=says(wants("wait")), tools=[wait], trace_store=store)

    async def cancelled() -> RunResult:
        task = asyncio.ensure_future(runner.call(HI))
        await asyncio.to_thread(begun.wait, 60)
        threading.Thread(target=runner.cancel).start()  # from another thread
        return await task

    result = run(cancelled())
    trace = store.read(result["trace_id"])

    assert result["stop_reason"] == "cancelled"
    assert told(result) == ["Error: the call was stopped before its end."]
    assert (trace.stop_reason, trace.records[-1]["type"]) == ("cancelled", "final")
    with pytest.raises(AgentError, match="cancelled"):
        result.check()


def test_a_task_that_is_cancelled_and_a_reader_that_leaves_end_the_trace_too(
    tmp_path: Path,
) -> None:
    closed: list[str] = []

    @tool
    async def wait() -> str:
        """Wait."""
        try:
            await asyncio.sleep(600)
        finally:
            closed.append("wait")
        return "never"

    store = FileSystemTraceStore(tmp_path)
    runner = AgentRunner(llm_call=says(wants("wait")), tools=[wait], trace_store=store)

    async def task_cancelled() -> None:
        task = asyncio.ensure_future(runner.call(HI))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def left() -> None:
        events = runner.run(HI)
        async for event in events:
            if event.type == "tool_start":
                break
        await events.aclose()

    run(task_cancelled())
    run(left())

    assert [store.read(one).stop_reason for one in store.ids()] == ["cancelled"] * 2
    assert closed[:1] == ["wait"]


def test_a_trace_holds_an_image_by_its_digest_and_no_base64(tmp_path: Path) -> None:  # case 97
    picture, secret = media.png(), "sk-proj-" + "a1B2c3D4" * 5
    encoded = base64.b64encode(picture).decode()
    long = base64.b64encode(os.urandom(900)).decode()

    @tool
    def draw(data: str) -> Any:
        """Draw."""
        return [ImageAsset.from_bytes(picture), f"{data} {long} {secret}"]

    store = FileSystemTraceStore(tmp_path / "traces")
    arguments = json.dumps({"data": f"data:image/png;base64,{encoded} then text"})
    llm_call = says({**wants("draw", arguments), "opaque": [{"signature": long}]}, "Done.")
    messages = SimplePrompt.from_text("$user$\nSee").build_messages(images=[picture, picture])
    address = {"url": "https://e.org/a.png?X-Amz-Signature=abcdef123456"}
    messages[0]["content"].append({"type": "image_url", "image_url": address})
    result = run(AgentRunner(llm_call=llm_call, tools=[draw], trace_store=store).call(messages))

    written = (tmp_path / "traces" / f"{result['trace_id']}.jsonl").read_text(encoding="utf-8")
    digest = hashlib.sha256(picture).hexdigest()
    assert written.count(f"sha256:{digest}") >= 3
    for forbidden in (encoded, encoded[:40], long[:40], secret, "X-Amz", "abcdef123456"):
        assert forbidden not in written
    assert "then text" in written
    assert store.media(f"sha256:{digest}") == picture
    kept = [path for path in (tmp_path / "traces" / "media").rglob("*") if path.is_file()]
    assert sorted(path.name for path in kept) == sorted({path.name for path in kept})
    assert (tmp_path / "traces" / ".gitignore").is_file()


# -- limits and errors


def test_reading_tools_run_at_the_same_time_and_results_keep_the_calls_order() -> None:
    met = threading.Barrier(2, timeout=60)

    @tool(read_only=True)
    def meet(name: str) -> str:
        """Return when the other is here too."""
        met.wait()
        if name == "a":
            time.sleep(0.2)
        return name

    calls = wants("meet", '{"name": "a"}', "a")
    calls["tool_calls"] += wants("meet", '{"name": "b"}', "b")["tool_calls"]
    result = run(AgentRunner(llm_call=says(calls, "Done."), tools=[meet]).call(HI))

    assert told(result) == ["a", "b"]


def test_tools_that_change_something_run_one_after_the_other() -> None:
    running: list[str] = []

    @tool
    async def change(name: str) -> str:
        """Change something."""
        assert not running
        running.append(name)
        await asyncio.sleep(0.05)
        running.remove(name)
        return name

    calls = wants("change", '{"name": "a"}', "a")
    calls["tool_calls"] += wants("change", '{"name": "b"}', "b")["tool_calls"]
    calls["tool_calls"] += wants("look_up", "{}", "c")["tool_calls"]
    result = run(AgentRunner(llm_call=says(calls, "Done."), tools=[change, look_up]).call(HI))

    assert told(result) == ["a", "b", "found 0"]


ARGUMENTS = [
    ("look_up", '{"x": "many"}', "x"),
    ("look_up", "{bad", "no JSON object"),
    ("look_up", "[1]", "no JSON object"),
    ("plain", '{"n": 11}', "maximum of 10"),
    ("plain", "{}", "'n' is a required property"),
]


@pytest.mark.parametrize(("name", "arguments", "says_"), ARGUMENTS)
def test_arguments_are_checked_by_the_schema_before_a_tool_runs(
    name: str, arguments: str, says_: str
) -> None:
    ran: list[Any] = []
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "maximum": 10}},
        "required": ["n"],
    }
    plain = Tool("plain", "By hand.", schema, lambda **given: ran.append(given))

    result = run(
        AgentRunner(llm_call=says(wants(name, arguments), "Oh."), tools=[look_up, plain]).call(HI)
    )

    assert told(result)[0].startswith("Error: ")
    assert says_ in told(result)[0]
    assert (ran, result["content"]) == ([], "Oh.")


def test_a_tool_that_needs_approval_is_asked_about() -> None:
    @tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    refused = run(AgentRunner(llm_call=says(wants("pay"), "No."), tools=[pay]).call(HI))
    allowed = run(
        AgentRunner(llm_call=says(wants("pay"), "Yes."), tools=[pay], approve=lambda *_: True).call(
            HI
        )
    )

    assert "not allowed" in told(refused)[0]
    assert told(allowed) == ["paid"]


def test_a_service_that_fails_is_the_result_and_check_raises_it() -> None:
    with GeminiServer() as server:
        server.fail(401, "bad key")
        runner = AgentRunner(llm_call=create_gemini_llm_call(api_key=KEY, base_url=server.url))
        result = run(runner.call(HI, model="m"))

    assert (result["stop_reason"], result["content"]) == ("failed", "")
    assert "401" in result["error"] or "key" in result["error"]
    assert KEY not in str(dict(result))
    with pytest.raises(AuthenticationError):
        result.check()


@pytest.mark.parametrize("error", [RuntimeError("boom"), ModelError("boom")])
def test_a_function_that_raises_fails_the_run(error: Exception) -> None:
    result = run(AgentRunner(llm_call=says(error)).call(HI))

    assert (result["stop_reason"], "boom" in result["error"]) == ("failed", True)
    assert result.exception is error


@pytest.mark.parametrize("answer", [None, 3, {}, {"content": 3}, {"tool_calls": [{"id": 1}]}])
def test_a_function_that_returns_no_answer_fails_the_run(answer: Any) -> None:
    result = run(AgentRunner(llm_call=says(answer)).call(HI))

    assert result["stop_reason"] == "failed"
    assert "an answer was expected" in result["error"]


def test_what_is_wrong_before_anything_is_sent_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(KeyMissing):
        run(AgentRunner(llm_call=create_gemini_llm_call()).call(HI))
    with GeminiServer() as server:
        llm_call = create_gemini_llm_call("m", api_key=KEY, base_url=server.url)
        with pytest.raises(Unsupported, match="temperature is 3"):
            run(AgentRunner(llm_call=llm_call).call(HI, settings={"temperature": 3}))
        assert server.requests == []
    wrongs: list[Any] = [[], None, {}]
    for wrong in wrongs:
        with pytest.raises(AgentError, match="was given; "):
            run(AgentRunner(llm_call=says("x")).call(wrong))
    for options in ({"max_iterations": 0}, {"trace_store": 3}, {"llm_call": "gpt"}):
        with pytest.raises(AgentError, match="was expected"):
            AgentRunner(**{"llm_call": says("x"), **options})  # type: ignore[arg-type]
    with pytest.raises(Unsupported, match="calls no tools"):
        run(AgentRunner(llm_call=create_local_llm_call(), tools=[look_up]).call(HI))


def test_a_function_gets_what_it_takes_and_is_refused_what_it_does_not() -> None:
    def short(messages: list[Any]) -> str:
        return messages[0]["content"]  # type: ignore[no-any-return]

    assert run(AgentRunner(llm_call=short).call("Hi"))["content"] == "Hi"
    with pytest.raises(AgentError, match="llm_call takes none"):
        run(AgentRunner(llm_call=short, tools=[look_up]).call(HI))
    with pytest.raises(Unsupported, match="no setting 'temperature'"):
        run(AgentRunner(llm_call=short, settings={"temperature": 1}).call(HI))


# -- budget


def test_a_budget_stops_a_run_before_the_call_that_would_pass_it() -> None:
    set_price("fake/model", input=1_000_000, output=0)  # a dollar a token
    try:
        model = FakeModel(Reply(calls=[Call("look_up", "{}", "c1")], usage=(580, 1)), "Done.")
        budget = Budget(usd="600", ask_above="1000")
        runner = AgentRunner(llm_call=model, tools=[look_up], budget=budget)
        result = run(runner.call(HI))
        again = run(runner.call(HI))
    finally:
        forget_price("fake/model")

    assert (result["stop_reason"], result["cost"]) == ("budget", Decimal(580))
    assert "budget" in result["error"]
    assert runner.spent == 580
    assert again["stop_reason"] == "budget"
    assert len(model.requests) == 1


def test_a_price_that_nobody_knows_stops_a_run_with_a_budget() -> None:
    model = FakeModel("Hi.", model_name="of-unknown-price")

    result = run(AgentRunner(llm_call=model, budget="1.00").call(HI))

    assert (result["stop_reason"], model.requests) == ("budget", [])
    assert "not known" in result["error"]


def test_a_functions_own_costs_are_counted() -> None:
    llm_call = says({**wants("look_up"), "cost": 0.4})
    runner = AgentRunner(llm_call=llm_call, tools=[look_up], budget="1.00", max_iterations=9)

    result = run(runner.call(HI))

    assert (result["stop_reason"], result["cost"]) == ("budget", Decimal("1.2"))
    silent = AgentRunner(llm_call=says(wants("look_up")), tools=[look_up], budget="1.00")
    assert "reports no cost" in run(silent.call(HI))["error"]
