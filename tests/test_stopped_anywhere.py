"""A person may press Stop at any moment: what follows must work, and nothing may be left."""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path
from queue import Empty
from typing import Any

import pytest

import wire
from agentcell.testing import ChatServer
from agentcell.testing.replies import Call, Reply, Request
from kernels import Kernel

MOMENTS = int(os.environ.get("STOP_MOMENTS", "30"))
"""At how many moments cells are stopped here; set it to 200 for a thorough run."""

KINDS = ("answer", "tool", "server")

HERE = Path(__file__).parent

_STATE = """
import threading, os
print(sorted(t.name.rstrip("0123456789") for t in threading.enumerate()))
tasks = [f"/proc/self/task/{task}/children" for task in os.listdir("/proc/self/task")]
print(sorted(pid for task in tasks for pid in open(task).read().split()))
"""


def _reply(request: Request) -> Reply:
    """Call the tool that is offered; answer in pieces once it was called, or without one."""
    if request.body is None:  # stopped while it was sent
        return Reply("Nobody reads this.")
    tools = request.body.get("tools") or []
    if tools and request.body["messages"][-1]["role"] != "tool":
        name = tools[0]["function"]["name"]
        return Reply("Let me see.", calls=[Call(name, '{"seconds": 0.25}', "a")], delay=0.01)
    return Reply(*["word "] * 25, delay=0.01)


def _setup(url: str) -> str:
    return f"""
%load_ext agentcell
import sys, time
from agentcell import LegacyOpenAIModel, McpServer
from agentcell_magics import current_session
def waits(seconds: float) -> str:
    "Wait."
    time.sleep(seconds)
    return "waited"
server = McpServer([{sys.executable!r}, {str(HERE / "mcp_tools_server.py")!r}],
    env={{"PYTHONPATH": {str(HERE)!r}}}, needs_approval=False)
server.as_tools()
current_session().model = LegacyOpenAIModel("m", api_key="k", base_url={url!r})
"""


CELLS = {
    "answer": "%%agent\nSay it.",
    "tool": "%%agent -T waits\nWait.",
    "server": "%%agent -T server.waits\nWait.",
}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks into /proc")
def test_stopped_at_any_moment_the_next_cell_sends_what_is_valid_and_nothing_is_left(
    kernel: Kernel,
) -> None:
    with ChatServer(_reply) as server:
        assert kernel.run(_setup(server.url)).status == "ok"
        for cell in CELLS.values():  # what is loaded at the first use is there
            assert kernel.run(cell).status == "ok"
        before = kernel.run(_STATE).text.splitlines()
        chance = random.Random(7)  # noqa: S311 (the same moments each time)
        ends: dict[str, int] = {}

        for moment in range(MOMENTS):
            kind = KINDS[moment % len(KINDS)]
            asked = len(server.requests)
            running = kernel.start(CELLS[kind])
            time.sleep(chance.uniform(0.0, 0.45 if kind == "answer" else 0.85))
            kernel.interrupt()
            try:
                ran = kernel.finish(running, 10)
            except Empty:  # the interrupt hit ipykernel itself, between the cell and its reply
                ends["lost"] = ends.get("lost", 0) + 1
                continue
            ends[ran.ename or "ok"] = ends.get(ran.ename or "ok", 0) + 1
            assert ran.ename in {"", "Stopped", "Interrupted", "KeyboardInterrupt"}, ran.text
            if moment % 3 == 2:
                _ask_next(kernel, server, asked)
            if moment % 12 == 11:
                assert kernel.run("%agent reset").status == "ok"  # bodies stay small

        after = kernel.run(_STATE).text.splitlines()
        assert after == before
        assert len(server.connections) <= 3, "no connection is left open but what is kept to reuse"
        assert ends.get("Stopped", 0) > MOMENTS // 3, ends
        assert ends.get("lost", 0) <= 1 + MOMENTS // 50, ends


def _ask_next(kernel: Kernel, server: ChatServer, asked: int) -> None:
    ran = kernel.run("%%agent\nGo on.", 20)
    assert ran.status == "ok", ran.text
    assert server.requests[-1].body is not None
    for request in server.requests[asked:]:
        if request.body is None:
            continue
        wire.check("chat", request.body)
        _check_rounds(request.body["messages"])


def _check_rounds(messages: list[dict[str, Any]]) -> None:
    """Each call has its result, right behind it; each result its call."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_calls.pop(0)
            continue
        assert open_calls == []
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
    assert open_calls == []
