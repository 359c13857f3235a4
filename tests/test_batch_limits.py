"""Many rows with one agent: how many at once, for how much, and stopped in the middle."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentcell import Budget, LegacyOpenAIModel, RateLimits, Session
from agentcell.batch import RowError
from agentcell.errors import BatchStopped, BudgetExceeded, Stopped
from agentcell.testing import ChatServer, Reply
from batch_kit import Elsewhere, Rows, agent, answers, dollar_prices, refused, rows


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(Rows()) as server:
        yield server


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AGENTCELL_PRICES", str(dollar_prices(tmp_path)))


class _AtOnce:
    """Knows how many requests were under way at the same time."""

    def __init__(self, server: ChatServer) -> None:
        self._now = self._most = 0
        self._lock = threading.Lock()
        said = Rows()

        def reply(request: Any) -> Any:
            with self._lock:
                self._now += 1
                self._most = max(self._most, self._now)
            time.sleep(0.01)
            with self._lock:
                self._now -= 1
            return said(request)

        server.then(reply)

    def __call__(self) -> int:
        return self._most


# -- limits and budgets --------------------------------------------------------------------------


def test_no_more_rows_are_under_way_than_the_limit_says(server: ChatServer) -> None:
    most = _AtOnce(server)

    result = agent(server).map(rows(20), workers=8, limits=RateLimits(concurrent=2))

    assert list(result) == answers(20)
    assert most() <= 2


def test_a_limit_holds_for_other_executors_too(server: ChatServer) -> None:
    most = _AtOnce(server)

    result = agent(server).map(rows(20), Elsewhere(8), limits=RateLimits(concurrent=2))

    assert list(result) == answers(20)
    assert most() <= 2


def test_a_limit_of_each_worker_holds_in_its_process(server: ChatServer) -> None:
    most = _AtOnce(server)

    result = agent(server).map(rows(20), Elsewhere(8), worker_limits=RateLimits(concurrent=3))

    assert list(result) == answers(20)
    assert most() <= 3


@pytest.mark.parametrize("where", ["threads", "elsewhere"])
def test_requests_a_minute_hold_for_all_workers(
    server: ChatServer, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RateLimits, "window", 0.5)
    executor = Elsewhere(8) if where == "elsewhere" else None

    result = agent(server).map(rows(10), executor, limits=RateLimits(requests_per_minute=4))

    assert list(result) == answers(10)
    times = [request.at for request in server.requests]
    assert all(later - first > 0.4 for first, later in zip(times, times[4:], strict=False))


@pytest.mark.usefixtures("priced")
def test_no_row_is_sent_that_would_pass_the_budget(server: ChatServer) -> None:
    result = agent(server, model_settings={"max_tokens": 7}).map(rows(30), workers=4, budget=5)

    sent = [one for one in result if not isinstance(one, RowError)]
    assert 1 <= len(sent) <= 5
    assert len(server.requests) == len(sent)
    assert all(isinstance(one.error, BudgetExceeded) for one in result.failed)
    assert len(result) == 30
    assert result.cost is not None
    assert result.cost <= 5 + Decimal("1e-6")


def test_a_budget_needs_a_price(server: ChatServer) -> None:
    model = LegacyOpenAIModel("m", api_key="sk-a", base_url=server.url)

    with pytest.raises(BudgetExceeded, match="is not known"):
        agent(server, model=model).map(rows(3), budget="2.00 usd")

    assert server.requests == []


@pytest.mark.usefixtures("priced")
def test_a_session_books_every_row_also_of_a_retry_and_records_no_turn() -> None:
    said = Rows(refused(400, numbers={1}, times=1))
    with ChatServer(said) as server:
        session = Session(model=LegacyOpenAIModel("m", base_url=server.url))
        first = session.map("This is row {n}.", rows(3))
        again = first.retry()

    assert list(again) == ["answer 0", "answer 1", "answer 2"]
    assert round(session.cost.usd, 3) == 3
    assert session.history.turns() == []


@pytest.mark.usefixtures("priced")
def test_a_session_holds_its_budget_for_a_batch() -> None:
    with ChatServer(Rows()) as server:
        session = Session(model=LegacyOpenAIModel("m", base_url=server.url))
        session.budget = Budget(usd="2.50")
        result = session.map("This is row {n}.", rows(9), settings={"max_tokens": 7})

        assert 1 <= len(server.requests) <= 2
    assert isinstance(result.failed[0].error, BudgetExceeded)


# -- stopping ------------------------------------------------------------------------------------


def interrupted(after: threading.Event) -> threading.Thread:
    """Interrupt the main thread a moment after `after` is set."""

    def stop() -> None:
        after.wait(20)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=stop)
    thread.start()
    return thread


def test_an_interrupt_keeps_what_is_done_and_closes_what_is_under_way() -> None:
    stalled = threading.Event()

    def wrong(number: int, _: int) -> Reply | None:
        if number < 5:
            return None
        stalled.set()
        return Reply("never", stall=-1)

    with ChatServer(Rows(wrong)) as server:
        thread = interrupted(stalled)
        with pytest.raises(BatchStopped) as caught:
            agent(server).map(rows(50), workers=2)
        thread.join()
        assert server.disconnected.wait(5), "connections under way are closed"

    result = caught.value.result
    assert list(result)[:5] == answers(5)
    assert len(result) == 50
    assert all(isinstance(one.error, Stopped) for one in result.failed)
    assert "5 of 50 rows" in str(caught.value)


def test_a_batch_that_was_stopped_goes_on_with_retry() -> None:
    stalled = threading.Event()
    open_ = threading.Event()

    def wrong(number: int, _: int) -> Reply | None:
        if number < 5 or open_.is_set():
            return None
        stalled.set()
        return Reply("never", stall=-1)

    with ChatServer(Rows(wrong)) as server:
        thread = interrupted(stalled)
        with pytest.raises(BatchStopped) as caught:
            agent(server).map(rows(12), workers=2)
        thread.join()
        open_.set()
        result = caught.value.result.retry()

    assert list(result) == answers(12)


def test_closing_imap_early_closes_its_connections() -> None:
    stalled = threading.Event()

    def slow(number: int, _: int) -> Reply | None:
        if number == 0:
            return None
        stalled.set()
        return Reply("never", stall=-1)

    with ChatServer(Rows(slow)) as server:
        found = agent(server).imap(rows(10), workers=2)
        next(found)
        assert stalled.wait(20)
        found.close()  # type: ignore[attr-defined]

        assert server.disconnected.wait(5)
