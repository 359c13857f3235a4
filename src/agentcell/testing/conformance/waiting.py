"""How every adapter must wait, stop, and share its connections."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agentcell.adapters.connection import Timeouts
from agentcell.adapters.events import (
    TextDelta,
)
from agentcell.errors import (
    ConnectionFailed,
    Timeout,
)
from agentcell.testing import Reply, Request, SilentPort, unused_url
from agentcell.testing.conformance.check import Check, needs
from agentcell.testing.conformance.raising import raises
from agentcell.testing.conformance.subject import HI, Subject, event_of_piece


@needs("server", "options", "streaming")
def nobody_there_is_said_at_once(subject: Subject) -> None:
    model = subject.model(unused_url())
    began = time.monotonic()

    with raises(ConnectionFailed, match="No connection to") as caught:
        model.invoke(HI)

    assert time.monotonic() - began < 3
    assert "127.0.0.1" in str(caught.value)


@needs("server", "options", "streaming")
def each_wait_has_its_limit(subject: Subject) -> None:
    options = {"max_retries": 0, "timeout": Timeouts(connect=0.3, first_byte=0.3, silence=0.3)}
    with SilentPort() as port, raises(Timeout, match=r"0\.3 seconds"):
        subject.model(port.url, **options).invoke(HI)
    for reply in (
        Reply("x", stall=-1),
        Reply("x", stall=0),
        Reply("x", "y", stall=event_of_piece(subject, 2)),
    ):
        with subject.talking(reply, **options) as (model, server):
            with raises(Timeout, match=r"said nothing for 0\.3 seconds"):
                model.invoke(HI)
            assert server.disconnected.wait(1)
            server.then("fine")
            assert model.invoke(HI)["content"] == "fine"


@needs("server", "options", "streaming")
def an_answer_may_take_longer_than_a_silence_may(subject: Subject) -> None:
    slow = Reply(*"slowly", delay=0.1)
    with subject.talking(slow, timeout=Timeouts(first_byte=0.4, silence=0.4)) as (model, _):
        assert model.invoke(HI)["content"] == "slowly"


@needs("server", "options", "streaming")
def closing_early_closes_the_connection(subject: Subject) -> None:
    with subject.talking(Reply(*"a long answer", delay=0.02)) as (model, server):
        stream = model.stream(HI)
        assert next(stream) == TextDelta("a")
        stream.close()
        assert server.disconnected.wait(1)
        server.then("next")
        assert model.invoke(HI)["content"] == "next"


@needs("server", "asynchronous")
def cancelling_closes_the_connection(subject: Subject) -> None:
    async def cancelled(model: Any, server: Any = None) -> float:
        async def run() -> None:
            async for _ in model.astream(HI):
                pass

        task = asyncio.create_task(run())
        if server is not None:
            assert await asyncio.to_thread(server.asked.wait, 60)
        await asyncio.sleep(0.1)
        began = time.monotonic()
        task.cancel()
        with raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    for reply in (
        Reply("x", stall=-1),
        Reply("x", stall=0),
        Reply("x", "y", stall=event_of_piece(subject, 2)),
    ):
        with subject.talking(reply) as (model, server):
            assert asyncio.run(cancelled(model, server)) < 1
            assert server.disconnected.wait(1)
    with SilentPort() as port:
        model = subject.model(port.url)
        assert asyncio.run(cancelled(model)) < 1


@needs("server", "asynchronous")
def another_thread_can_stop_it(subject: Subject) -> None:
    """As the panels do: the thread that reads is blocked, and another one cancels the task."""
    with subject.talking(Reply("x", "y", stall=event_of_piece(subject, 2))) as (model, server):
        loop = asyncio.new_event_loop()
        begun = threading.Event()
        ended: list[BaseException] = []

        async def read() -> None:
            async for _ in model.astream(HI):
                begun.set()

        tasks: list[asyncio.Task[None]] = []

        def run() -> None:
            tasks.append(loop.create_task(read()))
            try:
                loop.run_until_complete(tasks[0])
            except asyncio.CancelledError as error:
                ended.append(error)
            finally:
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.close()

        thread = threading.Thread(target=run)
        thread.start()
        assert begun.wait(3)
        loop.call_soon_threadsafe(tasks[0].cancel)
        thread.join(1)
        assert not thread.is_alive()
        assert server.disconnected.wait(1)
        assert len(ended) == 1


@needs("server")
def many_calls_at_once_do_not_mix(subject: Subject) -> None:
    def echo(request: Request) -> Reply:
        word = str(request.body).partition("<")[2].partition(">")[0]
        return Reply(*(f"{word} " * 20).splitlines(keepends=True), *[f"{word} "] * 20, delay=0.002)

    def ask(number: int) -> str:
        message = {"role": "user", "content": f"<{number}>"}
        return str(model.invoke([message])["content"])

    async def ask_all(numbers: range) -> list[str]:
        async def one(number: int) -> str:
            result = await model.ainvoke([{"role": "user", "content": f"<{number}>"}])
            return str(result["content"])

        return await asyncio.gather(*map(one, numbers))

    with subject.talking(echo) as (model, server):
        with ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(ask, range(32)))
        answers += asyncio.run(ask_all(range(32, 64)))

        assert [set(answer.split()) for answer in answers] == [{str(n)} for n in range(64)]
        assert len(server.requests) == 64
        assert server.disconnects == 0


@needs("server", "options", "streaming")
def a_connection_is_used_again(subject: Subject) -> None:
    with subject.talking("one") as (model, server):
        for _ in range(5):
            model.invoke(HI)
        assert server.accepted <= 2


@needs("server", "options", "streaming")
def a_connection_that_went_stale_costs_no_wait(subject: Subject) -> None:
    with subject.talking("one", Reply(cut=-1), "two", max_retries=1) as (model, server):
        model.invoke(HI)
        began = time.monotonic()
        assert model.invoke(HI)["content"] == "two"
        assert time.monotonic() - began < 0.3
        for connection in list(server.connections):  # the server gives up its idle connections
            connection.shutdown(socket.SHUT_RDWR)
        assert model.invoke(HI)["content"] == "two"
    assert len(server.requests) == 4


@needs("server", "options", "streaming")
def no_thread_is_left_behind(subject: Subject) -> None:
    with subject.talking() as (model, _):
        model.invoke(HI)
    before = threading.active_count()
    with subject.talking() as (model, _):
        for _ in range(3):
            model.invoke(HI)
    assert threading.active_count() <= before


CHECKS: list[Check] = [
    nobody_there_is_said_at_once,
    each_wait_has_its_limit,
    an_answer_may_take_longer_than_a_silence_may,
    closing_early_closes_the_connection,
    cancelling_closes_the_connection,
    another_thread_can_stop_it,
    many_calls_at_once_do_not_mix,
    a_connection_is_used_again,
    a_connection_that_went_stale_costs_no_wait,
    no_thread_is_left_behind,
]
