"""Whatever breaks a batch off, each row is accounted for and nothing is held on to."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pydantic
import pytest

from agentcell import Agent, LegacyOpenAIModel, Model, ModelResponseType
from agentcell.adapters.rate_limits import RateLimits
from agentcell.agents.mapping import ask_each
from agentcell.batch import Journal, RowError
from agentcell.errors import BatchError, BatchStopped, Stopped
from agentcell.testing import ChatServer, FakeModel
from batch_kit import Rows, agent, answers, rows


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(Rows()) as server:
        yield server


# -- rows, callbacks and journals that fail ------------------------------------------------------


def broken_off(count: int) -> Iterator[dict[str, int]]:
    yield from rows(count)
    raise ValueError("my own mistake")


def test_an_iterator_that_raises_loses_no_answer_that_is_paid(server: ChatServer) -> None:
    with pytest.raises(ValueError, match="my own mistake") as caught:
        agent(server).map(broken_off(20))

    assert list(caught.value.batch_result) == answers(20)  # type: ignore[attr-defined]
    assert "20 answers" in caught.value.__notes__[0]


def test_imap_gives_all_answers_before_it_raises_what_its_iterator_raised(
    server: ChatServer,
) -> None:
    got: list[Any] = []
    with pytest.raises(ValueError, match="my own mistake"):
        got.extend(agent(server).imap(broken_off(20)))

    assert got == answers(20)


def test_an_on_row_that_raises_ends_the_batch_and_keeps_what_came(server: ChatServer) -> None:
    def look(outcome: Any) -> None:
        if outcome.index == 5:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        agent(server).map(rows(400), workers=2, on_row=look)

    result = caught.value.batch_result  # type: ignore[attr-defined]
    assert len(result) == 400
    assert result[5] == answers(6)[5]
    assert all(isinstance(one.error, BatchError) for one in result.failed)
    assert "ended before this row" in str(result.failed[-1])


def test_a_journal_that_takes_no_more_ends_the_batch_and_keeps_what_came(
    server: ChatServer, tmp_path: Path
) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no disk that is always full")
    path = tmp_path / "a.jsonl"

    def fill(outcome: Any) -> None:
        if outcome.index == 2:  # from here on, what is written goes to the full disk
            handle = os.open(full, os.O_RDWR)
            held = [int(one.name) for one in Path("/proc/self/fd").iterdir()]
            os.dup2(handle, next(one for one in held if _is(one, path)))
            os.close(handle)

    with pytest.raises(BatchError, match="cannot be written") as caught:
        agent(server).map(rows(40), workers=1, journal=path, on_row=fill)

    result = caught.value.batch_result  # type: ignore[attr-defined]
    assert len(result) == 40
    assert list(result)[:4] == answers(4), "also the one that was paid and could not be kept"


def _is(descriptor: int, path: Path) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


# -- interrupts in the batch's own thread ----------------------------------------------------------


class Interrupting(Agent):
    """Is interrupted while the batch's own thread looks at row 7."""

    def _observe(self, given: Any, *options: Any, **more: Any) -> Any:
        if given["n"] == 7 and threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        return super()._observe(given, *options, **more)


class Breaking(list[Any]):
    """Rows that are interrupted once, while row 7 is taken."""

    is_broken = False

    def __iter__(self) -> Iterator[Any]:
        for number in range(len(self)):
            if number == 7 and not self.is_broken:
                self.is_broken = True
                raise KeyboardInterrupt
            yield self[number]


@pytest.mark.parametrize("where", ["looked at", "taken"])
def test_an_interrupt_while_a_row_is_begun_loses_no_row(
    server: ChatServer, tmp_path: Path, where: str
) -> None:
    kind = Interrupting if where == "looked at" else Agent
    asker = kind(
        "asker",
        model=LegacyOpenAIModel("m", base_url=server.url),
        prompt_template="This is row {n}.",
        pull_keys={"n": "the row"},
    )
    given = Breaking(rows(20)) if where == "taken" else rows(20)

    with pytest.raises(BatchStopped) as caught:
        asker.map(given, journal=tmp_path / "a.jsonl")

    result = caught.value.result
    assert len(result) == 20
    for number, one in enumerate(result):
        assert one == answers(20)[number] or one.index == number
    assert isinstance(result[7], RowError)
    assert isinstance(result[7].error, Stopped)
    assert len(result.frame()) == 20


def test_an_interrupt_while_a_frame_is_read_gives_a_frame_of_the_same_length(
    server: ChatServer, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"n": range(300)})
    seen = 0

    def interrupt(_: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == 20:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(BatchStopped) as caught:
        agent(server).map(frame, workers=4, journal=tmp_path / "a.jsonl", on_row=interrupt)

    assert caught.value.result.frame().shape == (300, 3)


class Slow(Model):
    """Answers once it may; somebody else's model, which keeps no limits itself."""

    def __init__(self) -> None:
        super().__init__("slow")
        self.begun = threading.Event()
        self.may = threading.Event()

    def invoke(
        self, messages: Any, tools: Any = None, settings: Any = None, **_: Any
    ) -> dict[str, Any]:
        del messages, tools, settings
        self.begun.set()
        self.may.wait(60)
        return {"type": ModelResponseType.CONTENT, "content": '{"a": "yes"}'}


def test_a_stopped_batch_gives_back_its_places_in_line() -> None:
    model, limits = Slow(), RateLimits(concurrent=1, patience=5)
    asker = Agent("a", model=model, pull_keys={"n": "n"}, push_keys={"a": "an answer"})

    def interrupt() -> None:
        model.begun.wait(60)
        time.sleep(0.3)  # another row stands in line by now
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(BatchStopped):
        asker.map(rows(6), workers=4, limits=limits)
    thread.join()
    model.may.set()

    assert list(asker.map(rows(2), limits=limits)) == [{"a": "yes"}] * 2


class Unlucky(ThreadPoolExecutor):
    """Takes no row."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        raise RuntimeError("cannot schedule new futures after shutdown")


def test_a_pool_that_takes_nothing_makes_an_error_of_each_row(server: ChatServer) -> None:
    pool: Executor = Unlucky(2)

    result = agent(server).map(rows(3), pool)

    assert [type(one.error).__name__ for one in result.failed] == ["BatchError"] * 3


# -- numbers that JSON has no word for ------------------------------------------------------------


class Measured(pydantic.BaseModel):
    """A number."""

    x: float


@pytest.mark.parametrize(("said", "x"), [("NaN", math.nan), ("1e999", math.inf)])
def test_an_answer_that_is_no_number_of_json_is_kept_in_the_journal(
    tmp_path: Path, said: str, x: float
) -> None:
    path = tmp_path / "a.jsonl"
    model = FakeModel(*[f'{{"x": {said}}}'] * 2)

    first = ask_each(model, "row {n}", rows(2), schema=Measured, journal=path)
    again = ask_each(model, "row {n}", rows(2), schema=Measured, journal=path)

    assert [repr(one.x) for one in (*first, *again)] == [repr(x)] * 4
    assert (again.resumed, len(model.requests)) == (2, 2)


# -- files that are not the batch's --------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    ["my own text, without a line end", '{"a": 1}', "\x89PNG", '{"agentcell":"recording"'],
)
def test_a_file_of_ones_own_without_a_line_end_is_left_as_it_is(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(BatchError, match="no journal of a batch"):
        Journal(path)

    assert path.read_text(encoding="utf-8") == content


HEAD = '{"agentcell":"batch","version":1}\n'
KEY = "0" * 32


@pytest.mark.parametrize(
    "line",
    [
        {"key": KEY, "row": 0},
        {"key": KEY, "value": 1, "calls": [7]},
        {"key": KEY, "value": 1, "calls": 7},
        {"key": KEY, "value": 1, "calls": [{"usage": {"input_tokens": "x"}}]},
        {"key": KEY, "value": 1, "calls": [{"usage": 7}]},
        {"failed": KEY, "calls": [[1]]},
        {"failed": KEY, "calls": [{"cost": "much"}]},
        {"job": 7},
        {"job": {"id": "b"}},
        {"job": {"token": "t", "ids": ["a"]}},
        {"job": {"token": "t", "ids": ["a"], "begun": "late"}},
        7,
        "key",
        ["key"],
    ],
)
def test_a_line_that_somebody_changed_is_told_when_the_file_is_opened(
    tmp_path: Path, line: Any
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{HEAD}{json.dumps(line)}\n", encoding="utf-8")

    with pytest.raises(BatchError, match="damaged in line 2"):
        Journal(path)


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "pipe"])
def test_what_is_no_ordinary_file_is_no_journal(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "pipe":
        os.mkfifo(path)

    with pytest.raises(
        BatchError, match="no ordinary file" if name[0] == "/" else "cannot be written"
    ):
        Journal(path)


@pytest.mark.parametrize("path", ["~nobody-of-this-name/a.jsonl", "a\0b"])
def test_a_path_that_leads_nowhere_is_told(path: str) -> None:
    with pytest.raises(BatchError, match="cannot be written"):
        Journal(path)


# -- a killed process with a pool ------------------------------------------------------------------

RUN = """
import sys
from concurrent.futures import ProcessPoolExecutor
from agentcell import Agent, LegacyOpenAIModel
url, journal = sys.argv[1:]
agent = Agent("asker", "Answer.", model=LegacyOpenAIModel("m", base_url=url),
              prompt_template="This is row {n}.", pull_keys={"n": "the row"})
agent.map([{"n": n} for n in range(500)], ProcessPoolExecutor(2), journal=journal)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_the_pool_of_a_killed_process_does_not_keep_its_journal_locked(tmp_path: Path) -> None:
    script, path = tmp_path / "run.py", tmp_path / "a.jsonl"
    script.write_text(textwrap.dedent(RUN), encoding="utf-8")
    with ChatServer(Rows(delay=0.02)) as server:
        process = subprocess.Popen(
            [sys.executable, str(script), server.url, str(path)], start_new_session=True
        )
        try:
            end = time.monotonic() + 60
            while not path.exists() or path.read_bytes().count(b"\n") < 10:
                assert time.monotonic() < end, "no row was kept"
                time.sleep(0.01)
            process.kill()
            process.wait()

            with Journal(path) as journal:
                assert len(journal) >= 8
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
