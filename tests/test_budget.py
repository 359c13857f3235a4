"""Budgets: what may be spent, who is asked, what is refused, and what every turn cost."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentcell import LegacyOpenAIModel, NotebookHistory, OpenAIModel, RecordingModel
from agentcell.adapters.events import Usage
from agentcell.adapters.pricing import forget_price, set_price
from agentcell.agents.exchange import ToolFinished
from agentcell.amounts import amount, plain_amount
from agentcell.budget import Budget, CostQuestion
from agentcell.errors import (
    AuthenticationError,
    BudgetExceeded,
    HistoryError,
    PriceError,
    Stopped,
    StreamTruncated,
)
from agentcell.history.spent import Spent
from agentcell.messages import Message
from agentcell.session import Session
from agentcell.testing import Call, ChatServer, Reply, ResponsesServer
from scripted import ScriptedModel

KEY = "sk-q8Zp2WvX9mRt4Ls8Yb3"
LOOK = Call("look", "{}")


@pytest.fixture(autouse=True)
def prices() -> Iterator[None]:
    """A dollar for a thousand tokens, in or out: 11 in and 7 out cost 0.018."""
    for name in ("openai/paid", "openai-chat/paid", "scripted/paid"):
        set_price(name, input=1_000, output=1_000)
    set_price("openai/gift", input=0, output=0)
    yield
    for name in ("openai/paid", "openai-chat/paid", "scripted/paid", "openai/gift"):
        forget_price(name)


@pytest.fixture
def server() -> Iterator[ResponsesServer]:
    with ResponsesServer(Reply("27.95")) as server:
        yield server


@pytest.fixture
def session(server: ResponsesServer) -> Session:
    return Session(OpenAIModel("paid", KEY, server.url, max_retries=0))


COST = Decimal("0.018")
SMALL = {"max_tokens": 10}


def look() -> str:
    """Look."""
    return "nothing"


class Asked:
    """Keeps what it was asked, and answers with what it was told to."""

    def __init__(self, said: Any) -> None:
        self.said = said
        self.questions: list[CostQuestion] = []

    def __call__(self, question: CostQuestion) -> Any:
        self.questions.append(question)
        return self.said


# -- amounts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "usd"),
    [
        ("2", "2"),
        ("2.", "2"),
        (".5", "0.5"),
        ("2.00 usd", "2"),
        ("$2", "2"),
        ("US$ 2.5", "2.5"),
        ("2.50$", "2.5"),
        ("USD 3", "3"),
        ("3 US dollars", "3"),
        ("1 Dollar", "1"),
        (" 0 ", "0"),
        (2, "2"),
        (0.1, "0.1"),
        (1e-5, "0.00001"),
        (Decimal("0.30"), "0.3"),
        ("1000000", "1000000"),
    ],
)
def test_an_amount_is_read_without_noise(given: Any, usd: str) -> None:
    assert amount(given) == Decimal(usd)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("2 eur", "not in eur"),
        ("€2", "not in €"),
        ("2 £", "not in £"),
        ("200 ¥", "not in ¥"),
        ("20 元", "not in 元"),
        ("50 cents", "not in cents"),
        ("1,000", "without commas"),
        ("2,50 usd", "without commas"),
        ("", "US dollars"),
        ("abc", "US dollars"),
        ("-1", "US dollars"),
        ("2 3", "US dollars"),
        ("1e3", "US dollars"),
        ("nan", "US dollars"),
        ("$", "US dollars"),
        ("2..0", "US dollars"),
        ("1_000", "US dollars"),
        ("1000001", "0 to 1,000,000"),
        (float("nan"), "0 to 1,000,000"),
        (float("inf"), "0 to 1,000,000"),
        (-1, "0 to 1,000,000"),
        (True, "US dollars"),
        (None, "US dollars"),
        ([2], "US dollars"),
        (b"2", "US dollars"),
        ("9" * 5000, "0 to 1,000,000"),
    ],
)
def test_what_is_no_amount_of_dollars_is_refused(given: Any, said: str) -> None:
    with pytest.raises(PriceError, match=said) as caught:
        Budget(usd=given)

    assert len(str(caught.value)) < 300


def test_a_tenth_of_the_budget_is_asked_above_where_nothing_is_said() -> None:
    assert Budget(usd="2.00").threshold == Decimal("0.2")
    assert Budget(usd=2, ask_above="$0.05").threshold == Decimal("0.05")
    assert str(Budget(usd="2")) == "$2.00, questions above $0.20 are asked about"
    assert pickle.loads(pickle.dumps(Budget(usd=2, ask_above=1))) == Budget(usd="2", ask_above="1")  # noqa: S301


@pytest.mark.parametrize(
    ("value", "text"),
    [("2", "2.00"), ("0", "0.00"), ("0.5", "0.50"), ("0.123", "0.123"), ("1E+3", "1000.00")],
)
def test_an_amount_is_written_so_that_it_can_be_read_again(value: str, text: str) -> None:
    assert plain_amount(Decimal(value)) == text
    assert amount(text) == Decimal(value)


def test_a_session_takes_only_a_budget(session: Session) -> None:
    with pytest.raises(PriceError, match="a Budget was expected"):
        session.budget = 2  # type: ignore[assignment]


def test_the_environment_sets_a_budget_until_something_else_does(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTCELL_BUDGET", "$3")
    monkeypatch.setenv("AGENTCELL_ASK_ABOVE", "0.05")
    assert session.budget == Budget(usd=3, ask_above="0.05")
    monkeypatch.setenv("AGENTCELL_BUDGET", "3 eur")
    with pytest.raises(PriceError, match="AGENTCELL_BUDGET is '3 eur'"):
        session.ask("hi")
    session.budget = None
    assert session.ask("hi") == "27.95"


# -- what turns cost -----------------------------------------------------------------------------


def test_an_answer_knows_what_it_cost_and_the_session_the_sum(session: Session) -> None:
    answer = session.ask("hi")
    session.ask("again", conversation="other")

    assert answer.cost == COST
    assert session.cost == Spent(usd=2 * COST)
    assert str(session.cost) == "$0.0360"
    assert pickle.loads(pickle.dumps(answer)).cost == COST  # noqa: S301


def test_a_free_model_costs_nothing_and_one_without_a_price_is_not_known(
    server: ResponsesServer,
) -> None:
    session = Session(OpenAIModel("gift", KEY, server.url))
    assert session.ask("hi").cost == 0
    assert session.cost == Spent()
    assert session.ask("hi", model=OpenAIModel("nobody-knows", KEY, server.url)).cost is None
    session.ask("hi", model=OpenAIModel("paid", KEY, server.url))

    assert str(session.cost) == "at least $0.0180 (1 turn of unknown cost)"


def test_money_that_was_spent_does_not_come_back(session: Session, tmp_path: Path) -> None:
    session = Session(session.model, history=NotebookHistory(tmp_path, notebook="a.ipynb"))
    first = session.ask("one", cell_id="a")
    session.ask("one again", cell_id="a")
    session.ask("two", cell_id="b")
    session.undo()
    session.forget_turn(session.turns[0].id)
    session.reset()

    assert first.cost == COST
    assert session.turns == ()
    assert session.cost == Spent(usd=3 * COST)
    later = Session(session.model, history=NotebookHistory(tmp_path, notebook="a.ipynb"))
    assert later.cost == Spent(usd=3 * COST)
    other = Session(session.model, history=NotebookHistory(tmp_path, notebook="b.ipynb"))
    assert other.cost == Spent()


def test_two_kernels_of_one_notebook_see_each_other_s_spending(
    session: Session, tmp_path: Path
) -> None:
    one, two = (
        Session(session.model, history=NotebookHistory(tmp_path, notebook="a.ipynb"))
        for _ in range(2)
    )
    one.ask("hi", cell_id="a")
    two.ask("hi", cell_id="b")

    assert one.cost == two.cost == Spent(usd=2 * COST)


def test_the_folder_may_go_while_the_kernel_runs(session: Session, tmp_path: Path) -> None:
    folder = tmp_path / "n"
    folder.mkdir()
    Session(session.model, history=NotebookHistory(folder, notebook="a.ipynb")).ask("before")
    told: list[str] = []
    history = NotebookHistory(folder, notebook="a.ipynb", tell=told.append)
    session = Session(session.model, history=history)
    session.ask("hi", cell_id="a")
    assert session.cost.usd == 2 * COST
    for file in sorted((folder / ".agentcell").rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()

    session.ask("hi", cell_id="b")
    assert session.cost.usd == 3 * COST
    assert len(told) == 1


def test_a_turn_keeps_its_cost_when_prices_change(session: Session, tmp_path: Path) -> None:
    session = Session(session.model, history=NotebookHistory(tmp_path))
    session.ask("hi")
    set_price("openai/paid", input=5, output=5)

    assert session.turns[0].cost == session.cost.usd == COST


def test_a_refused_key_costs_nothing(session: Session) -> None:
    with ResponsesServer() as server:
        server.fail(401)
        with pytest.raises(AuthenticationError):
            session.ask("hi", model=OpenAIModel("paid", KEY, server.url))

    assert session.cost == Spent()
    assert session.turns[0].cost == 0


def test_a_broken_answer_counts_as_unknown(session: Session) -> None:
    model = ScriptedModel(["one ", "two"], name="paid", end=False)
    with pytest.raises(StreamTruncated):
        session.ask("hi", model=model)

    assert session.cost.usd == Decimal("0.012")  # the usage came, the end did not
    with pytest.raises(OSError, match="broke"):
        session.ask("hi", model=ScriptedModel(["one"], name="paid", error=OSError("broke")))
    assert session.cost == Spent(usd=Decimal("0.012"), unknown=1)


def test_a_stopped_answer_counts_as_unknown_and_with_a_budget_at_its_least(
    session: Session,
) -> None:
    def stop() -> None:
        request = session.prepare("hi", model=ScriptedModel(["one", "two"], name="paid"))
        with closing(session.stream(request)) as events:  # type: ignore[type-var]
            next(events)

    stop()
    assert session.cost == Spent(unknown=1)
    session.budget = Budget(usd=1_000)
    stop()
    assert session.cost.unknown == 2
    assert 0 < session.cost.usd < Decimal("0.02")


def test_all_rounds_of_tools_are_paid(session: Session) -> None:
    with ChatServer(Reply("", calls=[LOOK]), Reply("", calls=[LOOK]), Reply("done")) as server:
        model = LegacyOpenAIModel("paid", KEY, server.url)
        answer = session.ask("go", model=model, tools=[look])
        usage = answer.usage

    assert usage is not None
    assert answer.cost == Decimal((usage.input_tokens or 0) + (usage.output_tokens or 0)) / 1000
    assert session.cost == Spent(usd=answer.cost)
    assert len(server.requests) == 3


def test_a_replayed_answer_tells_what_it_cost_and_costs_nothing(
    session: Session, tmp_path: Path
) -> None:
    file = tmp_path / "r.jsonl"
    recorded = session.ask("hi", model=RecordingModel(session.model, file, "record"))
    again = Session(session.model)
    again.budget = Budget(usd=0)
    replayed = [
        again.ask("hi", model=RecordingModel(session.model, file, mode), fresh=True)
        for mode in ("replay", "auto", "record")
    ]

    assert [recorded.cost, *(one.cost for one in replayed)] == [COST] * 4
    assert again.cost == Spent()
    assert session.cost == Spent(usd=COST)


# -- what may be asked ---------------------------------------------------------------------------


def test_what_would_pass_the_budget_is_refused_before_anything_is_sent(
    session: Session, server: ResponsesServer
) -> None:
    session.ask("hi", settings=SMALL, cell_id="a")
    session.budget = Budget(usd="0.025")
    with pytest.raises(BudgetExceeded) as caught:
        session.ask("more", settings=SMALL, cell_id="a")

    error = caught.value
    assert (error.usd, error.spent) == (Decimal("0.025"), COST)
    assert error.expected is not None
    assert error.expected > Decimal("0.007")
    assert "$0.0180 are spent" in error.problem
    assert "%agent budget 0." in error.fix
    assert len(server.requests) == 1
    assert [turn.answer for turn in session.turns] == ["27.95"]
    assert pickle.loads(pickle.dumps(error)).spent == COST  # noqa: S301
    session.budget = None
    assert session.ask("more", settings=SMALL) == "27.95"


def test_a_budget_of_nothing_lets_only_free_models_go(
    session: Session, server: ResponsesServer
) -> None:
    session.budget = Budget(usd=0)
    assert session.ask("hi", model=OpenAIModel("gift", KEY, server.url)) == "27.95"
    assert session.ask("hi", model="local")
    with pytest.raises(BudgetExceeded):
        session.ask("hi", settings=SMALL)


def test_the_threshold_asks_only_who_can_be_asked(
    session: Session, server: ResponsesServer
) -> None:
    session.budget = Budget(usd=100, ask_above="0.001")
    assert session.ask("hi", settings=SMALL) == "27.95"  # nobody to ask
    no, yes, nobody = Asked(False), Asked(True), Asked("nobody is here")
    with pytest.raises(Stopped):
        session.ask("hi", settings=SMALL, confirm=no)
    with pytest.raises(BudgetExceeded, match="nobody is here") as caught:
        session.ask("hi", settings=SMALL, confirm=nobody)
    assert len(server.requests) == len(session.turns) == 1
    assert session.ask("hi", settings=SMALL, confirm=yes) == "27.95"

    assert "--ask-above" in caught.value.fix
    (question,) = yes.questions
    assert question.why == "threshold"
    assert str(question).startswith("it costs about $0.0")
    session.budget = Budget(usd=100, ask_above=1)
    session.ask("hi", settings=SMALL, confirm=no)
    assert len(no.questions) == 1


def test_what_could_pass_the_budget_at_its_most_is_asked_about(session: Session) -> None:
    session.budget = Budget(usd=10, ask_above=10)
    yes = Asked(True)
    session.ask("hi", confirm=yes)  # nothing limits the answer: up to 16 dollars

    (question,) = yes.questions
    assert question.why == "cap"
    assert "which it could pass" in str(question)


def test_a_price_that_nobody_knows_is_asked_about_or_refused(
    session: Session, server: ResponsesServer
) -> None:
    model = OpenAIModel("nobody-knows", KEY, server.url)
    session.budget = Budget(usd=2)
    yes = Asked(True)
    with pytest.raises(BudgetExceeded, match="is not known") as caught:
        session.ask("hi", model=model)
    assert session.ask("hi", model=model, confirm=yes) == "27.95"

    assert "set_price" in caught.value.fix
    assert yes.questions[0].why == "unknown"
    assert len(server.requests) == 1


def test_an_async_question_asks_a_coroutine_and_a_thread(
    session: Session, server: ResponsesServer
) -> None:
    session.budget = Budget(usd=100, ask_above=0)
    threads: list[threading.Thread] = []

    async def slow(_: CostQuestion) -> bool:
        await asyncio.sleep(0)
        return True

    def other(_: CostQuestion) -> bool:
        threads.append(threading.current_thread())
        return True

    async def ask() -> None:
        await session.aask("one", settings=SMALL, confirm=slow)
        await session.aask("two", settings=SMALL, confirm=other)
        with pytest.raises(Stopped):
            await session.aask("three", settings=SMALL, confirm=Asked(None))

    asyncio.run(ask())
    session.ask("four", settings=SMALL, confirm=slow)

    assert threads
    assert threads[0] is not threading.main_thread()
    assert len(server.requests) == 3


def test_questions_at_once_share_one_budget(session: Session, server: ResponsesServer) -> None:
    """Each expects about 0.03 dollars; before the first is counted, the others know of it."""
    session.budget = Budget(usd="0.1")

    async def ask() -> list[Any]:
        questions = (session.aask(f"hi {n}", settings=SMALL) for n in range(12))
        return await asyncio.gather(*questions, return_exceptions=True)

    results = asyncio.run(ask())
    refused = [one for one in results if isinstance(one, BudgetExceeded)]

    assert len(refused) + len(server.requests) == 12
    assert 1 <= len(server.requests) <= 7
    assert session.cost.usd <= Decimal("0.126")
    assert session._ledger._expected == {}  # noqa: SLF001


def test_a_run_of_tool_rounds_stops_at_the_budget_and_history_stays_valid(
    session: Session,
) -> None:
    with ChatServer(*[Reply("", calls=[LOOK])] * 50, Reply("done")) as server:
        model = LegacyOpenAIModel("paid", KEY, server.url)
        session.budget = Budget(usd="0.2")
        settings = {"max_tokens": 40}
        with pytest.raises(BudgetExceeded, match="after its tools ran") as caught:
            session.ask("go", model=model, tools=[look], settings=settings, max_rounds=60)
        calls = len(server.requests)
        assert 1 < calls < 20
        assert session.turns[-1].status == "failed"
        assert session.cost.usd <= Decimal("0.2")
        assert caught.value.spent == session.cost.usd
        session.budget = None
        server.reply("fine")

    with ChatServer(Reply("fine")) as server:
        model = LegacyOpenAIModel("paid", KEY, server.url)
        assert session.ask("next", model=model) == "fine"
        assert [one["role"] for one in server.requests[0].body["messages"]] == ["user"]


def test_an_async_run_of_tool_rounds_stops_too(session: Session) -> None:
    with ChatServer(*[Reply("", calls=[LOOK])] * 50) as server:
        model = LegacyOpenAIModel("paid", KEY, server.url)
        session.budget = Budget(usd="0.2")

        async def ask() -> None:
            await session.aask(
                "go", model=model, tools=[look], settings={"max_tokens": 40}, max_rounds=60
            )

        with pytest.raises(BudgetExceeded):
            asyncio.run(ask())

    assert session.cost.usd <= Decimal("0.2")


def test_a_budget_that_is_lowered_during_an_answer_holds_for_its_next_round(
    session: Session,
) -> None:
    with ChatServer(*[Reply("", calls=[LOOK])] * 5, Reply("done")) as server:
        model = LegacyOpenAIModel("paid", KEY, server.url)
        request = session.prepare("go", model=model, tools=[look])

        def lower() -> None:
            for event in session.stream(request):
                if isinstance(event, ToolFinished):
                    session.budget = Budget(usd=0)

        with pytest.raises(BudgetExceeded):
            lower()

    assert len(server.requests) == 1


def test_an_answer_that_is_repaired_is_a_round_too(session: Session) -> None:
    with ChatServer(Reply("no json"), Reply("none again")) as server:
        model = LegacyOpenAIModel("paid", KEY, server.url)
        session.budget = Budget(usd="0.13")
        with pytest.raises(BudgetExceeded):
            session.ask("go", model=model, schema=dict[str, int], settings={"max_tokens": 40})

    assert len(server.requests) == 1


def test_a_broken_file_of_prices_is_told_where_there_is_a_budget(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p.json").write_text("{", "utf-8")
    monkeypatch.setenv("AGENTCELL_PRICES", str(tmp_path / "p.json"))
    assert session.ask("hi").cost is None
    session.budget = Budget(usd=2)
    with pytest.raises(PriceError, match="is no JSON"):
        session.ask("hi")


def test_a_model_of_someone_s_own_that_tells_no_usage_is_of_unknown_cost() -> None:
    class Own(ScriptedModel):
        async def astream(self, messages: list[Message], *_: Any, **__: Any) -> Any:
            async for event in super().astream(messages):
                if not isinstance(event, Usage):
                    yield event

    session = Session(Own(["hi"], name="paid"))
    assert session.ask("hello").cost is None
    assert session.cost == Spent(unknown=1)


def test_an_error_in_who_is_asked_sends_nothing(session: Session, server: ResponsesServer) -> None:
    session.budget = Budget(usd=100, ask_above=0)

    def broken(_: CostQuestion) -> bool:
        raise KeyError("x")

    with pytest.raises(KeyError):
        session.ask("hi", settings=SMALL, confirm=broken)

    assert (server.requests, session.turns) == ([], ())
    assert session._ledger._expected == {}  # noqa: SLF001


def test_costs_stand_in_the_file_as_decimals(session: Session, tmp_path: Path) -> None:
    history = NotebookHistory(tmp_path)
    session = Session(session.model, history=history)
    session.ask("hi", cell_id="a")
    (text,) = history.work(lambda store: store.database.read("SELECT json FROM body"))[0]

    assert json.loads(text)["cost"] == "0.018"


def test_a_turn_without_a_cost_of_an_older_file_is_read(session: Session, tmp_path: Path) -> None:
    history = NotebookHistory(tmp_path)
    session = Session(session.model, history=history)
    session.ask("hi", cell_id="a")
    history.work(
        lambda store: store.database.write("UPDATE body SET json = json_remove(json, '$.cost')")
    )
    history.close()

    assert NotebookHistory(tmp_path).turns()[0].cost is None


def test_a_lost_conversation_is_told_as_before(session: Session) -> None:
    class Resets(ScriptedModel):
        def __init__(self, reset: Callable[[], None]) -> None:
            super().__init__(["hi"], name="paid")
            self.reset = reset

    model = Resets(session.reset)
    request = session.prepare("hi", model=model)
    for _ in session.stream(request):
        pass
    session.reset()
    with pytest.raises(HistoryError):
        session._whole(request)  # noqa: SLF001
    assert session.cost.usd == Decimal("0.011")
