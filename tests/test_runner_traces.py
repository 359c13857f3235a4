"""What a run leaves behind: its trace, its timeline in a notebook, a recording."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import agentcell
import media
from agentcell import (
    AgentRunner,
    FileSystemTraceStore,
    GeminiModel,
    ImageAsset,
    RecordingModel,
    SimplePrompt,
    create_gemini_llm_call,
    tool,
)
from agentcell.errors import HistoryError, HistoryWarning
from agentcell.runner.result import RunResult
from agentcell.testing import Call, FakeModel, GeminiServer, Reply
from agentcell.testing.gemini_server import SEAL
from runner_kit import HI, KEY, look_up, run, says, wants


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
