"""A runner in a real kernel: awaited at the top of a cell, shown; and without await, stopped."""

from __future__ import annotations

from kernels import Kernel

SETUP = """
import asyncio
from agentcell import AgentRunner, SimplePrompt, tool

@tool
async def wait(seconds: float) -> str:
    "Wait."
    print("waiting", flush=True)
    await asyncio.sleep(seconds)
    return "waited"

def runner_that_waits(seconds):
    call = {"id": "c", "name": "wait", "arguments": {"seconds": seconds}}
    left = [{"tool_calls": [call]}, "Done."]
    return AgentRunner(llm_call=lambda messages, tools: left.pop(0), tools=[wait], trace_store="t")
"""


def test_a_run_is_awaited_shown_and_stopped_by_an_interrupt(kernel: Kernel) -> None:
    assert kernel.run(SETUP).status == "ok"

    shown = kernel.run("await runner_that_waits(0.01).call('Hi')")
    prompt = kernel.run("SimplePrompt.from_text('$user$\\n%q%', name='ask')")
    cell = kernel.start("runner_that_waits(600).call_sync('Hi')")
    kernel.until_output(cell)
    kernel.interrupt()
    stopped = kernel.finish(cell)
    after = kernel.run(
        "from agentcell import FileSystemTraceStore\n"
        "store = FileSystemTraceStore('t')\n"
        "print([store.read(one).stop_reason for one in store.ids()])"
    )

    assert (shown.status, prompt.status) == ("ok", "ok")
    assert "Completed" in shown.text
    assert "wait(seconds=0.01)" in shown.text
    assert "Done." in shown.data("text/markdown")[0]
    assert "%q%" in prompt.text
    assert stopped.status == "error"
    assert "'cancelled'" in after.text
    assert "'completed'" in after.text
