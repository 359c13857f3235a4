from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcell.adapters.events import Event, Finished, TextDelta, Usage
from agentcell.adapters.local.child import thread_count
from agentcell.adapters.local.exchange import TooLong
from agentcell.adapters.local.speaker import Speaker, speaker_for
from agentcell.adapters.local.weights import SMOLLM2, weights_path
from agentcell.errors import BadRequest, LocalModelMissing, StreamTruncated
from promptly import PROMPTLY

real = pytest.mark.local_model
posix = pytest.mark.skipif(os.name != "posix", reason="processes and signals of POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

STORY = "Tell me a long story about a cat and a dog."

PARENT = """
import asyncio, sys, time
from agentcell.adapters.local.speaker import Speaker
from agentcell.adapters.local.weights import weights_path
speaker = Speaker(weights_path(), "smollm2-135m")
asyncio.run(speaker.start())
print(speaker.process_id, flush=True)
"""


def body(text: str, **settings: Any) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": text}],
        "max_tokens": 8,
        "temperature": 0,
        **settings,
    }


async def said(speaker: Speaker, text: str, idle: float = 60, **settings: Any) -> list[Event]:
    return [event async for event in speaker.chat(body(text, **settings), idle_seconds=idle)]


def is_gone(process_id: int, seconds: float = 2.0) -> bool:
    """Whether the process ends within `seconds`; a zombie has ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(process_id, 0)
        except ProcessLookupError:
            return True
        with contextlib.suppress(OSError):
            if ") Z " in Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8"):
                return True
        time.sleep(0.02)
    return False


@pytest.fixture
def speaker() -> Iterator[Speaker]:
    """A speaker of the test's own."""
    speaker = Speaker(weights_path(), SMOLLM2.name)
    yield speaker
    speaker.stop()


@contextlib.contextmanager
def parent(code: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A Python that runs `code`, and the process id of the child that it reports first."""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            yield process, child
        finally:
            process.kill()


def test_nothing_runs_before_the_first_need() -> None:
    speaker = Speaker(weights_path(), SMOLLM2.name)

    assert speaker.process_id is None


@real
def test_an_answer_comes_in_pieces_with_its_tokens_and_its_end(speaker: Speaker) -> None:
    events = asyncio.run(said(speaker, "Say hello."))

    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    usage = next(event for event in events if isinstance(event, Usage))
    assert len(pieces) > 1
    assert usage.output_tokens is not None
    assert 0 < usage.output_tokens <= 8
    assert not usage.estimated
    assert isinstance(events[-1], Finished)
    assert events[-1].reason in {"stop", "length"}


@real
def test_one_child_answers_all_and_two_at_once_wait_for_each_other(speaker: Speaker) -> None:
    async def both() -> tuple[list[Event], list[Event]]:
        return await asyncio.gather(said(speaker, "Say one."), said(speaker, "Say two."))

    first, second = asyncio.run(both())
    child = speaker.process_id
    third = asyncio.run(said(speaker, "Say three."))  # on another event loop

    assert child == speaker.process_id
    assert all(isinstance(events[-1], Finished) for events in (first, second, third))


def test_a_file_is_held_in_memory_once() -> None:
    assert speaker_for(weights_path(), "a") is speaker_for(weights_path(), "a")


@real
def test_who_has_no_key_is_refused(speaker: Speaker) -> None:
    asyncio.run(speaker.start())
    child = speaker._child  # noqa: SLF001 (its address is nobody else's business)
    assert child is not None
    request = urllib.request.Request(  # noqa: S310 (our own child)
        f"{child.endpoint.address}/v1/chat/completions",
        json.dumps(body("Hello")).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer wrong"},
    )

    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(request, timeout=10)  # noqa: S310

    assert child.endpoint.address.startswith("http://127.0.0.1:")
    assert child.endpoint.key not in repr(child)


@real
@linux
def test_the_key_stands_in_no_command_line(speaker: Speaker) -> None:
    asyncio.run(speaker.start())
    child = speaker._child  # noqa: SLF001 (for its key)
    assert child is not None

    command = Path(f"/proc/{child.process.pid}/cmdline").read_bytes()
    environment = Path(f"/proc/{child.process.pid}/environ").read_bytes()

    assert len(child.endpoint.key) == 32
    assert child.endpoint.key.encode() not in command + environment


@real
@linux
def test_the_child_inherits_none_of_the_kernels_sockets(speaker: Speaker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.set_inheritable(True)
        mine = Path(f"/proc/self/fd/{listening.fileno()}").readlink()

        asyncio.run(speaker.start())

        folder = Path(f"/proc/{speaker.process_id}/fd")
        assert mine not in [each.readlink() for each in folder.iterdir()]


@real
def test_a_killed_child_is_replaced_with_the_next_request(speaker: Speaker) -> None:
    asyncio.run(speaker.start())
    first = speaker.process_id
    assert first is not None
    os.kill(first, signal.SIGTERM if os.name == "nt" else signal.SIGKILL)

    events = asyncio.run(said(speaker, "Say hello."))

    assert isinstance(events[-1], Finished)
    assert speaker.process_id not in {None, first}


@real
@posix
def test_a_child_that_dies_in_mid_answer_is_no_end_of_it(speaker: Speaker) -> None:
    async def listen() -> list[Event]:
        heard: list[Event] = []
        async for event in speaker.chat(body(STORY, max_tokens=400), idle_seconds=60):
            heard.append(event)
            if len(heard) == 5:
                assert speaker.process_id is not None
                os.kill(speaker.process_id, signal.SIGKILL)
        return heard

    with pytest.raises(StreamTruncated, match="middle of its answer"):
        asyncio.run(listen())
    again = asyncio.run(said(speaker, "Say hello."))

    assert isinstance(again[-1], Finished)


@real
def test_cancelling_stops_at_once_and_frees_the_child(speaker: Speaker) -> None:
    async def interrupted() -> tuple[float, float]:
        heard = asyncio.Event()

        async def listen() -> None:
            async for _ in speaker.chat(body(STORY, max_tokens=2000), idle_seconds=60):
                heard.set()

        task = asyncio.create_task(listen())
        await heard.wait()
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        ended = time.monotonic()
        await said(speaker, "Say hello.", max_tokens=1)
        return ended - began, time.monotonic() - ended

    to_stop, to_answer_again = asyncio.run(interrupted())

    assert to_stop < PROMPTLY
    assert to_answer_again < PROMPTLY  # a story of 2000 tokens takes half a minute and more


@real
def test_cancelling_while_the_model_loads_leaves_a_usable_speaker(speaker: Speaker) -> None:
    async def interrupted() -> float:
        task = asyncio.create_task(speaker.start())
        await asyncio.sleep(0.05)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    assert asyncio.run(interrupted()) < PROMPTLY
    assert isinstance(asyncio.run(said(speaker, "Say hello."))[-1], Finished)


@real
def test_an_idle_child_ends_and_comes_back_when_it_is_needed(speaker: Speaker) -> None:
    asyncio.run(said(speaker, "Say hello.", idle=0.2))
    first = speaker.process_id
    until = time.monotonic() + 10
    while speaker.process_id is not None and time.monotonic() < until:
        time.sleep(0.05)

    assert first is not None
    assert speaker.process_id is None
    assert isinstance(asyncio.run(said(speaker, "Say hello."))[-1], Finished)


@real
def test_stopping_while_the_model_loads_does_not_wait_for_it(speaker: Speaker) -> None:
    async def stopped() -> float:
        task = asyncio.create_task(speaker.start())
        await asyncio.sleep(0.05)
        began = time.monotonic()
        await asyncio.to_thread(speaker.stop)
        with contextlib.suppress(LocalModelMissing):  # it is told that its child ended
            await task
        return time.monotonic() - began

    assert asyncio.run(stopped()) < PROMPTLY


@real
@posix
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, None])
def test_no_child_outlives_its_parent(number: signal.Signals | None) -> None:
    code = PARENT + ("time.sleep(60)" if number else "")

    with parent(code) as (process, child):
        if number:
            process.send_signal(number)
        process.wait(10)

        assert is_gone(child)


@real
@posix
def test_a_fork_that_lives_on_does_not_keep_the_child() -> None:
    code = PARENT + (
        "import os\n"
        "forked = os.fork()\n"
        "if forked == 0:\n"
        "    time.sleep(60)\n"
        "print(forked, flush=True)\n"
        "time.sleep(60)\n"
    )

    with parent(code) as (process, child):
        assert process.stdout is not None
        forked = int(process.stdout.readline())
        try:
            process.kill()
            process.wait(10)

            assert is_gone(child)
        finally:
            os.kill(forked, signal.SIGKILL)


@real
@posix
def test_a_fork_has_no_child_yet_and_starts_its_own() -> None:
    code = PARENT + (
        "import os\n"
        "async def ask():\n"
        "    body = {'messages': [{'role': 'user', 'content': 'Hi'}], 'max_tokens': 2}\n"
        "    return [event async for event in speaker.chat(body, idle_seconds=60)]\n"
        "if os.fork() == 0:\n"
        "    print(speaker.process_id, len(asyncio.run(ask())) > 1, flush=True)\n"
        "    print(speaker.process_id, flush=True)\n"
        "    speaker.stop()\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "print(speaker.process_id, len(asyncio.run(ask())) > 1, flush=True)\n"
    )

    with parent(code, PYTHONWARNINGS="ignore") as (process, child):
        assert process.stdout is not None
        in_fork, of_fork, after = (process.stdout.readline().strip() for _ in range(3))

    assert in_fork == "None True"
    assert int(of_fork) != child
    assert after == f"{child} True"


@real
@posix
def test_an_interrupt_of_the_kernels_group_does_not_reach_the_child() -> None:
    code = PARENT + (
        "import os, signal\n"
        "signal.signal(signal.SIGINT, lambda *_: print('interrupted', flush=True))\n"
        "os.killpg(0, signal.SIGINT)\n"
        "time.sleep(0.5)\n"
        "print(speaker.process_id, flush=True)\n"
    )

    with parent(code) as (process, child):
        assert process.stdout is not None
        assert process.stdout.readline() == "interrupted\n"
        assert process.stdout.readline() == f"{child}\n"
        assert os.getsid(child) == child


@real
def test_the_environments_proxies_are_not_asked(
    speaker: Speaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    events = asyncio.run(said(speaker, "Say hello."))

    assert isinstance(events[-1], Finished)


@real
def test_half_a_character_does_not_stop_the_rest(speaker: Speaker) -> None:
    events = asyncio.run(said(speaker, "Say \ud83d hello 😀."))

    assert isinstance(events[-1], Finished)


@real
def test_messages_that_do_not_fit_are_refused_with_both_numbers(speaker: Speaker) -> None:
    with pytest.raises(TooLong, match=r"reads at most 4,096") as caught:
        asyncio.run(said(speaker, "word " * 5000))

    assert caught.value.limit == 4096
    assert caught.value.tokens > 5000


@real
def test_a_request_that_the_server_cannot_read_is_told_in_its_words(speaker: Speaker) -> None:
    with pytest.raises(BadRequest, match="grammar"):
        asyncio.run(said(speaker, "Hello", grammar="root ::= ("))


@real
def test_a_file_that_is_no_model_is_named_with_the_reason(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(weights_path().read_bytes()[:100_000])
    speaker = Speaker(damaged, "damaged")

    with pytest.raises(LocalModelMissing, match=r"damaged\.gguf cannot be loaded"):
        asyncio.run(speaker.start())

    assert speaker.process_id is None


@pytest.mark.parametrize(
    ("broken", "problem", "fix"),
    [
        (
            "raise ImportError('libgomp.so.1: cannot open shared object file: No such file')",
            "libgomp.so.1",
            "apt-get install -y libgomp1",
        ),
        ("raise ImportError('built for another Python')", "built for another Python", "agentcell"),
        ("import os; os.abort()", "ended with code", "GGUF"),
    ],
    ids=["no libgomp", "cannot be imported", "dies"],
)
def test_a_runtime_that_cannot_run_here_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, problem: str, fix: str
) -> None:
    (tmp_path / "xllamacpp.py").write_text(broken, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))  # what the kernel imports, the child imports
    speaker = Speaker(tmp_path / "any.gguf", "any")

    with pytest.raises(LocalModelMissing, match=problem) as caught:
        asyncio.run(speaker.start())

    assert fix in caught.value.fix


def test_two_cores_get_one_thread() -> None:
    cores = os.cpu_count() or 1

    assert thread_count() == 1 if cores <= 2 else 1 <= thread_count() <= 4


@real
def test_closing_the_iterator_closes_the_connection(speaker: Speaker) -> None:
    async def first_piece_only() -> AsyncIterator[str]:
        answer = speaker.chat(body(STORY, max_tokens=2000), idle_seconds=60)
        async with contextlib.aclosing(answer) as events:
            async for event in events:
                yield str(event)
                return

    async def twice() -> float:
        async for _ in first_piece_only():
            pass
        began = time.monotonic()
        await said(speaker, "Say hello.", max_tokens=1)
        return time.monotonic() - began

    assert asyncio.run(twice()) < PROMPTLY
