"""A provider's own batch service: the same answers, errors and resume as any other executor."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import agentcell
from agentcell import (
    Agent,
    AnthropicModel,
    GeminiModel,
    LegacyOpenAIModel,
    OpenAIModel,
    RateLimits,
)
from agentcell.adapters.batch_services import batch_service
from agentcell.adapters.events import Usage
from agentcell.adapters.pricing import cost
from agentcell.adapters.recording import RecordingModel
from agentcell.batch import RowError
from agentcell.errors import (
    AnswerError,
    AuthenticationError,
    BadRequest,
    BatchError,
    BatchStopped,
    BudgetExceeded,
    ModelError,
    ServiceError,
    Timeout,
    Unsupported,
)
from agentcell.testing import FakeModel, Reply, Request, failure
from agentcell.testing.batch_server import (
    AnthropicBatchServer,
    BatchServer,
    ChatBatchServer,
    GeminiBatchServer,
    ResponsesBatchServer,
)
from batch_kit import rows

SERVICES: dict[str, tuple[type[BatchServer], Any]] = {
    "chat": (ChatBatchServer, LegacyOpenAIModel),
    "responses": (ResponsesBatchServer, OpenAIModel),
    "anthropic": (AnthropicBatchServer, AnthropicModel),
    "gemini": (GeminiBatchServer, GeminiModel),
}


def number_in(body: Any) -> int:
    """The row that a request of a job is about."""
    text = json.dumps(body)
    return int(text.partition("This is row ")[2].partition(".")[0])


def answer(request: Any) -> str:
    return f"answer {number_in(request.body)}"


@dataclass
class Service:
    """A server with jobs, and the agent that asks its model."""

    server: BatchServer
    model: Any
    journal: Path

    def agent(self, **options: Any) -> Agent:
        model = options.pop("model", None) or self.model(
            "m", base_url=self.server.url, max_retries=0
        )
        return Agent(
            "asker",
            "Answer.",
            model=model,
            prompt_template="This is row {n}.",
            pull_keys={"n": "the row"},
            **options,
        )

    def map(self, given: Any, **options: Any) -> Any:
        usual = {"journal": self.journal, "poll": 0}
        return self.agent(**options.pop("agent", {})).map(given, "provider", **{**usual, **options})


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    kind, model = SERVICES[request.param]
    with kind(answer) as server:
        yield Service(server, model, tmp_path / "a.jsonl")


def test_answers_come_in_the_rows_order_though_the_service_gives_them_in_another(
    service: Service,
) -> None:
    service.server.batches.looks = 3

    result = service.map(rows(7))

    assert list(result) == [{"answer": f"answer {n}"} for n in range(7)]
    (job,) = service.server.batches.jobs
    assert job.looks >= 4
    assert [number_in(body) for body in job.requests.values()] == list(range(7))


def test_the_same_questions_are_sent_as_threads_send_them(service: Service) -> None:
    def bare(body: dict[str, Any]) -> dict[str, Any]:
        return {
            name: value for name, value in body.items() if name not in {"stream", "stream_options"}
        }

    service.map(rows(1))
    service.agent().map(rows(1))

    (asked,) = service.server.batches.jobs[0].requests.values()
    assert asked == bare(service.server.requests[-1].body)


def test_a_second_run_gives_no_job(service: Service) -> None:
    first = service.map(rows(4))
    second = service.map(rows(4))

    assert list(second) == list(first)
    assert second.resumed == 4
    assert second.usage == first.usage
    assert len(service.server.batches.jobs) == 1


def test_new_rows_alone_make_a_new_job(service: Service) -> None:
    service.map(rows(3))
    result = service.map(rows(5))

    assert [len(job.requests) for job in service.server.batches.jobs] == [3, 2]
    assert [one["answer"] for one in result] == [f"answer {n}" for n in range(5)]


def test_threads_and_the_service_share_a_journal(service: Service) -> None:
    service.map(rows(3))
    result = service.agent().map(rows(3), journal=service.journal)

    assert result.resumed == 3


def test_equal_rows_have_a_request_each(service: Service) -> None:
    result = service.map([{"n": 1}] * 3)

    assert [one["answer"] for one in result] == ["answer 1"] * 3
    assert len(set(service.server.batches.given)) == 3


@pytest.mark.parametrize(
    ("fate", "kind"),
    [("expired", (Timeout, ServiceError)), ("cancelled", ServiceError), ("missing", ServiceError)],
)
def test_rows_that_the_service_did_not_answer_are_errors_and_retry_gives_them_again(
    service: Service, fate: Any, kind: Any
) -> None:
    service.server.batches.fate = lambda _, body: fate if number_in(body) == 1 else "answered"
    result = service.map(rows(3))
    service.server.batches.fate = lambda _, __: "answered"
    again = result.retry()

    assert [type(one).__name__ for one in result] == ["dict", "RowError", "dict"]
    assert isinstance(result[1].error, kind)
    assert result[1].row == {"n": 1}
    assert [one["answer"] for one in again] == [f"answer {n}" for n in range(3)]
    assert [len(job.requests) for job in service.server.batches.jobs] == [3, 1]


def test_rows_that_the_service_refused_are_errors(service: Service) -> None:
    def some(request: Any) -> Any:
        if number_in(request.body) != 2:
            return answer(request)
        document = service.server.error_document(400, "This row is no good.", {})
        return Reply(status=400, raw=json.dumps(document))

    service.server.then(some)
    result = service.map(rows(4))

    assert [one.index for one in result.failed] == [2]
    assert isinstance(result[2].error, BadRequest)
    assert "This row is no good." in str(result[2].error)


@pytest.mark.parametrize("ends", ["expired", "cancelled"])
def test_a_job_that_ends_early_still_gives_what_it_has(service: Service, ends: str) -> None:
    service.server.batches.ends = ends
    service.server.batches.fate = lambda _, body: "missing" if number_in(body) > 1 else "answered"
    if isinstance(service.server, AnthropicBatchServer):
        ends = "completed"  # there a job only ends

    result = service.map(rows(4))

    assert [isinstance(one, RowError) for one in result] == [False, False, True, True]


def test_a_job_that_fails_as_a_whole_says_why_in_each_row(tmp_path: Path) -> None:
    for name in ("chat", "gemini"):
        kind, model = SERVICES[name]
        with kind(answer) as server:
            server.batches.ends = "failed"
            result = Service(server, model, tmp_path / f"{name}.jsonl").map(rows(2))

        assert len(result.failed) == 2
        assert "Line 1 is no request." in str(result[0].error)


def test_outputs_are_read_and_an_unusable_answer_is_an_error(service: Service) -> None:
    service.server.then(
        lambda request: '{"sum": "3"}' if number_in(request.body) == 0 else "no object at all"
    )

    result = service.map(rows(2), agent={"push_keys": {"sum": "the sum"}})

    assert result[0] == {"sum": "3"}
    assert isinstance(result[1].error, AnswerError)
    assert result.spending.calls == 2


def test_usage_is_counted(service: Service) -> None:
    result = service.map(rows(3))

    assert (result.usage.input_tokens, result.usage.output_tokens) == (33, 21)


# -- what goes wrong -----------------------------------------------------------------------------


def test_a_refused_key_is_an_error_of_the_batch(service: Service) -> None:
    service.server._key = "sk-right"  # noqa: SLF001 (the server's)

    with pytest.raises(AuthenticationError):
        service.map(rows(2))


def test_after_a_job_whose_answer_nobody_heard_no_row_is_given_twice(service: Service) -> None:
    service.server.batches.deaf = True
    with pytest.raises(ModelError):
        service.map(rows(5))
    service.server.batches.deaf = False

    result = service.map(rows(5))

    assert [one["answer"] for one in result] == [f"answer {n}" for n in range(5)]
    assert len(service.server.batches.jobs) == 1, "the job that was there was found"


def test_a_job_that_never_came_there_is_given_again(service: Service) -> None:
    service.server._key = "sk-right"  # noqa: SLF001
    with pytest.raises(AuthenticationError):
        service.map(rows(2))
    service.server._key = ""  # noqa: SLF001

    assert service.map(rows(2)).failed == []
    assert len(service.server.batches.jobs) == 1


def test_two_jobs_that_look_alike_are_not_guessed_between(tmp_path: Path) -> None:
    with AnthropicBatchServer(answer) as server:
        service = Service(server, AnthropicModel, tmp_path / "a.jsonl")
        server.batches.deaf = True
        for name in ("a", "b"):
            with pytest.raises(ModelError):
                Service(server, AnthropicModel, tmp_path / f"{name}.jsonl").map(rows(3))
        server.batches.deaf = False

        with pytest.raises(BatchError, match="2 that are there look like it"):
            service.map(rows(3))
        assert len(server.batches.jobs) == 2


def test_an_interrupt_leaves_the_job_and_the_next_run_fetches_it(service: Service) -> None:
    service.server.batches.looks = 10**9

    def stop() -> None:
        while not (jobs := service.server.batches.jobs) or jobs[0].looks < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(BatchStopped, match="0 of 3 rows") as caught:
        service.map(rows(3), poll=0.01)
    thread.join()
    service.server.batches.looks = 0
    result = service.map(rows(3))

    assert "the same journal" in str(caught.value)
    assert len(caught.value.result.failed) == 3
    assert result.failed == []
    assert len(service.server.batches.jobs) == 1


def _stops_after(count: int) -> Any:
    seen: list[int] = []

    def on_row(outcome: Any) -> None:
        seen.append(outcome.index)
        if len(seen) == count:
            raise KeyboardInterrupt

    return on_row


@pytest.mark.parametrize("given", [rows(6), [{"n": 1}] * 6], ids=["rows", "equal rows"])
def test_answers_that_were_read_before_an_interrupt_are_counted_once(
    service: Service, given: list[dict[str, int]]
) -> None:
    with pytest.raises(BatchStopped, match="2 of 6 rows"):
        service.map(given, on_row=_stops_after(2))

    results = [service.map(given) for _ in range(2)]

    assert [result.failed for result in results] == [[], []]
    assert [result.resumed for result in results] == [2, 6]
    assert [(one.usage.input_tokens, one.usage.output_tokens) for one in results] == [(66, 42)] * 2
    lines = [json.loads(line) for line in service.journal.read_text("utf-8").splitlines()]
    assert len([line for line in lines if "key" in line]) == 6
    assert len(service.server.batches.given) == 6


def test_a_row_that_failed_before_an_interrupt_is_given_again(service: Service) -> None:
    wanted = {"push_keys": {"sum": "the sum"}}
    service.server.then(lambda asked: "no object" if number_in(asked.body) == 2 else '{"sum": 1}')
    with pytest.raises(BatchStopped):
        service.map(rows(3), agent=wanted, on_row=_stops_after(2))
    service.server.then('{"sum": 2}')

    result = service.map(rows(3), agent=wanted)

    assert result.failed == []
    assert len(service.server.batches.jobs) == 2
    assert len(service.server.batches.given) == 4
    assert result.usage.input_tokens == 11 * 3


@pytest.mark.parametrize("ends", ["rows", "on_row"])
def test_what_ends_a_batch_at_the_provider_holds_what_came(service: Service, ends: str) -> None:
    def broken() -> Iterator[dict[str, int]]:
        yield {"n": 0}
        raise ZeroDivisionError

    def on_row(_: Any) -> None:
        raise ZeroDivisionError

    given, options = (broken(), {}) if ends == "rows" else (rows(3), {"on_row": on_row})
    with pytest.raises(ZeroDivisionError) as caught:
        service.map(given, **options)

    result = caught.value.batch_result  # type: ignore[attr-defined]
    assert len(result) == (1 if ends == "rows" else 3)
    assert len(result) - len(result.failed) == (0 if ends == "rows" else 1)
    assert "with ZeroDivisionError" in str(result.failed[0])


def _busy(service: Service, times: int) -> None:
    """Let the next looks at a job fail for what passes."""
    left = [times]
    look = service.server.about_jobs

    def about_jobs(request: Request, *parts: str | None) -> Reply:
        if service.server.batches.jobs and request.method == "GET" and left[0]:
            left[0] -= 1
            return failure(503, "busy")
        return look(request, *parts)

    service.server.about_jobs = about_jobs  # type: ignore[method-assign]


def test_looks_that_fail_for_what_passes_do_not_end_a_batch(service: Service) -> None:
    _busy(service, 10)

    assert service.map(rows(2)).failed == []
    assert len(service.server.batches.jobs) == 1


def test_a_service_that_stays_away_ends_a_batch_which_goes_on_later(service: Service) -> None:
    _busy(service, 11)

    with pytest.raises(ServiceError) as caught:
        service.map(rows(2))

    assert len(caught.value.batch_result.failed) == 2  # type: ignore[attr-defined]
    assert service.map(rows(2)).failed == []
    assert len(service.server.batches.jobs) == 1


RUN = """
import sys
from agentcell import Agent, LegacyOpenAIModel
url, journal = sys.argv[1:]
agent = Agent("asker", "Answer.", model=LegacyOpenAIModel("m", base_url=url),
              prompt_template="This is row {n}.", pull_keys={"n": "the row"})
result = agent.map([{"n": n} for n in range(20)], "provider", journal=journal, poll=0.05)
print(len(result), len(result.failed))
"""


def test_a_killed_process_is_followed_by_one_that_only_waits(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(RUN), encoding="utf-8")
    with ChatBatchServer(answer) as server:
        server.batches.looks = 10**9
        command = [sys.executable, str(script), server.url, str(tmp_path / "a.jsonl")]
        process = subprocess.Popen(command)
        end = time.monotonic() + 60
        while not server.batches.jobs or server.batches.jobs[0].looks < 2:
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        server.batches.looks = 0
        ran = subprocess.run(command, capture_output=True, text=True, check=True)

        assert ran.stdout.split() == ["20", "0"]
        assert len(server.batches.jobs) == 1
        assert len(server.files.taken) == 1


def test_a_large_batch_becomes_several_jobs(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(batch_service(service.agent().model))
    monkeypatch.setattr(kind, "most_rows", 3)

    result = service.map(rows(8))

    assert [len(job.requests) for job in service.server.batches.jobs] == [3, 3, 2]
    assert [one["answer"] for one in result] == [f"answer {n}" for n in range(8)]


def test_a_row_that_is_too_large_for_any_batch_is_an_error(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(batch_service(service.agent().model)), "most_bytes", 2_000)

    result = service.map([{"n": 0}, {"n": 1, "more": "x" * 3_000}, {"n": 2}])

    assert [isinstance(one, RowError) for one in result] == [False, True, False]
    assert "a batch takes 2,000" in str(result[1].error)


# -- refused before anything is sent -------------------------------------------------------------


def test_without_a_journal_nothing_is_given(service: Service) -> None:
    with pytest.raises(BatchError, match="no journal was given"):
        service.map(rows(2), journal=None)

    assert service.server.requests == []


def test_limits_are_the_providers_own(service: Service) -> None:
    with pytest.raises(BatchError, match="keeps its own limits"):
        service.map(rows(2), limits=RateLimits(concurrent=2))


def test_a_model_without_a_batch_service_is_refused(tmp_path: Path) -> None:
    asker = Agent("a", model=FakeModel("yes"), pull_keys={"n": "n"})

    with pytest.raises(Unsupported, match="has no batch service"):
        asker.map(rows(2), "provider", journal=tmp_path / "a.jsonl")


def test_tools_need_more_than_one_answer(service: Service) -> None:
    def look(place: str) -> str:
        """Look somewhere."""
        return place

    result = service.map(rows(2), agent={"tools": [look]})

    assert all("may call tools" in str(one.error) for one in result)
    assert service.server.batches.jobs == []


def test_a_batch_at_the_provider_is_not_recorded_and_can_be_replayed(
    service: Service, tmp_path: Path
) -> None:
    model = service.model("m", base_url=service.server.url)
    file = tmp_path / "recorded.jsonl"
    with pytest.raises(BatchError, match="cannot be recorded"):
        service.map(rows(2), agent={"model": RecordingModel(model, file, "record")})
    service.agent(model=RecordingModel(model, file, "record")).map(rows(2))
    before = len(service.server.requests)

    result = service.map(rows(2), agent={"model": RecordingModel(model, file, "replay")})

    assert [one["answer"] for one in result] == ["answer 0", "answer 1"]
    assert len(service.server.requests) == before


def test_no_key_is_in_the_journal(service: Service) -> None:
    key = "sk-provider-0123456789abcdef"
    model = service.model("m", api_key=key, base_url=service.server.url)
    service.map(rows(2), agent={"model": model})

    assert key not in service.journal.read_text(encoding="utf-8")


# -- money ---------------------------------------------------------------------------------------


def test_a_batch_costs_what_the_price_list_says_and_else_nobody_knows() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    usual = cost("anthropic/claude-haiku-4-5", usage)
    batch = cost("anthropic/claude-haiku-4-5", usage, processing="batch")
    unknown = cost("anthropic/claude-nobody-knows", usage, processing="batch")

    assert usual is not None
    assert batch is not None
    assert batch.total == usual.total / 2
    assert unknown is None


def test_a_price_that_was_set_is_not_taken_for_a_batch() -> None:
    agentcell.set_price("openai/priced-for-this-test", input=1, output=1)
    usage = Usage(input_tokens=1, output_tokens=1)

    assert cost("openai/priced-for-this-test", usage) is not None
    assert cost("openai/priced-for-this-test", usage, processing="batch") is None


def test_rows_that_would_pass_the_budget_are_not_given(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = service.agent().model.name
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({name: {"input": 0, "output": 1_000_000 / 7}}), encoding="utf-8")
    monkeypatch.setenv("AGENTCELL_PRICES", str(prices))

    result = service.map(rows(9), agent={"model_settings": {"max_tokens": 7}}, budget=3.5)

    given = service.server.batches.given
    assert 1 <= len(given) < 9
    assert len(result) - len(result.failed) == len(given)
    assert all(isinstance(one.error, BudgetExceeded) for one in result.failed)


# -- the vendors' own types ----------------------------------------------------------------------


def test_the_server_speaks_as_openais_client_reads_it() -> None:
    from openai import OpenAI

    with ChatBatchServer("yes") as server:
        client = OpenAI(api_key="k", base_url=server.url)
        line = {
            "custom_id": "one",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": "m", "messages": []},
        }
        data = json.dumps(line).encode() + b"\n"
        file = client.files.create(file=("a.jsonl", data), purpose="batch")
        made = client.batches.create(
            input_file_id=file.id,
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata={"agentcell": "token"},
        )
        states = [client.batches.retrieve(made.id).status for _ in range(2)]
        done = client.batches.retrieve(made.id)
        content = client.files.content(done.output_file_id or "").text

    assert states == ["in_progress", "completed"]
    assert json.loads(content)["response"]["body"]["choices"][0]["message"]["content"] == "yes"


def test_the_server_speaks_as_anthropics_client_reads_it() -> None:
    from anthropic import Anthropic

    with AnthropicBatchServer("yes") as server:
        client = Anthropic(api_key="k", base_url=server.url.removesuffix("/v1"))
        made = client.messages.batches.create(
            requests=[
                {"custom_id": "one", "params": {"model": "m", "max_tokens": 5, "messages": []}}
            ]
        )
        states = [client.messages.batches.retrieve(made.id).processing_status for _ in range(2)]
        listed = client.messages.batches.list().data

    assert states == ["in_progress", "ended"]
    assert listed[0].id == made.id


def test_the_server_speaks_as_googles_client_reads_it() -> None:
    genai = pytest.importorskip("google.genai")
    with GeminiBatchServer("yes") as server:
        client = genai.Client(
            api_key="k",
            http_options={"base_url": server.url.removesuffix("/v1"), "api_version": "v1beta"},
        )
        made = client.batches.create(
            model="m",
            src=[{"contents": "Hello", "metadata": {"key": "one"}}],
            config={"display_name": "token"},
        )
        client.batches.get(name=made.name)
        done = client.batches.get(name=made.name)

    assert made.display_name == "token"
    assert done.state.name == "JOB_STATE_SUCCEEDED"
    (answered,) = done.dest.inlined_responses
    assert answered.response.text == "yes"
    assert answered.metadata == {"key": "one"}
