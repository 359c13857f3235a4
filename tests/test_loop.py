"""The loop thread: values, errors and interrupts cross it, and nothing is left behind."""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import contextvars
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentcell.loop import LOOP, LoopThread
from promptly import PROMPTLY


async def numbers(count: int, wait: float = 0.0) -> AsyncIterator[int]:
    for number in range(count):
        await asyncio.sleep(wait)
        yield number


class Watched:
    """An endless stream that notes how it ended."""

    def __init__(self, wait: float = 60.0) -> None:
        self.wait = wait
        self.begun = threading.Event()
        self.ended = threading.Event()
        self.cancelled = False

    async def items(self) -> AsyncIterator[int]:
        try:
            yield 1
            self.begun.set()
            await asyncio.sleep(self.wait)
            yield 2
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        finally:
            self.ended.set()


@contextlib.contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Interrupt the main thread, as the kernel's stop button does."""
    timer = threading.Timer(seconds, _thread.interrupt_main)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def test_values_and_errors_come_back() -> None:
    async def fail() -> None:
        raise LookupError("lost")

    assert LOOP.run(asyncio.sleep(0, "value")) == "value"
    assert list(LOOP.iterate(numbers(3))) == [0, 1, 2]
    with pytest.raises(LookupError, match="lost"):
        LOOP.run(fail())


def test_an_error_in_a_stream_comes_after_what_was_yielded() -> None:
    async def broken() -> AsyncIterator[int]:
        yield 1
        raise LookupError("lost")

    stream = LOOP.iterate(broken())

    assert next(stream) == 1
    with pytest.raises(LookupError, match="lost"):
        next(stream)


def test_it_works_inside_a_loop_that_runs_already() -> None:
    async def cell() -> list[int]:
        return list(LOOP.iterate(numbers(2)))

    assert asyncio.run(cell()) == [0, 1]


def test_on_its_own_loop_it_refuses_and_says_what_to_do() -> None:
    async def inside() -> None:
        with pytest.raises(RuntimeError, match="use await"):
            LOOP.run(asyncio.sleep(0))
        with pytest.raises(RuntimeError, match="use async for"):
            LOOP.iterate(numbers(1))

    LOOP.run(inside())


def test_many_threads_share_one_loop() -> None:
    def add(number: int) -> int:
        return number + sum(LOOP.iterate(numbers(number)))

    with ThreadPoolExecutor(16) as pool:
        sums = list(pool.map(add, range(64)))

    assert sums == [n + sum(range(n)) for n in range(64)]
    loops = [t for t in threading.enumerate() if t.name == "agentcell-loop" and t.is_alive()]
    assert len(loops) == 1


def test_what_runs_there_sees_the_callers_context() -> None:
    variable = contextvars.ContextVar("variable", default="outer")
    variable.set("cell")

    async def read() -> str:
        return variable.get()

    assert LOOP.run(read()) == "cell"


def test_closing_a_stream_cancels_and_closes_it() -> None:
    watched = Watched()
    stream = LOOP.iterate(watched.items())

    assert next(stream) == 1
    assert watched.begun.wait(2)
    stream.close()  # type: ignore[attr-defined]

    assert watched.ended.is_set()
    assert watched.cancelled


def test_a_forgotten_stream_is_closed_too() -> None:
    watched = Watched()
    stream = LOOP.iterate(watched.items())
    next(stream)

    del stream
    gc.collect()

    assert watched.ended.wait(2)


def test_a_stream_that_was_never_read_starts_nothing() -> None:
    watched = Watched()

    LOOP.iterate(watched.items())
    gc.collect()

    assert not watched.begun.is_set()


def test_an_interrupt_ends_a_wait_within_a_second() -> None:
    watched = Watched()
    began = time.monotonic()

    with interrupted_after(0.2), pytest.raises(KeyboardInterrupt):
        list(LOOP.iterate(watched.items()))

    assert time.monotonic() - began < PROMPTLY
    assert watched.ended.is_set()
    assert watched.cancelled


def test_an_interrupt_ends_a_call_within_a_second() -> None:
    ended = threading.Event()

    async def sleep() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    began = time.monotonic()
    with interrupted_after(0.2), pytest.raises(KeyboardInterrupt):
        LOOP.run(sleep())

    assert time.monotonic() - began < PROMPTLY
    assert ended.is_set()
    assert LOOP.run(asyncio.sleep(0, "next")) == "next"


def test_work_that_will_not_stop_does_not_hold_the_caller() -> None:
    released, done = threading.Event(), threading.Event()

    async def stubborn() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.to_thread(released.wait, 60)
        done.set()

    with interrupted_after(0.1), pytest.raises(KeyboardInterrupt):
        LOOP.run(stubborn())

    assert not done.is_set()
    released.set()
    assert done.wait(PROMPTLY)


def test_an_interrupt_before_the_work_began_leaves_nothing_behind() -> None:
    own = LoopThread()
    own.loop().call_soon_threadsafe(time.sleep, 0.5)  # the loop is busy: nothing begins
    ran = threading.Event()

    async def work() -> None:
        ran.set()

    with interrupted_after(0.1), pytest.raises(KeyboardInterrupt):
        own.run(work())
    gc.collect()

    assert own.run(asyncio.sleep(0, "next")) == "next"
    assert not ran.is_set()
    own.close()
    assert own.run(asyncio.sleep(0, "anew")) == "anew"
    own.close()


def test_work_that_exits_does_not_end_the_loop() -> None:
    async def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        LOOP.run(leave())

    assert LOOP.run(asyncio.sleep(0, "next")) == "next"


def test_a_process_ends_although_its_loop_is_busy() -> None:
    code = (
        "import asyncio\n"
        "from agentcell.loop import LOOP\n"
        "LOOP.loop().call_soon_threadsafe(lambda: asyncio.ensure_future(asyncio.sleep(60)))\n"
        "print('end')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=False
    )

    assert (done.returncode, done.stdout) == (0, "end\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_gets_a_loop_of_its_own() -> None:
    code = (
        "import asyncio, os, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "from agentcell.loop import LOOP\n"
        "LOOP.run(asyncio.sleep(0))\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    os._exit(LOOP.run(asyncio.sleep(0, 7)))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=False
    )

    assert done.stdout == "7\n"


def test_the_stop_button_of_a_kernel_gets_through() -> None:
    """A real signal, not only the flag that `interrupt_main` sets."""
    watched = Watched()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()

    with pytest.raises(KeyboardInterrupt):
        list(LOOP.iterate(watched.items()))

    timer.join()
    assert time.monotonic() - began < PROMPTLY
    assert watched.ended.is_set()


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt()])
def test_an_exit_in_a_task_of_a_task_ends_neither_the_loop_nor_its_caller(
    raised: BaseException,
) -> None:
    async def leave() -> None:
        raise raised

    async def outer() -> None:
        await asyncio.gather(asyncio.create_task(leave()), asyncio.sleep(0.01))

    async def fine() -> str:
        return "still here"

    loop = LoopThread()
    thread = threading.Thread(target=lambda: ended.append(outcome(loop, outer())), daemon=True)
    ended: list[object] = []
    thread.start()
    thread.join(30)

    assert ended == [type(raised)]
    assert loop.run(fine()) == "still here"
    loop.close()


def outcome(loop: LoopThread, work: Coroutine[Any, Any, Any]) -> object:
    try:
        return loop.run(work)
    except BaseException as error:  # noqa: BLE001 (it is what the test looks at)
        return type(error)


def _interrupting(watched: Watched) -> Any:
    """Return what interrupts this thread at the moment at which its work was begun."""
    from agentcell.loop import _Task

    def at(frame: Any, event: str, _: object) -> None:
        if event == "return" and frame.f_code is _Task.start.__code__:
            sys.setprofile(None)
            assert watched.begun.wait(20)
            raise KeyboardInterrupt

    return at


@pytest.mark.parametrize("is_stream", [False, True])
def test_an_interrupt_right_after_the_work_began_ends_it(*, is_stream: bool) -> None:
    watched = Watched()

    async def all_of_it() -> None:
        async for _ in watched.items():
            pass

    def wait() -> None:
        if is_stream:
            list(LOOP.iterate(watched.items()))
        else:
            LOOP.run(all_of_it())

    before = sys.getprofile()
    sys.setprofile(_interrupting(watched))
    try:
        with pytest.raises(KeyboardInterrupt):
            wait()
    finally:
        sys.setprofile(before)

    assert watched.ended.wait(20)
    assert watched.cancelled
