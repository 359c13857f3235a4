"""The same batch in processes: a pool, Dask, ipyparallel; and what a killed worker costs."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_kit import png
from agentcell import Agent, ImageAsset, LegacyOpenAIModel, RateLimits, RowError
from agentcell.adapters.recording import RecordingModel
from agentcell.errors import BatchError, WorkerLost
from agentcell.testing import Call, ChatServer, FakeModel
from batch_kit import Deadly, Rows, agent, answers, refused, rows

COUNT = 60


@contextmanager
def process_pool() -> Iterator[tuple[Executor, Callable[[], list[int]]]]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        yield pool, lambda: [one.pid for one in (pool._processes or {}).values() if one.pid]  # noqa: SLF001


@contextmanager
def dask() -> Iterator[tuple[Executor, Callable[[], list[int]]]]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client.get_executor(), lambda: list(client.run(os.getpid).values())


@contextmanager
def ipyparallel() -> Iterator[tuple[Executor, Callable[[], list[int]]]]:
    import ipyparallel

    with ipyparallel.Cluster(n=4, controller_ip="127.0.0.1", log_level=40) as client:
        client.wait_for_engines(4, timeout=120)
        view = client.load_balanced_view()
        yield view.executor, lambda: list(client[:].apply_sync(os.getpid))


EXECUTORS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "process pool": process_pool,
    "dask": dask,
    "ipyparallel": ipyparallel,
}

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""What these libraries do at their end is their own."""


@pytest.fixture(scope="module", params=EXECUTORS)
def workers(request: pytest.FixtureRequest) -> Iterator[tuple[Executor, Callable[[], list[int]]]]:
    with EXECUTORS[request.param]() as found:
        yield found


def test_every_executor_gives_the_same_answers_errors_and_counts(
    workers: tuple[Executor, Callable[[], list[int]]],
) -> None:
    wrong = refused(400, numbers={3, 30})
    with ChatServer(Rows(wrong)) as server:
        here = agent(server).map(rows(COUNT))
        asked = len(server.requests)
        there = agent(server).map(rows(COUNT), workers[0])

        assert len(server.requests) == 2 * asked
    assert [str(one) for one in there] == [str(one) for one in here]
    assert [one.index for one in there.failed] == [3, 30]
    assert [one.row for one in there.failed] == [{"n": 3}, {"n": 30}]
    assert there.usage == here.usage
    assert there.spending == here.spending


def test_attachments_travel_with_their_rows(
    workers: tuple[Executor, Callable[[], list[int]]], tmp_path: Path
) -> None:
    file = tmp_path / "photo.png"
    file.write_bytes(png(9, 8, 7))
    with ChatServer("seen") as server:
        asker = Agent(
            "a",
            model=LegacyOpenAIModel("m", base_url=server.url),
            pull_keys={"photo": "IMAGE:Photo"},
        )
        result = asker.map([{"photo": ImageAsset.from_path(file)}] * 2, workers[0])

        parts = server.requests[0].body["messages"][-1]["content"]
    assert list(result) == [{"answer": "seen"}] * 2
    assert any(part.get("type") == "image_url" for part in parts)


def test_a_function_that_is_written_here_travels_as_a_tool(
    workers: tuple[Executor, Callable[[], list[int]]],
) -> None:
    made: dict[str, Any] = {}
    exec("def double(number: int) -> int:\n    '''Double it.'''\n    return 2 * number", made)  # noqa: S102
    made["double"].__module__ = "__main__"  # as in a notebook
    model = FakeModel(Call("double", '{"number": 21}'), "done")
    result = Agent("a", model=model, tools=[made["double"]], pull_keys={"n": "n"}).map(
        rows(1), workers[0]
    )

    assert list(result) == [{"answer": "done"}]


def test_a_journal_is_kept_here_whoever_works(
    workers: tuple[Executor, Callable[[], list[int]]], tmp_path: Path
) -> None:
    with ChatServer(Rows()) as server:
        agent(server).map(rows(8), workers[0], journal=tmp_path / "a.jsonl")
        again = agent(server).map(rows(10), workers[0], journal=tmp_path / "a.jsonl")

        assert len(server.requests) == 10
    assert list(again) == answers(10)


def test_limits_hold_for_all_workers_together(
    workers: tuple[Executor, Callable[[], list[int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RateLimits, "window", 1.0)
    with ChatServer(Rows()) as server:
        result = agent(server).map(rows(12), workers[0], limits=RateLimits(requests_per_minute=4))
        times = sorted(request.at for request in server.requests)

    assert list(result) == answers(12)
    assert times[-1] - times[0] > 1.5, "three minutes' worth of rows, a minute being a second"


def test_recordings_replay_in_other_processes(
    workers: tuple[Executor, Callable[[], list[int]]], tmp_path: Path
) -> None:
    with ChatServer(Rows()) as server:
        model = LegacyOpenAIModel("m", base_url=server.url)
        file = tmp_path / "a.jsonl"
        agent(server, model=RecordingModel(model, file, "record")).map(rows(6))
        asked = len(server.requests)
        result = agent(server, model=RecordingModel(model, file, "replay")).map(rows(6), workers[0])

        assert len(server.requests) == asked
    assert list(result) == answers(6)


def test_a_killed_worker_loses_no_row(workers: tuple[Executor, Callable[[], list[int]]]) -> None:
    executor, processes = workers
    said = Rows(delay=0.02)
    with ChatServer(said) as server:
        # A pool starts its processes with the first rows.
        assert list(agent(server).map(rows(4), executor)) == answers(4)
        victim = processes()[0]
        said.asked.clear()

        def kill() -> None:
            while sum(said.asked.values()) < 20:
                time.sleep(0.01)
            os.kill(victim, signal.SIGKILL)

        thread = threading.Thread(target=kill)
        thread.start()
        result = agent(server).map(rows(80), executor)
        thread.join()

    assert list(result) == answers(80)
    assert set(said.asked) >= set(range(80))


# -- a pool alone --------------------------------------------------------------------------------


def test_a_worker_takes_the_key_of_its_own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-of-the-environment-012345"
    with ChatServer(Rows(), key=key) as server:
        monkeypatch.setenv("OPENAI_API_KEY", key)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            result = agent(server, model=LegacyOpenAIModel("m")).map(rows(4), pool)

    assert list(result) == answers(4)


def test_a_row_that_kills_its_worker_each_time_is_an_error_and_no_other_is() -> None:
    context = multiprocessing.get_context("spawn")
    with ChatServer(Rows()) as server:
        model = Deadly("m", base_url=server.url)
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            result = agent(server, model=model).map(rows(20), pool)

    assert [one.index for one in result.failed] == [5]
    assert isinstance(result[5].error, WorkerLost)
    assert [one for one in result if not isinstance(one, RowError)] == [
        one for number, one in enumerate(answers(20)) if number != 5
    ]


class TakesSome(Executor):
    """Takes so many rows, and then does what `then` does."""

    def __init__(self, count: int, then: Callable[[], Any]) -> None:
        self._left = count
        self._then = then
        self._threads = ThreadPoolExecutor(1)

    def submit(self, *args: Any, **kwargs: Any) -> Any:
        """Do it in a thread."""
        self._left -= 1
        return self._threads.submit(*args, **kwargs) if self._left >= 0 else self._then()

    def shutdown(self, *args: Any, **kwargs: Any) -> None:
        """End."""
        self._threads.shutdown(*args, **kwargs)


def _is_shut() -> Any:
    raise RuntimeError("cannot schedule new futures after shutdown")


@pytest.mark.parametrize(
    ("then", "says"),
    [
        (_is_shut, "TakesSome takes no more rows: RuntimeError: cannot schedule new futures"),
        (lambda: 3, "TakesSome takes no more rows: TypeError: its submit returned an int; a"),
    ],
)
def test_an_executor_that_takes_no_more_rows_ends_the_batch_and_says_so(
    then: Callable[[], Any], says: str
) -> None:
    with ChatServer(Rows()) as server, TakesSome(3, then) as executor:
        result = agent(server).map(rows(50), executor, progress=False)
        asked = len(server.requests)
        with ThreadPoolExecutor(2) as other:
            whole = result.retry(executor=other)

    assert list(result[:3]) == answers(3)
    assert {type(one.error) for one in result.failed} == {BatchError}
    assert len(result.failed) == 47
    assert str(result.failed[0].error).startswith(says)
    assert "retry(executor=…)" in str(result.failed[0].error)
    assert asked == 3
    assert list(whole) == answers(50)
