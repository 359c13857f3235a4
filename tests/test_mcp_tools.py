from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wire
from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.agents.agent import Agent
from agentcell.agents.calls import acall, call, run
from agentcell.agents.mcp import McpServer
from agentcell.agents.tools import Tool
from agentcell.errors import ToolError, ToolServerFailed
from agentcell.messages import ToolCall, media_blocks
from agentcell.session import Session
from agentcell.testing import AnthropicServer, ChatServer, GeminiServer, ResponsesServer
from agentcell.testing.fake_model import FakeModel
from agentcell.testing.replies import Call, Reply
from kernels import Kernel
from promptly import PROMPTLY

HERE = Path(__file__).parent
COMMAND = [sys.executable, str(HERE / "mcp_tools_server.py")]
PLACE = {"PYTHONPATH": str(HERE)}


def children() -> set[str]:
    """The processes that this one started and that still run."""
    own = Path(f"/proc/{os.getpid()}/task")
    return {pid for task in own.iterdir() for pid in (task / "children").read_text().split()}


def ask(tool: Tool, **arguments: Any) -> Any:
    return call(tool, ToolCall("1", tool.name, arguments))


@pytest.fixture
def server() -> Iterator[McpServer]:
    with McpServer(COMMAND, env=PLACE, name="shelf") as server:
        yield server


@pytest.fixture
def address() -> Iterator[str]:
    """A server of its own process, on a port of loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    process = subprocess.Popen(
        [*COMMAND, str(port)], env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()


# -- started here ----------------------------------------------------------------------------------


def test_its_tools_are_tools_with_their_descriptions_and_parameters(server: McpServer) -> None:
    assert repr(server) == "McpServer('shelf', not running)"
    tools = {tool.name: tool for tool in server.as_tools()}

    assert repr(server) == "McpServer('shelf', running)"
    schema = tools["add"].schema()
    assert schema["description"] == "Add two numbers."
    assert schema["parameters"]["required"] == ["a", "b"]
    assert tools["add"].needs_approval
    assert ask(tools["add"], a=1, b=2) == "3"


def test_one_server_lives_across_calls_and_ends_when_closed(server: McpServer) -> None:
    first = ask(server["process"])
    assert ask(server["process"]) == first
    assert str(first) in children()

    server.close()

    assert str(first) not in children()
    assert not server.is_running
    assert ask(server["process"]) != first


def test_a_server_that_nothing_refers_to_ends() -> None:
    server = McpServer(COMMAND, env=PLACE)
    pid = str(ask(server["process"]))
    del server
    gc.collect()

    end = time.monotonic() + 5
    while pid in children() and time.monotonic() < end:
        time.sleep(0.05)
    assert pid not in children()


def test_a_picture_in_a_result_is_an_attachment(server: McpServer) -> None:
    content = ask(server["picture"])

    (block,) = media_blocks([{"content": content}])
    assert block.tag.startswith("[picture_1 ")
    assert block.asset.mime_type == "image/png"
    assert "a red one" in content[-1].text


def test_what_goes_wrong_in_a_tool_is_an_error_that_names_it(server: McpServer) -> None:
    outcome = run(server["fails"], ToolCall("1", "fails", {}))

    assert outcome.is_error
    assert str(outcome.content).startswith("Error: 'fails' of MCP server 'shelf' failed:")


def test_a_server_that_dies_is_named_with_its_last_words_and_started_again(
    server: McpServer,
) -> None:
    outcome = run(server["dies"], ToolCall("1", "dies", {}))

    assert outcome.is_error
    assert "MCP server 'shelf' ended before it answered. It said last:" in str(outcome.content)
    assert "out of memory" in str(outcome.content)
    assert not server.is_running
    assert ask(server["add"], a=1, b=2) == "3"


def test_a_server_that_died_between_two_uses_is_started_again(server: McpServer) -> None:
    pid = int(str(ask(server["process"])))
    os.kill(pid, signal.SIGKILL)
    time.sleep(0.2)

    assert len(server.as_tools()) == 7
    assert ask(server["process"]) != str(pid)


def test_no_key_reaches_a_server_unless_it_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-123")
    monkeypatch.setenv("SHELF_TOKEN", "token-456")
    with McpServer(COMMAND, env=PLACE) as server:
        tool = server["variable"]
        assert ask(tool, name="OPENAI_API_KEY") == "not set"
        assert ask(tool, name="SHELF_TOKEN") == "not set"
        assert ask(tool, name="PATH") == os.environ["PATH"]
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    with McpServer(COMMAND, env=["SHELF_TOKEN", "PYTHONPATH"]) as server:
        assert ask(server["variable"], name="SHELF_TOKEN") == "token-456"
        assert "token-456" not in repr(server)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("no_such_program serve", "cannot be started: there is no such program"),
        ([sys.executable, "-c", "print('hello')"], "ended before it answered"),
        ([sys.executable, "-c", "import sys; sys.exit('no shelf')"], "It said last: no shelf"),
        ("http://127.0.0.1:9/mcp", "check that it listens at http://127.0.0.1:9/mcp"),
    ],
)
def test_a_server_that_cannot_be_reached_is_told(where: Any, said: str) -> None:
    before = children()

    with pytest.raises(ToolServerFailed) as caught:
        McpServer(where).as_tools()

    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 4
    assert children() == before


def test_without_the_package_it_is_told_what_to_install() -> None:
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "from agentcell import McpServer\n"
        "try: McpServer('python server.py').as_tools()\n"
        "except Exception as error: print(error)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )

    assert "cannot be asked: the package mcp is not installed" in ran.stdout
    assert "Fix: run pip install 'agentcell[tools]'" in ran.stdout


def test_what_a_server_says_last_never_shows_what_only_it_may_know() -> None:
    code = "import os, sys; sys.exit('bad token ' + os.environ['TOKEN'])"

    with pytest.raises(ToolServerFailed) as caught:
        McpServer([sys.executable, "-c", code], env={"TOKEN": "sk-secret-1"}).as_tools()

    assert "bad token …" in str(caught.value)
    assert "sk-secret-1" not in str(caught.value)


@pytest.mark.parametrize("where", ["", "   ", [], 5, None, 'python "open'])
def test_what_is_no_place_for_a_server_is_told_at_once(where: Any) -> None:
    with pytest.raises(ToolError):
        McpServer(where)


def test_a_variable_that_is_not_set_cannot_be_passed_on() -> None:
    with pytest.raises(ToolError, match="NOT_SET_HERE"):
        McpServer("python server.py", env=["NOT_SET_HERE"])


def test_a_name_that_it_has_not_is_told_with_what_is_meant(server: McpServer) -> None:
    with pytest.raises(ToolError, match=r"(?s)no tool 'ad'.*did you mean add"):
        server["ad"]


def test_a_tool_that_takes_too_long_is_given_up() -> None:
    with McpServer(COMMAND, env=PLACE, timeout=0.5) as server:
        outcome = run(server["waits"], ToolCall("1", "waits", {"seconds": 5}))
        assert "gave no result in 0.5 s" in str(outcome.content)
        assert outcome.is_error


def test_a_prefix_tells_two_servers_apart(server: McpServer) -> None:
    with McpServer(COMMAND, env=PLACE, prefix="other_") as other:
        session = Session(FakeModel(Call("other_add", '{"a": 1, "b": 2}'), "Three."))
        answer = session.ask("?", tools=[server, other], approve=lambda _call, _tool: True)

        assert answer == "Three."
        assert other["add"].name == "other_add"
        with pytest.raises(ToolError, match="Two tools are named"):
            session.prepare("?", tools=[server, server])


# -- everywhere that tools go --------------------------------------------------------------------


def test_an_agent_takes_a_server(server: McpServer) -> None:
    model = FakeModel(Call("add", '{"a": 1, "b": 2}'), "Three.")
    agent = Agent("a", model=model, tools=[server], approve=lambda _call, _tool: True)

    assert agent.step({"question": "?"}) == {"answer": "Three."}
    assert model.requests[1].messages[-1]["content"] == "3"


@pytest.mark.parametrize(
    ("kind", "provider", "model"),
    [
        ("responses", ResponsesServer, OpenAIModel),
        ("chat", ChatServer, LegacyOpenAIModel),
        ("anthropic", AnthropicServer, AnthropicModel),
        ("gemini", GeminiServer, GeminiModel),
    ],
)
def test_every_provider_takes_a_server_s_tools(
    server: McpServer, kind: str, provider: Any, model: Any
) -> None:
    with provider(Reply(calls=[Call("picture")]), "Red.", "Bye.") as service:
        asked = model("m", api_key="k", base_url=service.url)
        session = Session(asked)
        answer = session.ask("?", tools=server, approve=lambda _call, _tool: True)
        session.ask("Bye.")

        assert answer == "Red."
        assert len(service.bodies) == 3
        for body in service.bodies:
            wire.check(kind, body)


def test_a_server_answers_on_other_loops(server: McpServer) -> None:
    tool = server["add"]

    async def both() -> list[Any]:
        calls = [ToolCall(str(n), "add", {"a": n, "b": 1}) for n in range(3)]
        return list(await asyncio.gather(*(acall(tool, one) for one in calls)))

    assert asyncio.run(both()) == ["1", "2", "3"]
    assert asyncio.run(both()) == ["1", "2", "3"]


def test_over_http(address: str) -> None:
    with McpServer(address, needs_approval=False) as server:
        session = Session(FakeModel(Reply(calls=[Call("picture")]), "Red."))
        assert session.ask("?", tools=server) == "Red."
        assert [block.asset.mime_type for block in session.attachments] == ["image/png"]
        assert ask(server["add"], a=1, b=2) == "3"
        outcome = run(server["dies"], ToolCall("1", "dies", {}))
        assert outcome.is_error
        with pytest.raises(ToolServerFailed, match="check that it listens"):
            server.as_tools()


# -- in a notebook -------------------------------------------------------------------------------

SETUP = f"""
%load_ext agentcell
from agentcell import McpServer
from agentcell.testing import FakeModel, Call, Reply
from agentcell_magics import current_session
files = McpServer({COMMAND!r}, env={PLACE!r}, name="files")
def say(*answers): current_session().model = FakeModel(*answers)
def told(): return current_session().model.requests[-1].messages[-1]["content"]
def offered(): return [one["name"] for one in current_session().model.requests[0].tools]
"""


@pytest.mark.parametrize(("name", "count"), [("files", 7), ("files.add", 1)])
def test_a_cell_takes_a_server_or_one_tool_of_it(kernel: Kernel, name: str, count: int) -> None:
    kernel.run(SETUP)
    kernel.run("say(Call('add', '{\"a\": 1, \"b\": 2}'), 'Three.')")
    ran = kernel.run(f"%%agent -T {name} --approve run\nAdd.")

    assert ran.status == "ok"
    assert "add(a=1, b=2) · " in ran.text
    assert "log" not in ran.text
    assert kernel.run("told()").text == "'3'"
    assert kernel.run("len(offered())").text == str(count)


def test_a_cell_in_the_background_takes_a_server(kernel: Kernel) -> None:
    kernel.run(SETUP)
    kernel.run("say(Call('add', '{\"a\": 1, \"b\": 2}'), 'Three.')")
    kernel.run("%%agent --async -o h -T files.add --approve run\nAdd.")

    assert kernel.run("h.result()").text == "Answer('Three.')"
    assert kernel.run("told()").text == "'3'"


def test_a_cell_asks_before_a_server_s_tool_runs(kernel: Kernel) -> None:
    kernel.run(SETUP)
    kernel.run("say(Call('add', '{\"a\": 1, \"b\": 2}'), 'Three.')")
    ran = kernel.run("%%agent -T files\nAdd.")

    assert "refused" in ran.text
    assert "--approve run" in ran.text


def test_an_interrupt_stops_a_server_s_tool_and_not_the_server(kernel: Kernel) -> None:
    kernel.run(SETUP)
    kernel.run("say(Call('waits', '{\"seconds\": 20}'), 'Done.')\nfiles.as_tools()")
    pid = kernel.run(
        "from agentcell.agents.calls import call\nfrom agentcell.messages import "
        "ToolCall\nprint(call(files['process'], ToolCall('1', 'process', {})))"
    ).text
    running = kernel.start("%%agent -T files --approve run\nWait.")
    time.sleep(1)
    kernel.interrupt()
    ran = kernel.finish(running, 10)

    assert ran.ename == "Stopped"
    assert ran.seconds < PROMPTLY
    assert "waits(seconds=20) · stopped" in ran.text
    assert Path(f"/proc/{pid.strip()}").exists()
    assert kernel.run("%%agent\nGo on.").status == "ok"


def test_the_end_of_the_kernel_leaves_no_server(kernel: Kernel) -> None:
    kernel.run(SETUP)
    pid = kernel.run(
        "from agentcell.agents.calls import call\nfrom agentcell.messages import "
        "ToolCall\nprint(call(files['process'], ToolCall('1', 'process', {})))"
    ).text
    assert Path(f"/proc/{pid.strip()}").exists()
    kernel.manager.shutdown_kernel(now=False)

    end = time.monotonic() + 5
    while Path(f"/proc/{pid.strip()}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid.strip()}").exists()
