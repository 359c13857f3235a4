"""Batches of one session, one after the other and at once: they share its budget."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

from agentcell import BatchResult, LegacyOpenAIModel, Session
from agentcell.adapters.pricing import forget_price, set_price
from agentcell.budget import Budget
from agentcell.testing import ChatServer, Reply, failure

EACH = Decimal("0.51")
"""US dollars: what an answer costs here, and about what is expected of it."""

PRICED = Reply("yes", usage=(10, 500))


@pytest.fixture(autouse=True)
def _price() -> Iterator[None]:
    set_price("openai-chat/priced", input=1000, output=1000)
    yield
    forget_price("openai-chat/priced")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(Reply("yes", usage=(10, 500), delay=0.005)) as server:
        yield server


def session_of(server: ChatServer, folder: Path, usd: str) -> Session:
    session = Session(LegacyOpenAIModel("priced", "k", server.url), history=folder)
    session.budget = Budget(usd=usd)
    return session


def asked(session: Session, count: int, journal: Path | None = None) -> BatchResult:
    rows = [{"n": number} for number in range(count)]
    settings = {"max_tokens": 500}
    return session.map("Row {n}", rows, workers=4, settings=settings, journal=journal)


def open_reservations(session: Session) -> Decimal:
    return session._ledger.spent_but("") - session.cost.usd  # noqa: SLF001 (what it keeps aside)


def test_batches_in_many_threads_do_not_pass_the_budget_together(
    server: ChatServer, tmp_path: Path
) -> None:
    session = session_of(server, tmp_path, "10")
    with ThreadPoolExecutor(16) as threads:
        results = list(threads.map(lambda _: asked(session, 5), range(16)))

    answers = sum(len(result) - len(result.failed) for result in results)
    assert 15 <= answers <= 20
    assert len(server.requests) == answers
    assert session.cost.usd == answers * EACH <= 10
    assert open_reservations(session) == 0
    errors = [one.error for result in results for one in result.failed]
    assert {type(error).__name__ for error in errors} == {"BudgetExceeded"}


def test_what_a_journals_earlier_run_cost_counts_once(tmp_path: Path) -> None:
    answers = iter([*[PRICED] * 5, failure(400), *[PRICED] * 9])
    with ChatServer(lambda _: next(answers)) as service:
        session = session_of(service, tmp_path, "7")
        first = asked(session, 10, tmp_path / "rows.jsonl")
        again = asked(session, 11, tmp_path / "rows.jsonl")

    assert len(first.failed) == 1
    assert again.failed == []
    assert session.cost.usd == 11 * EACH


def test_the_failed_rows_are_asked_again_within_what_is_left(tmp_path: Path) -> None:
    answers = iter([*[PRICED] * 6, *[failure(400)] * 6, *[PRICED] * 6])
    with ChatServer(lambda _: next(answers)) as service:
        session = session_of(service, tmp_path, "4.20")  # eight answers
        first = asked(session, 12)
        whole = first.retry()

    assert len(first.failed) == 6
    assert len(whole.failed) == 4
    assert session.cost.usd == 8 * EACH
    assert open_reservations(session) == 0
