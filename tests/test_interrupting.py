"""A person who stops a cell reads what became of its work, in a line or two, and no stack."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from agentcell import Agent, Model
from agentcell.interrupting import Interrupted, calmly
from agentcell.testing import ChatServer, Reply
from kernels import Kernel, running

_SETUP = """
import time
from agentcell import *
silent = LegacyOpenAIModel("m", api_key="k", base_url={url!r})
agent = Agent("asker", "Answer.", model=silent)
alone = SingleAgent("alone", "Answer.", model=silent)
class Own(Model):
    def invoke(self, messages, tools=None, settings=None, **kwargs):
        print("asked", flush=True)
        time.sleep(60)
own = Agent("own", "Answer.", model=Own("own"))
class Passes:
    def step(self, given):
        return dict(given)
def graph(*nodes):
    names = ["entry", *(name for name, _ in nodes), "exit"]
    return RootGraph("line", nodes=nodes, edges=list(zip(names, names[1:]))).build()
one = graph(("thinks", NodeTemplate(Agent, model=silent)))
two = graph(("first", Passes()), ("second", NodeTemplate(Agent, model=silent)))
runner = AgentRunner(silent)
traced = AgentRunner(silent, trace_store="traces")
question = [{{"role": "user", "content": "Well?"}}]
session = Session()
session.model = silent
import os
os.environ.update(OPENAI_API_KEY="k", OPENAI_BASE_URL={url!r})
"""

CELLS = {
    'agent.step({"q": 1})': "as you asked; nothing of this step is remembered.",
    'for event in agent.stream({"q": 1}): pass': "as you asked; nothing of this step is",
    'own.step({"q": 1})': "as you asked; nothing of this step is remembered.",
    'alone.invoke({"q": 1})': "as you asked; nothing of this step is remembered.",
    "agent.think(question)": "as you asked.",
    'list(agent.imap([{"q": 1}], progress=False))': "as you asked.",
    'one.invoke({"message": 1})': "after 0 of 1 nodes, as you asked.",
    'two.invoke({"message": 1})': "after 1 of 2 nodes, as you asked.",
    'runner.call_sync("Well?")': "as you asked.",
    'traced.call_sync("Well?")': "as you asked.\nFix: read in the run's trace what was done",
    "silent.invoke(question)": "as you asked.",
    "for event in silent.stream(question): pass": "as you asked.",
    'session.ask("Well?")': "as you asked.",
    'session.generate("A fox", model="openai/gpt-image-1", confirm=lambda _: True)': "as you asked."
    "\nFix: look at session.generator.jobs()",
}


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with ChatServer(lambda _: Reply("Never.", stall=0)) as server:
        yield server


@pytest.fixture(scope="module")
def ready(server: ChatServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with running(tmp_path_factory.mktemp("interrupted")) as kernel:
        ran = kernel.run(_SETUP.format(url=server.url))
        assert ran.status == "ok", ran.text
        yield kernel


def _stopped(kernel: Kernel, server: ChatServer, cell: str) -> Any:
    server.asked.clear()
    started = kernel.start(cell)
    if cell.startswith("own"):
        kernel.until_output(started)
    else:
        assert server.asked.wait(30)
    kernel.interrupt()
    return kernel.finish(started)


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_that_is_stopped_shows_what_became_of_its_work_and_no_stack(
    ready: Kernel, server: ChatServer, cell: str
) -> None:
    ran = _stopped(ready, server, cell)

    assert ran.status == "error"
    assert ran.text.strip().startswith(f"Stopped: {CELLS[cell]}")
    assert len(ran.text.strip().splitlines()) <= 2


def test_what_the_nodes_did_before_a_graph_was_stopped_is_not_lost(
    ready: Kernel, server: ChatServer
) -> None:
    _stopped(ready, server, 'two.invoke({"message": 1})')

    ran = ready.run(
        "import sys\n"
        "run = sys.last_value.graph_run\n"
        "print([(node.name, node.status) for node in run.nodes], run.nodes['first'].output)"
    )

    assert ran.text.strip() == "[('first', 'done'), ('second', 'stopped')] {'message': 1}"


def test_a_script_still_sees_an_interrupt_which_no_handler_of_errors_takes() -> None:
    class Stopping(Model):
        def invoke(self, *_: Any, **__: Any) -> Any:
            raise KeyboardInterrupt

    agent = Agent("stops", "Answer.", model=Stopping("stopping"))

    with pytest.raises(KeyboardInterrupt) as caught:
        agent.step({"q": 1})

    assert not isinstance(caught.value, Exception)
    assert str(caught.value) == "as you asked; nothing of this step is remembered."


def test_the_outermost_says_what_became_of_the_work() -> None:
    with (
        pytest.raises(Interrupted) as caught,
        calmly("after two rows.", fix="look at them."),
        calmly("inside."),
    ):
        raise KeyboardInterrupt

    assert caught.value._render_traceback_() == ["Stopped: after two rows.\nFix: look at them."]


def test_an_interrupt_that_says_what_became_of_the_work_pickles() -> None:
    again = pickle.loads(pickle.dumps(Interrupted("as you asked.", fix="look.")))  # noqa: S301

    assert (again.problem, again.fix, str(again)) == (
        "as you asked.",
        "look.",
        "as you asked.\nFix: look.",
    )
