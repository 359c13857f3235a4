"""A runner asks, runs tools, asks again, stops as it was told to, and leaves a trace."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest

import agentcell
import media
from agentcell import (
    AgentRunner,
    Budget,
    FileSystemTraceStore,
    GeminiModel,
    ImageAsset,
    RecordingModel,
    SimplePrompt,
    create_anthropic_llm_call,
    create_gemini_llm_call,
    create_local_llm_call,
    create_openai_llm_call,
    set_price,
    tool,
)
from agentcell.adapters.pricing import forget_price
from agentcell.agents.signature import Hidden
from agentcell.agents.tools import Tool
from agentcell.errors import (
    AgentError,
    AuthenticationError,
    HistoryError,
    HistoryWarning,
    KeyMissing,
    ModelError,
    ToolError,
    UnknownModel,
    Unsupported,
)
from agentcell.runner.result import RunResult
from agentcell.testing import (
    AnthropicServer,
    Call,
    ChatServer,
    FakeModel,
    GeminiServer,
    Reply,
    ResponsesServer,
)
from agentcell.testing.gemini_server import SEAL

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


async def types_of(runner: AgentRunner, **options: Any) -> list[str]:
    return [event.type async for event in runner.run(HI, **options)]


@tool(read_only=True)
def look_up(x: int = 0) -> str:
    """Look something up."""
    return f"found {x}"


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
        with pytest.raises(AgentError, match="messages were expected"):
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


# -- providers and models

SERVERS: list[tuple[Any, Any, str]] = [
    (GeminiServer, create_gemini_llm_call, "gemini-2.5-flash"),
    (AnthropicServer, create_anthropic_llm_call, "claude-haiku-4-5"),
    (ResponsesServer, create_openai_llm_call, "gpt-4.1"),
    (ChatServer, lambda **given: create_openai_llm_call(api="chat", **given), "gpt-4.1"),
]


@pytest.mark.parametrize(("server_of", "create", "model"), SERVERS)
def test_every_provider_runs_tools_and_streams(server_of: Any, create: Any, model: str) -> None:
    replies = (
        Reply("Let me ", "see.", calls=[Call("look_up", '{"x": 7}', "c1")], usage=(10, 5)),
        Reply("It is ", "7.", usage=(20, 6)),
    )
    with server_of(*replies) as server:
        runner = AgentRunner(llm_call=create(api_key=KEY, base_url=server.url), tools=[look_up])
        events: list[Any] = []

        async def collect() -> None:
            events.extend([event async for event in runner.run(HI, model=model)])

        run(collect())

    result = events[-1].result
    assert (result["content"], result["stop_reason"]) == ("It is 7.", "completed")
    assert (result["usage"].input_tokens, result["usage"].output_tokens) == (30, 11)
    assert "".join(e.text for e in events if e.type == "text") == "Let me see.It is 7."
    types = [event.type for event in events if event.type != "text"]
    assert types == ["model_start", "tool_start", "tool_end", "model_start", "final"]
    assert "found 7" in json.dumps(server.bodies[1])
    assert result["messages"][1]["tool_calls"][0]["function"]["name"] == "look_up"
    json.dumps(result["messages"])


def test_the_seeds_example_runs_as_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "task.prompt").write_text(
        "---\nmodel: gemini-2.5-flash\ntemperature: 0.3\n---\n\n$system$\nS\n\n$user$\nU: %text%\n",
        encoding="utf-8",
    )
    (tmp_path / "img.png").write_bytes(media.png())
    monkeypatch.chdir(tmp_path)
    code = """
from agentcell import SimplePrompt, AgentRunner, create_gemini_llm_call
prompt = SimplePrompt("task.prompt")
messages = prompt.build_messages(text="...", images="img.png")
async def main():
    runner = AgentRunner(llm_call=create_gemini_llm_call())
    return await runner.call(messages=messages, model="gemini-2.5-flash")
"""
    with GeminiServer("A receipt.") as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        monkeypatch.setenv("GEMINI_API_KEY", KEY)
        names: dict[str, Any] = {}
        exec(code, names)  # noqa: S102 (as a cell runs it)
        result = run(names["main"]())
        # Without a model in the call, the file's own is asked.
        messages = names["messages"]
        run(AgentRunner(llm_call=create_gemini_llm_call("gemini-3.8-flash")).call(messages))
        plain = AgentRunner(llm_call=create_gemini_llm_call("gemini-3.8-flash"))
        run(plain.call(list(messages)))
        run(plain.call(messages, model="gemini/gemini-2.5-pro", settings={"temperature": 1}))

    assert (result["content"], result["stop_reason"]) == ("A receipt.", "completed")
    models = [one.path.split("/models/")[1].split(":")[0] for one in server.requests]
    assert models == [
        *("gemini-2.5-flash", "gemini-2.5-flash", "gemini-3.8-flash", "gemini-2.5-pro"),
    ]
    temperatures = [one.get("generationConfig", {}).get("temperature") for one in server.bodies]
    assert temperatures == [0.3, 0.3, None, 1]


def test_settings_of_the_call_go_before_the_file_the_runner_and_the_factory() -> None:
    front = "---\ntemperature: 0.3\ntop_p: 0.5\n---\n$user$\nHi"
    messages = SimplePrompt.from_text(front).build_messages()
    with GeminiServer("x") as server:
        llm_call = create_gemini_llm_call(
            "gemini-2.5-flash",
            api_key=KEY,
            base_url=server.url,
            settings={"max_tokens": 10, "seed": 1, "temperature": 2},
        )
        runner = AgentRunner(llm_call=llm_call, settings={"seed": 2, "top_p": 0.1})
        run(runner.call(messages, settings={"temperature": 1}))

    config = server.bodies[0]["generationConfig"]
    assert config == {"temperature": 1, "topP": 0.5, "seed": 2, "maxOutputTokens": 10}


MISMATCHED = [
    (create_gemini_llm_call, "gpt-4.1", "openai", "create_openai_llm_call()"),
    (create_gemini_llm_call, "openai/gpt-4.1", "openai", "create_openai_llm_call()"),
    (create_gemini_llm_call, "claude-haiku-5-5", "anthropic", "create_anthropic_llm_call()"),
    (create_openai_llm_call, "gemini-2.5-flash", "gemini", "create_gemini_llm_call()"),
    (create_anthropic_llm_call, "gemini:gemini-2.5-flash", "gemini", "create_gemini_llm_call()"),
    (create_local_llm_call, "gpt-4.1", "openai", "create_openai_llm_call()"),
    (create_openai_llm_call, "local", "local", "create_local_llm_call()"),
]


@pytest.mark.parametrize(("create", "model", "whose", "fix"), MISMATCHED)
def test_a_model_of_another_provider_is_an_error_with_the_way_out(
    create: Any, model: str, whose: str, fix: str
) -> None:
    with pytest.raises(UnknownModel, match=f"is a model of {whose}, but this llm_call") as caught:
        run(AgentRunner(llm_call=create()).call(HI, model=model))
    assert fix in caught.value.fix
    with pytest.raises(UnknownModel):
        create(model)


def test_names_are_sent_as_they_are_where_nobody_here_knows_better() -> None:
    chosen = [
        (create_gemini_llm_call(), "gemini/gemini-2.5-pro", "gemini/gemini-2.5-pro"),
        (create_gemini_llm_call(), "tuned-by-me", "gemini/tuned-by-me"),
        (create_gemini_llm_call(), None, "gemini/gemini-3.8-flash"),
        (create_openai_llm_call(api="chat"), "gpt-4.1", "openai-chat/gpt-4.1"),
        (create_openai_llm_call(), "openai-chat/gpt-4.1", "openai-chat/gpt-4.1"),
        (
            create_openai_llm_call(base_url="https://gateway.example/v1", api_key=KEY),
            "anthropic/claude-haiku-5-5",
            "openai/anthropic/claude-haiku-5-5",
        ),
        (create_local_llm_call(), None, "local/smollm2-135m"),
        (create_local_llm_call("ollama/llama3.2"), None, "ollama/llama3.2"),
    ]

    assert [call.model(name).name for call, name, _ in chosen] == [full for *_, full in chosen]
    with pytest.raises(ValueError, match="'responses' or 'chat'"):
        create_openai_llm_call(api="assistants")  # type: ignore[arg-type]
    with pytest.raises(AgentError, match="The runner asks fake/model, but 'gpt' was named"):
        run(AgentRunner(llm_call=FakeModel()).call(HI, model="gpt"))


def test_an_llm_call_may_be_asked_by_itself_and_shows_no_key() -> None:
    with GeminiServer("Hello.") as server:
        llm_call = create_gemini_llm_call("m", api_key=KEY, base_url=server.url)
        answer = run(llm_call(messages=HI, temperature=0.1))

    assert answer["content"] == "Hello."
    assert server.bodies[0]["generationConfig"] == {"temperature": 0.1}
    assert KEY not in repr(llm_call) + repr(AgentRunner(llm_call=llm_call))


# -- traces and the notebook


def test_a_process_that_is_killed_leaves_a_trace_that_can_be_read(tmp_path: Path) -> None:
    script = f"""
import asyncio
from agentcell import AgentRunner, tool

@tool
async def wait() -> str:
    "Wait."
    print("waiting", flush=True)
    await asyncio.sleep(600)
    return "never"

async def llm_call(messages, model=None, tools=None):
    return {{"content": "Let me wait.", "tool_calls": [{{"id": "c", "name": "wait"}}]}}

asyncio.run(AgentRunner(llm_call=llm_call, tools=[wait], trace_store={str(tmp_path)!r}).call("Hi"))
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()

    store = FileSystemTraceStore(tmp_path)
    (name,) = store.ids()
    trace = store.read(name)

    assert (trace.is_whole, trace.stop_reason) == (False, None)
    assert [one["type"] for one in trace.records][-2:] == ["message", "tool_start"]
    assert "Not ended" in trace._repr_mimebundle_()["text/plain"]


def test_a_torn_last_line_is_left_out_and_a_torn_other_one_is_told(tmp_path: Path) -> None:
    store = FileSystemTraceStore(tmp_path)
    for number in range(3):
        store.append("t", {"type": "x", "n": number})
    path = tmp_path / "t.jsonl"
    whole = path.read_bytes()

    path.write_bytes(whole[:-5])
    assert [one["n"] for one in store.read("t").records] == [0, 1]
    path.write_bytes(whole.replace(b'"n":1}', b'"n":'))
    with pytest.raises(HistoryError, match="damaged in line 2"):
        store.read("t")
    for wrong in ("../t", "", "a/b", ".hidden"):
        with pytest.raises(HistoryError, match="no trace's name"):
            store.read(wrong)
    with pytest.raises(HistoryError, match="There is no trace 'none'"):
        store.read("none")
    with pytest.raises(HistoryError, match="no SHA-256"):
        store.media("../../etc/passwd")


def test_a_store_that_fails_ends_the_trace_and_not_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    runner = AgentRunner(llm_call=says("Hello."), trace_store=tmp_path / "file" / "traces")

    with pytest.warns(HistoryWarning, match="trace is not kept") as caught:
        result = run(runner.call(HI))

    assert (result["content"], result["stop_reason"]) == ("Hello.", "completed")
    assert len(caught) == 1


def test_a_result_is_a_timeline_in_a_notebook() -> None:
    arguments = '{"x": "<script>1</script>"}'
    answer = "See <img src=https://e.org/x> **bold**"
    runner = AgentRunner(llm_call=says(wants("look_up", arguments), answer), tools=[look_up])
    messages = SimplePrompt.from_text("$user$\nHi").build_messages(images=media.png())

    result = run(runner.call(messages))
    shown = result._repr_mimebundle_()

    assert shown.keys() == {"text/html", "text/markdown", "text/plain"}
    for bundle in shown.values():
        assert "Completed" in bundle
        assert "look" in bundle
        assert result["trace_id"] not in bundle
        assert "iVBOR" not in bundle
    assert "<script" not in shown["text/html"] + shown["text/markdown"]
    assert "<img" not in shown["text/html"] + shown["text/markdown"]
    assert "**bold**" in shown["text/markdown"]
    assert "<strong>bold</strong>" in shown["text/html"]
    assert repr(result).startswith("RunResult('completed', 4 messages, 'See")


def test_a_recorded_run_is_replayed_the_same(tmp_path: Path) -> None:
    @tool
    def slow() -> str:
        """Take a while."""
        time.sleep(0.1)
        return "done"

    shown = []
    for mode in ("record", "replay"):
        inner = FakeModel(Reply(calls=[Call("slow", "{}", "c1")], usage=(3, 1)), "Hello.")
        model = RecordingModel(inner, tmp_path / "r.jsonl", mode)
        result = run(AgentRunner(llm_call=model, tools=[slow]).call(HI))
        shown.append((result._repr_mimebundle_(), result["messages"], result["usage"]))

    assert shown[0] == shown[1]


def test_a_sync_function_does_not_hold_up_the_loop() -> None:
    asked, free = threading.Event(), threading.Event()

    def llm_call(messages: list[Any]) -> str:
        asked.set()
        assert free.wait(60)
        return "Hello." if messages else ""

    async def both() -> RunResult:
        task = asyncio.ensure_future(AgentRunner(llm_call=llm_call).call(HI))
        await asyncio.to_thread(asked.wait, 60)
        free.set()  # which a loop that is held up never does
        return await task

    assert run(both())["content"] == "Hello."
    assert AgentRunner(llm_call=llm_call).call_sync("Hi")["stop_reason"] == "completed"


def test_what_only_the_provider_reads_goes_back_to_it_and_into_no_trace(tmp_path: Path) -> None:
    store = FileSystemTraceStore(tmp_path)
    first = Reply("Hm.", thinking=["let me think"], calls=[Call("look_up", "{}", "c1")])
    with GeminiServer(first, "Done.") as server:
        llm_call = create_gemini_llm_call("gemini-3.8-flash", api_key=KEY, base_url=server.url)
        runner = AgentRunner(llm_call=llm_call, tools=[look_up], trace_store=store)
        result = run(runner.call(HI))
        run(runner.call([*json.loads(json.dumps(result["messages"])), *HI]))

    for body in server.bodies[1:]:
        assert SEAL in json.dumps(body)
    written = "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("*.jsonl"))
    assert SEAL not in written
    assert KEY not in written
    assert '"opaque":"' in written


def test_an_image_of_a_tool_is_shown_to_a_model_that_takes_it() -> None:
    @tool
    def draw() -> ImageAsset:
        """Draw."""
        return ImageAsset.from_bytes(media.png())

    with GeminiServer(Reply(calls=[Call("draw", "{}", "c1")]), "Nice.") as server:
        model = GeminiModel("gemini-3.8-flash", KEY, server.url)
        result = run(AgentRunner(llm_call=model, tools=[draw]).call(HI))

    response = server.bodies[1]["contents"][2]["parts"][0]["functionResponse"]
    assert response["parts"][0]["inlineData"]["mimeType"] == "image/png"
    kinds = [part["type"] for part in result["messages"][2]["content"]]
    assert kinds == ["text", "image_url", "text"]


def test_names_are_public() -> None:
    for name in ("AgentRunner", "FileSystemTraceStore", "create_local_llm_call"):
        assert name in agentcell.__all__


# -- storms, exits and secrets ---------------------------------------------------------------------


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
