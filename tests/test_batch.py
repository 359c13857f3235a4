"""Many rows with one agent: what comes back, what is asked again, and in which order."""

from __future__ import annotations

import gc
import itertools
import tracemalloc
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pydantic
import pytest

import agentcell
from agentcell import Agent, HistoryMemory, LegacyOpenAIModel, Session
from agentcell.adapters.recording import RecordingModel
from agentcell.batch import BatchResult, RowError
from agentcell.errors import (
    AnswerError,
    AuthenticationError,
    BatchError,
    FieldError,
    KeyMissing,
    ServiceError,
)
from agentcell.testing import ChatServer, FakeModel, Reply, failure
from batch_kit import Rows, agent, answers, dollar_prices, refused, rows


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(Rows()) as server:
        yield server


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AGENTCELL_PRICES", str(dollar_prices(tmp_path)))


# -- rows and results ----------------------------------------------------------------------------


def test_answers_come_in_the_order_of_the_rows_though_the_first_is_the_slowest() -> None:
    first = lambda number, _: Reply("answer 0", delay=0.1) if number == 0 else None  # noqa: E731
    with ChatServer(Rows(first)) as server:
        result = agent(server).map(rows(40), workers=16)

    assert list(result) == answers(40)
    assert isinstance(result, BatchResult)
    assert result.failed == []


@pytest.mark.parametrize(
    "given",
    [
        rows(5),
        tuple(rows(5)),
        iter(rows(5)),
        (one for one in rows(5)),
        pd.DataFrame({"n": range(5)}),
        pd.DataFrame({"n": range(5)}, index=list("abcde")),
    ],
    ids=["list", "tuple", "iterator", "generator", "frame", "frame with an index"],
)
def test_rows_come_from_anything_that_holds_them(server: ChatServer, given: Any) -> None:
    assert list(agent(server).map(given)) == answers(5)


@pytest.mark.parametrize("given", ["text", b"bytes", {"n": 1}, 7, None])
def test_what_holds_no_rows_is_refused_before_anything_is_sent(
    server: ChatServer, given: Any
) -> None:
    with pytest.raises(BatchError, match="a list of mappings, a DataFrame"):
        agent(server).map(given)

    assert server.requests == []


def test_no_rows_give_an_empty_result(server: ChatServer) -> None:
    result = agent(server).map([])

    assert (list(result), result.usage, result.cost) == ([], None, Decimal(0))
    assert list(result.frame().columns) == ["answer", "error"]


def test_a_row_that_fails_is_a_value_with_the_row_and_the_error() -> None:
    with ChatServer(Rows(refused(400, numbers={1}))) as server:
        result = agent(server).map([{"n": 0}, {"n": 1}, {"n": print}, "no mapping"])

    good, refused_, missing, odd = result
    assert good == {"answer": "answer 0"}
    assert isinstance(refused_, RowError)
    assert (refused_.index, refused_.row, type(refused_.error).__name__) == (
        1,
        {"n": 1},
        "BadRequest",
    )
    assert isinstance(missing.error, FieldError)
    assert isinstance(odd.error, FieldError)
    assert result.failed == [refused_, missing, odd]
    assert len(server.requests) == 2, "the others were never sent"


def test_a_frame_has_the_rows_columns_the_answers_and_the_errors() -> None:
    said = '{"sum": "12.50", "n": "one"}'
    wrong = lambda number, _: failure(400, "not this one") if number == 2 else said  # noqa: E731
    frame = pd.DataFrame({"n": [1, 2], "kept": ["a", "b"]}, index=[10, 20])
    with ChatServer(Rows(wrong)) as server:
        result = agent(server, push_keys={"sum": "the sum", "n": "a number"}).map(frame)

    made = result.frame()
    assert list(made.columns) == ["n", "kept", "sum", "n_answer", "error"]
    assert list(made.index) == [10, 20]
    assert made["sum"][10] == "12.50"
    assert pd.isna(made["sum"][20])
    assert "not this one" in made["error"][20]
    assert list(frame.columns) == ["n", "kept"], "the rows' own frame stays as it was"


def test_a_frames_empty_cells_are_inputs_that_are_not_given() -> None:
    model = FakeModel("yes")
    asker = Agent("a", model=model, pull_keys={"word": "a word", "note": "TEXT?:a note"})
    frame = pd.DataFrame({"word": ["x", "y"], "note": ["one", None], "number": [1.5, float("nan")]})

    asker.map(frame, workers=1)

    second = str(model.requests[1].messages[-1]["content"])
    assert "nan" not in second.lower()
    assert "None" not in second


class Total(pydantic.BaseModel):
    total: float
    currency: str


def test_ask_each_needs_no_agent_and_makes_columns_of_a_schema() -> None:
    model = FakeModel('{"total": 3.5, "currency": "EUR"}')

    result = agentcell.ask_each(
        model, "What is on {text}? {unknown}", pd.DataFrame({"text": ["a", None]}), schema=Total
    )

    assert list(result) == [Total(total=3.5, currency="EUR")] * 2
    assert list(result.frame()["currency"]) == ["EUR", "EUR"]
    asked = sorted(str(one.messages[-1]["content"]).split("\n")[0] for one in model.requests)
    assert asked == ["What is on ? {unknown}", "What is on a? {unknown}"]


def test_the_frame_of_plain_answers_has_a_column_answer() -> None:
    result = agentcell.ask_each(FakeModel("yes"), "{a}?", [{"a": 1}, {"a": 2}])

    assert result.frame().to_dict("list") == {
        "a": [1, 2],
        "answer": ["yes"] * 2,
        "error": [None] * 2,
    }


@pytest.mark.parametrize("ask", ["ask_each", "session.map"])
def test_a_row_of_a_list_that_lacks_a_name_has_an_empty_text_there_as_in_a_frame(ask: str) -> None:
    model = FakeModel(lambda asked: str(asked.messages[-1]["content"]))
    given = [{"x": 1}, {"y": 2}, {"x": 3, "y": 4}]
    session = Session()
    session.model = model

    results = [
        agentcell.ask_each(model, "{x}/{y}/{z}", one, progress=False)
        if ask == "ask_each"
        else session.map("{x}/{y}/{z}", one, progress=False)
        for one in (given, pd.DataFrame(given, dtype="Int64"))
    ]

    assert list(results[0]) == list(results[1]) == ["1//{z}", "/2/{z}", "3/4/{z}"]


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT], ids=str)
def test_nothing_in_a_row_is_an_empty_text_whatever_holds_the_row(nothing: Any) -> None:
    model = FakeModel(lambda asked: str(asked.messages[-1]["content"]))
    given = [{"x": nothing, "y": "b"}]

    ways = (given, iter(given), pd.DataFrame(given))
    said = [agentcell.ask_each(model, "[{x}]{y}", one, progress=False)[0] for one in ways]

    assert said == ["[]b"] * 3


def test_no_column_of_the_rows_is_written_over_however_often_answers_are_added() -> None:
    class Mood(pydantic.BaseModel):
        mood: str
        mood_answer: str
        error: str

    said = '{"mood": "a", "mood_answer": "b", "error": "c"}'
    frame = pd.DataFrame({"mood": ["old"], "mood_answer": ["older"], "error": ["oldest"]})
    for _ in range(2):
        frame = agentcell.ask_each(
            FakeModel(said), "{mood}", frame, schema=Mood, progress=False
        ).frame()

    assert frame["mood"].tolist() == ["old"]
    assert frame["mood_answer"].tolist() == ["older"]
    assert frame["error"].tolist() == ["oldest"]
    assert len(set(frame.columns)) == len(frame.columns) == 3 + 2 * 4
    values = frame.iloc[0].tolist()
    assert [values.count(one) for one in "abc"] == [2, 2, 2]


@pytest.mark.parametrize("schema", ["none", "Total", "int", "agent"])
def test_a_frame_has_the_columns_of_answers_though_none_came(schema: str) -> None:
    def refuse(_: Any) -> str:
        raise ZeroDivisionError

    model = FakeModel(refuse)
    given = [{"x": 1}, {"x": 2}]
    if schema == "agent":
        asker = Agent("a", model=model, pull_keys={"x": "x"}, push_keys={"sum": "the sum"})
        frame = asker.map(given, progress=False).frame()
    else:
        wanted: Any = {"Total": Total, "int": int}.get(schema)
        frame = agentcell.ask_each(model, "{x}", given, schema=wanted, progress=False).frame()

    own = {"Total": ["total", "currency"], "agent": ["sum"]}.get(schema, ["answer"])
    assert list(frame.columns) == ["x", *own, "error"]
    assert frame[own].isna().all(axis=None)
    assert frame["error"].notna().all()


class _Polars:
    """Has what a DataFrame of polars has, as far as it is read here."""

    columns = ("x", "y")

    def __len__(self) -> int:
        return 2

    def iter_rows(self, *, named: bool) -> Iterator[dict[str, Any]]:
        """Yield rows."""
        assert named
        yield from ({"x": "a", "y": None}, {"x": "b", "y": 2})


def test_rows_of_polars_stand_beside_their_answers() -> None:
    model = FakeModel(lambda asked: str(asked.messages[-1]["content"]))

    result = agentcell.ask_each(model, "{x}/{y}", _Polars(), progress=False)

    assert list(result) == ["a/", "b/2"]
    assert list(result.frame().columns) == ["x", "y", "answer", "error"]
    assert result.frame()["x"].tolist() == ["a", "b"]


def test_whole_numbers_stay_whole_beside_a_row_that_failed() -> None:
    large = 2**53 + 1

    class Total(pydantic.BaseModel):
        total: int

    model = FakeModel(
        lambda asked: "no" if "bad" in str(asked.messages) else f'{{"total": {large}}}'
    )
    result = agentcell.ask_each(
        model, "{x}", [{"x": "good"}, {"x": "bad"}], schema=Total, progress=False
    )

    total = result.frame()["total"]
    assert total[0] == large
    assert total.isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("column", "renamed"), [("unit price", "unit_price"), ("2020", "column_2020"), ("$", "column")]
)
def test_a_column_that_cannot_stand_in_braces_is_refused_before_anything_is_sent(
    column: str, renamed: str
) -> None:
    model = FakeModel("never")
    frame = pd.DataFrame({"x": ["a"], column: [1]})

    with pytest.raises(FieldError, match="cannot stand in braces") as caught:
        agentcell.ask_each(model, f"{{x}} for {{{column}}}", frame, progress=False)

    assert caught.value.fix == f"rename it: df.rename(columns={{{column!r}: {renamed!r}}})."
    assert model.requests == []
    assert agentcell.ask_each(FakeModel("yes"), "{x}", frame, progress=False)[0] == "yes"


def test_columns_of_several_levels_are_refused_before_anything_is_sent() -> None:
    model = FakeModel("never")
    frame = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("x", "a"), ("x", "b")]))

    with pytest.raises(BatchError, match="several levels; one name for each"):
        agentcell.ask_each(model, "{x}", frame, progress=False)

    assert model.requests == []


def test_no_row_sees_another_and_none_is_remembered() -> None:
    memory = HistoryMemory()
    memory.insert("user", "Earlier.")
    memory.insert("assistant", "So it was.")
    model = FakeModel("yes")

    Agent("a", model=model, memories=memory, pull_keys={"n": "n"}).map(rows(3), workers=1)

    assert [len(one.messages) for one in model.requests] == [3, 3, 3]
    assert len(memory.get_messages()) == 2


def test_usage_is_the_sum_of_all_calls_also_of_answers_that_were_no_use() -> None:
    model = FakeModel(Reply("no object", usage=(10, 1)))
    asker = Agent("a", model=model, pull_keys={"n": "n"}, push_keys={"x": "x"}, max_retries=2)

    result = asker.map(rows(3))

    assert all(isinstance(one.error, AnswerError) for one in result.failed)
    assert result.spending.calls == 6
    assert result.usage is not None
    assert (result.usage.input_tokens, result.usage.output_tokens) == (60, 6)


def test_a_cost_that_nobody_knows_is_none_and_never_zero(server: ChatServer) -> None:
    model = LegacyOpenAIModel("m", api_key="sk-a", base_url=server.url)

    assert agent(server, model=model).map(rows(2)).cost is None


@pytest.mark.usefixtures("priced")
def test_cost_is_the_sum_of_all_rows(server: ChatServer) -> None:
    result = agent(server).map(rows(3))

    assert result.cost is not None
    assert round(result.cost, 6) == 3


@pytest.mark.usefixtures("priced")
def test_a_result_says_in_a_line_how_it_went(server: ChatServer) -> None:
    assert repr(agent(server).map(rows(3))) == (
        "BatchResult(3 rows, 0 failed, 33 + 21 tokens, $3.00)"
    )


# -- retries -------------------------------------------------------------------------------------


def test_only_rows_that_failed_for_what_may_pass_are_sent_again() -> None:
    said = Rows(
        lambda n, count: failure(529 if n == 1 else 400) if n in {1, 2} and count < 3 else None
    )
    with ChatServer(said) as server:
        result = agent(server).map(rows(4), retries=2, retry_delay=0.01)

    assert [type(one).__name__ for one in result] == ["dict", "dict", "RowError", "dict"]
    assert dict(said.asked) == {0: 1, 1: 3, 2: 1, 3: 1}


def test_a_row_that_stays_wrong_is_an_error_after_its_retries() -> None:
    said = Rows(refused(503, numbers={1}))
    with ChatServer(said) as server:
        result = agent(server).map(rows(2), retries=1, retry_delay=0.01)

    assert isinstance(result[1].error, ServiceError)
    assert said.asked[1] == 2


def test_retry_asks_about_the_failed_rows_only() -> None:
    said = Rows(refused(400, numbers={1, 3}, times=1))
    with ChatServer(said) as server:
        first = agent(server).map(rows(5))
        again = first.retry()

    assert [one.index for one in first.failed] == [1, 3]
    assert list(again) == answers(5)
    assert dict(said.asked) == {0: 1, 1: 2, 2: 1, 3: 2, 4: 1}
    assert again.spending.calls == 5, "what failed with 400 was never answered"


def test_a_retry_that_fails_again_keeps_the_rows_own_number() -> None:
    with ChatServer(Rows(refused(400, numbers={3}))) as server:
        again = agent(server).map(rows(5)).retry()

    assert [(one.index, one.row) for one in again.failed] == [(3, {"n": 3})]


def test_a_result_without_failures_asks_nobody_again(server: ChatServer) -> None:
    result = agent(server).map(rows(2))

    assert result.retry() is result


def test_a_refused_key_ends_the_batch_after_a_few_rows() -> None:
    said = Rows(refused(401, numbers=set(range(500))))
    with ChatServer(said) as server:
        result = agent(server).map(rows(500), workers=2)

    assert all(isinstance(one.error, AuthenticationError) for one in result)
    assert len(result) == 500
    assert sum(said.asked.values()) < 20


def test_a_missing_key_is_said_before_any_row_is_taken() -> None:
    taken: list[int] = []

    def each() -> Iterator[dict[str, int]]:
        for number in range(3):
            taken.append(number)
            yield {"n": number}

    asker = Agent("a", model=LegacyOpenAIModel("m"), pull_keys={"n": "n"})
    with pytest.raises(KeyMissing):
        asker.map(each())

    assert taken == []


# -- iterators -----------------------------------------------------------------------------------


def test_imap_takes_only_a_window_of_rows_ahead(server: ChatServer) -> None:
    taken = itertools.count()
    latest = 0

    def each() -> Iterator[dict[str, int]]:
        nonlocal latest
        for latest in taken:
            yield {"n": latest}

    found = agent(server).imap(each(), workers=4, ahead=6)
    got = [next(found) for _ in range(50)]
    found.close()  # type: ignore[attr-defined]

    assert got == answers(50)
    assert latest <= 50 + 6, "endless rows are no trouble"


def test_imap_gives_answers_as_they_come_where_no_order_is_wanted() -> None:
    slow = lambda number, _: Reply("answer 0", stall=-1) if number == 0 else None  # noqa: E731
    with ChatServer(Rows(slow)) as server:
        found = agent(server).imap(rows(10), workers=4, ordered=False)
        got = [next(found) for _ in range(9)]
        found.close()  # type: ignore[attr-defined]

    assert {"answer": "answer 0"} not in got
    assert len(got) == 9


def test_imap_keeps_the_order_and_gives_errors_as_values() -> None:
    with ChatServer(Rows(refused(400, numbers={1}))) as server:
        first, second, third = agent(server).imap(iter(rows(3)))

    assert [first, third] == [{"answer": "answer 0"}, {"answer": "answer 2"}]
    assert (second.index, second.row) == (1, {"n": 1})  # type: ignore[union-attr]


def test_memory_does_not_grow_with_the_rows_of_an_iterator() -> None:
    asker = Agent("a", model=FakeModel("yes"), pull_keys={"n": "n"})

    def peak(count: int) -> int:
        asker.model = FakeModel("yes")
        asker.model.requests = _Forgetful()
        gc.collect()
        tracemalloc.start()
        for _ in asker.imap(({"n": "x" * 1000} for _ in range(count)), workers=4):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(50)
    few, many = peak(200), peak(1600)
    assert many < few * 1.5 + 200_000, (few, many)


class _Forgetful(list[Any]):
    def append(self, item: Any) -> None:
        """Keep nothing."""


# -- recordings ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("priced")
def test_a_batch_replays_whatever_order_its_rows_come_in(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    with ChatServer(Rows()) as server:
        model = LegacyOpenAIModel("m", base_url=server.url)
        first = agent(server, model=RecordingModel(model, file, "record")).map(rows(20))
        asked = len(server.requests)
        replayed = agent(server, model=RecordingModel(model, file, "replay")).map(
            list(reversed(rows(20))), workers=16
        )

        assert len(server.requests) == asked == 20
    assert list(replayed) == list(reversed(list(first)))
    assert replayed.cost == first.cost
    assert replayed.usage == first.usage
