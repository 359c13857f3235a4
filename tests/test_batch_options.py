"""Many rows with one agent: what may be said of it, what is told meanwhile, and keys."""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcell import Agent, LegacyOpenAIModel
from agentcell.batch import RowError
from agentcell.errors import BadRequest, BatchError, Overloaded
from agentcell.loop import LOOP
from agentcell.testing import ChatServer, FakeModel, failure
from batch_kit import Elsewhere, Rows, agent, answers, rows


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(Rows()) as server:
        yield server


# -- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"wrokers": 4}, "no option 'wrokers'"),
        ({"workers": 0}, "workers is 0"),
        ({"retries": -1}, "retries is -1"),
        ({"retry_delay": "soon"}, "retry_delay"),
        ({"limits": 5}, "limits is 5"),
        ({"journal": 3}, "journal is 3; a file's path"),
        ({"settings": "hot"}, "settings is 'hot'; a mapping"),
        ({"on_row": "row"}, "on_row is 'row'; a function"),
        ({"executor": "providr"}, "'providr'"),
        ({"executor": object()}, "concurrent.futures.Executor"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_sent(
    server: ChatServer, options: dict[str, Any], match: str
) -> None:
    with pytest.raises(BatchError, match=match):
        agent(server).map(rows(2), **options)

    assert server.requests == []


def test_progress_is_told_of_every_row(server: ChatServer) -> None:
    class Told:
        seen: list[Any] = []  # noqa: RUF012

        def begin(self, count: int | None) -> None:
            self.seen.append(count)

        def row(self, *, failed: bool) -> None:
            self.seen.append(failed)

        def end(self) -> None:
            self.seen.append("end")

    agent(server).map(rows(3), progress=Told())

    assert Told.seen == [3, False, False, False, "end"]


def test_nothing_of_the_progress_stays_where_nobody_attends(
    server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    agent(server).map(rows(3))

    assert tuple(capsys.readouterr()) == ("", "")


def test_a_person_sees_a_bar_that_goes_away(
    server: ChatServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)
    monkeypatch.delenv("CI", raising=False)

    agent(server).map(rows(3))

    shown = capsys.readouterr().err
    assert "/3" in shown
    assert shown.rstrip(" ").endswith("\r")


def test_without_tqdm_a_line_tells_how_far_it_is(
    server: ChatServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)

    agent(server).map(rows(20))

    assert capsys.readouterr().err.splitlines()[-1] == "20 of 20 rows, 0 failed"


@settings(max_examples=40, deadline=None)
@given(
    failures=st.lists(st.sampled_from([0, 1, 2, 3, "never"]), max_size=12),
    workers=st.integers(1, 5),
    retries=st.integers(0, 3),
    ordered=st.booleans(),
)
def test_whatever_fails_each_row_has_one_outcome_and_no_answer_is_asked_for_twice(
    failures: list[Any], workers: int, retries: int, ordered: bool
) -> None:
    asked: dict[int, int] = dict.fromkeys(range(len(failures)), 0)
    lock = threading.Lock()

    def reply(request: Any) -> str:
        number = int(str(request.messages[-1]["content"]).split()[-1])
        with lock:
            asked[number] += 1
            count = asked[number]
        if failures[number] == "never":
            raise BadRequest("no")
        if count <= failures[number]:
            raise Overloaded("later", retryable=True)
        return f"answer {number}"

    asker = Agent("a", model=FakeModel(reply), prompt_template="row {n}", hide_unused_fields=True)
    given_ = [{"n": number} for number in range(len(failures))]
    options: Any = {"workers": workers, "retries": retries, "retry_delay": 0}
    mapped = list(asker.map(given_, **options))
    counts = dict(asked)
    asked.update(dict.fromkeys(asked, 0))
    streamed = list(asker.imap(iter(given_), ordered=ordered, **options))

    for number, kind in enumerate(failures):
        is_good = kind != "never" and kind <= retries
        assert isinstance(mapped[number], RowError) is not is_good
        assert counts[number] == (1 if kind == "never" else min(kind, retries) + 1)
    if ordered:
        assert [str(one) for one in streamed] == [str(one) for one in mapped]
    else:
        assert sorted(map(str, streamed)) == sorted(map(str, mapped))


# -- keys ----------------------------------------------------------------------------------------


KEY = "sk-batch-0123456789abcdefghij"


def test_a_pickled_model_holds_no_key(server: ChatServer) -> None:
    model = LegacyOpenAIModel("m", api_key=KEY, base_url=server.url)

    data = pickle.dumps(agent(server, model=model))

    assert KEY.encode() not in data
    assert pickle.loads(data).model.model_name == "m"  # noqa: S301 (made here)


def test_a_model_with_a_key_given_in_code_does_not_travel(server: ChatServer) -> None:
    model = LegacyOpenAIModel("m", api_key=KEY, base_url=server.url)

    with pytest.raises(BatchError, match="keys are not sent to workers") as caught:
        agent(server, model=model).map(rows(2), Elsewhere(2))

    assert KEY not in str(caught.value)
    assert "OPENAI_API_KEY" in str(caught.value)
    assert server.requests == []


def test_no_key_stands_in_an_error_of_a_row(server: ChatServer) -> None:
    server.then(lambda _: failure(400, f"bad {KEY}"))
    model = LegacyOpenAIModel("m", api_key=KEY, base_url=server.url)

    result = agent(server, model=model).map(rows(2))

    assert KEY not in f"{list(result)} {result.frame().to_csv()} {result.failed[0]}"


def test_a_result_can_be_pickled(server: ChatServer) -> None:
    result = agent(server).map([*rows(2), {"n": print}])

    again = pickle.loads(pickle.dumps(result))  # noqa: S301 (made here)

    assert list(again)[:2] == answers(2)
    assert again.usage == result.usage
    with pytest.raises(BatchError, match="knows no way to ask again"):
        again.retry()


def test_a_batch_on_our_own_loop_is_refused_and_does_not_hang(server: ChatServer) -> None:
    async def inside() -> None:
        agent(server).map(rows(2))

    with pytest.raises(BatchError, match="on the loop"):
        LOOP.run(inside())


def test_imap_is_not_for_a_providers_batch_service(server: ChatServer) -> None:
    with pytest.raises(BatchError, match="use map"):
        next(agent(server).imap(rows(2), "provider"))  # type: ignore[arg-type]
