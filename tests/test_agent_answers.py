"""An agent's answers: repaired, streamed, from failing services, for many callers at once."""

from __future__ import annotations

import asyncio
import doctest
import hashlib
import importlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agent_kit import Replies, media, png, red
from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.events import ModelResponseType, Retrying, TextDelta, Usage
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.agents.agent import Agent
from agentcell.agents.answering import AnswerWarning, StepFinished
from agentcell.agents.single import SingleAgent
from agentcell.assets.asset import ImageAsset
from agentcell.errors import (
    AgentError,
    AnswerError,
    BadRequest,
    FieldError,
    HistoryError,
    ModelError,
    ServiceError,
    Unsupported,
)
from agentcell.history.memory import HistoryMemory
from agentcell.history.provider import HistoryProvider
from agentcell.messages import Message
from agentcell.prompts.fields import FieldSpec
from agentcell.testing import ChatServer, Reply, ResponsesServer, failure
from promptly import PROMPTLY
from receipt_agent import OK, QUESTION, receipt_agent
from scripted import ScriptedModel

# The answer --------------------------------------------------------------------------------


def test_without_declared_outputs_any_answer_is_right() -> None:
    def out(text: str) -> dict[str, Any]:
        return Agent("a", model=Replies(text)).step({"q": "x"})

    assert out("Hello {there}.") == {"answer": "Hello {there}."}
    assert out('{"answer": {}}') == {"answer": {}}
    assert out('```json\n{"a": 1}\n```') == {"a": 1}
    assert out('Say {"a": 1}!') == {"answer": 'Say {"a": 1}!'}
    assert out("") == {"answer": ""}


def test_a_malformed_answer_is_asked_for_again_with_what_is_wrong() -> None:
    model = Replies("The total is 42.", '{"total": 42}', OK)
    agent = receipt_agent(model, memories=[HistoryMemory()])

    out = agent.step(QUESTION)

    assert out == {"answer": "42"}
    assert [len(request) for request in model.requests] == [2, 4, 6]
    assert model.requests[1][2] == {"role": "assistant", "content": "The total is 42."}
    assert "no JSON object" in model.requests[1][3]["content"]
    assert "lacks 'answer'" in model.requests[2][5]["content"]
    assert len(agent.history or ()) == 2  # type: ignore[arg-type]


def test_an_answer_that_stays_malformed_is_an_error_that_says_what_came() -> None:
    model = Replies("no")

    with pytest.raises(AnswerError, match=r"holds no JSON object.*with answer.*'no'"):
        receipt_agent(model, max_retries=2).step(QUESTION)

    assert len(model.requests) == 2


def test_waits_between_attempts_are_the_callers_choice() -> None:
    began = time.perf_counter()
    with pytest.raises(AnswerError):
        receipt_agent(Replies("no"), retry_delay=0.05, retry_backoff=3).step(QUESTION)
    assert 0.2 <= time.perf_counter() - began < PROMPTLY


def finished(text: str, reason: str) -> dict[str, Any]:
    from agentcell.adapters.events import Finished, gather

    return gather([TextDelta(text), Finished(reason=reason, model="m")])


def test_an_answer_that_was_cut_or_declined_is_not_asked_for_again() -> None:
    cut = Replies(finished('{"answer": "one, two', "length"))
    declined = Replies(finished("I cannot help with that.", "refusal"))

    with pytest.raises(AnswerError, match="limit of its tokens") as caught:
        receipt_agent(cut).step(QUESTION)
    assert caught.value.fix == "raise max_tokens."
    with pytest.raises(AnswerError, match="declined: 'I cannot help"):
        receipt_agent(declined).step(QUESTION)
    assert (len(cut.requests), len(declined.requests)) == (1, 1)
    with pytest.warns(AnswerWarning, match="max_tokens"):
        out = Agent("a", model=Replies(finished("one, two", "length"))).step({"q": "x"})
    assert out == {"answer": "one, two"}


def test_a_schema_goes_with_the_settings_where_the_model_can_follow_one() -> None:
    able = Replies(
        '{"answer": "1", "parts": []}', capabilities=ModelCapabilities(structured_output=True)
    )
    other = Replies('{"answer": "1", "parts": []}')
    outputs = {"answer": "答案", "parts": FieldSpec("parts", many=True)}

    for model in (able, other):
        receipt_agent(model, push_keys=outputs, model_settings={"temperature": 0}).step(
            QUESTION, settings={"max_tokens": 9}
        )

    assert other.settings == [{"temperature": 0, "max_tokens": 9}]
    assert able.settings[0] == {
        "temperature": 0,
        "max_tokens": 9,
        "schema": {
            "title": "receipt_agent_answer",
            "type": "object",
            "properties": {
                "answer": {"type": "string", "description": "答案"},
                "parts": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["answer", "parts"],
            "additionalProperties": False,
        },
    }


# Failing services --------------------------------------------------------------------------


def test_a_failing_service_is_retried_by_its_adapter_alone() -> None:
    with ChatServer(failure(500, retry_after="0")) as server:
        model = LegacyOpenAIModel("m", api_key="sk-test", base_url=server.url)
        with pytest.raises(ServiceError):
            model.invoke([{"role": "user", "content": "x"}])
        alone = len(server.requests)

        with pytest.raises(ServiceError):
            receipt_agent(model, memories=[HistoryMemory()]).step(QUESTION)

        assert len(server.requests) - alone == alone <= 5


def test_a_setting_that_the_model_does_not_take_is_told_at_once() -> None:
    with ResponsesServer(Reply(OK)) as server:
        from agentcell.adapters.openai_responses import OpenAIModel

        model = OpenAIModel("gpt-4.1", api_key="sk-test", base_url=server.url)
        began = time.perf_counter()
        for settings in ({"stop": ["x"]}, {"temprature": 1}, {"temperature": 9}):
            with pytest.raises(Unsupported):
                receipt_agent(model, model_settings=settings).step(QUESTION)

        assert time.perf_counter() - began < PROMPTLY
        assert server.requests == []


def test_a_refused_request_is_told_by_its_own_type() -> None:
    with ChatServer(failure(400, "bad image")) as server:
        model = LegacyOpenAIModel("m", api_key="sk-test", base_url=server.url)

        with pytest.raises(BadRequest, match="bad image"):
            receipt_agent(model).step({**QUESTION, "receipt_image": red()})

        assert len(server.requests) == 1


@pytest.mark.parametrize("result", [None, "text", {}, {"type": "content", "content": "x"}])
def test_a_model_of_ones_own_that_returns_something_else_is_told(result: Any) -> None:
    agent = Agent("a", model=Replies(lambda _: None))
    agent.model.replies = ({"type": "x"} if result is None else result,)
    if isinstance(result, str):
        assert agent.step({"q": "x"}) == {"answer": "text"}
        return
    with pytest.raises(ModelError, match="ModelResponseType"):
        agent.step({"q": "x"})


# Streams and loops -------------------------------------------------------------------------


def test_a_stream_gives_the_pieces_and_the_outputs_last() -> None:
    memory = HistoryMemory()
    agent = receipt_agent(ScriptedModel(['{"answer": ', '"42"}']), memories=[memory])

    events = list(agent.stream(QUESTION))

    assert [event.text for event in events if isinstance(event, TextDelta)] == [
        '{"answer": ',
        '"42"}',
    ]
    assert isinstance(events[-1], StepFinished)
    assert events[-1].output == {"answer": "42"}
    assert events[-1].usage == Usage(input_tokens=10, output_tokens=2)
    assert events[-1].messages == ({"role": "assistant", "content": OK},)
    assert len(memory) == 2


def test_a_stream_tells_that_an_answer_is_asked_for_again() -> None:
    events = list(receipt_agent(Replies("no", OK)).stream(QUESTION))

    kinds = [type(event).__name__ for event in events]
    assert kinds == ["TextDelta", "Finished", "Retrying", "TextDelta", "Finished", "StepFinished"]
    assert next(event for event in events if isinstance(event, Retrying)).attempt == 2


def test_a_mistake_is_told_when_the_stream_is_made() -> None:
    with pytest.raises(FieldError):
        receipt_agent(Replies(OK)).stream({"receipt_image": "x", **QUESTION})


def test_a_stream_that_is_left_early_closes_the_models() -> None:
    model = ScriptedModel(['{"answer":', "1", "}"])
    memory = HistoryMemory()
    stream = receipt_agent(model, memories=[memory]).stream(QUESTION)

    next(stream)
    stream.close()  # type: ignore[attr-defined]

    assert model.closed == 1
    assert len(memory) == 0


def test_the_async_twins_do_the_same() -> None:
    async def both() -> tuple[dict[str, Any], list[Any]]:
        agent = receipt_agent(ScriptedModel(['{"answer":', '"42"}']))
        one = await agent.astep(QUESTION)
        return one, [event async for event in agent.astream(QUESTION)]

    out, events = asyncio.run(both())

    assert out == {"answer": "42"}
    assert events[-1].output == out


def test_many_steps_run_at_once_on_one_loop() -> None:
    agent = receipt_agent(ScriptedModel([OK], wait=0.2))

    async def all_of_them() -> Any:
        return await asyncio.gather(*(agent.astep(QUESTION) for _ in range(50)))

    began = time.perf_counter()
    results = asyncio.run(all_of_them())

    assert results == [{"answer": "42"}] * 50
    assert time.perf_counter() - began < 50 * 0.2 / 2  # one after the other: all of it


# Many callers, one request -----------------------------------------------------------------


def test_64_threads_share_an_agent_and_no_picture_goes_astray() -> None:
    size = 3_000_000
    pictures = [
        ImageAsset.from_bytes(png(at, 0, 0, noise=os.urandom(size)), filename=f"{at}.png")
        for at in range(8)
    ]
    by_name = {f"n{at}": picture for at, picture in enumerate(pictures)}

    def reply(messages: list[Message]) -> str:
        blocks = media(messages[-1])
        question = messages[-1]["content"][-1].text.splitlines()[1].split()[0]
        digests = [hashlib.sha256(block.asset.load_bytes()[-64:]).hexdigest() for block in blocks]
        return json.dumps({"answer": [question, digests, [block.tag for block in blocks]]})

    agent = Agent(
        "a",
        model=Replies(reply),
        prompt_template="{q} {x}",
        pull_keys={"x": "IMAGE:d"},
        push_keys={"answer": ""},
    )

    def work(call: int) -> bool:
        name = f"n{call % len(pictures)}"
        digest = hashlib.sha256(by_name[name].load_bytes()[-64:]).hexdigest()
        out = agent.step({"q": name, "x": by_name[name]})
        return bool(out == {"answer": [name, [digest], ["[x_1 d]"]]})

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(64) as pool:
            right = list(pool.map(work, range(2_000)))
    finally:
        sys.setswitchinterval(interval)

    assert len(pictures[0].load_bytes()) > size
    assert right == [True] * 2_000


SAME = """
import hashlib, sys
from agent_kit import Replies, red, blue, page
from agentcell.agents.agent import Agent
from agentcell.history.memory import HistoryMemory
from agentcell.messages import content_text, media_blocks

model = Replies("r")
agent = Agent("a", "S {z}", model=model, prompt_template="{b} {set}", memories=[HistoryMemory()],
    pull_keys={"b": "IMAGE:B", "票据": None, "c": {"modality": "pdf"}}, attributes={"z": "Z"})
given = {"x": red(), "c": page(), "b": [blue(), red()], "set": {"b", "a", "c", 1, 2.5, red()},
    "map": {"k": {red(), blue()}, "j": frozenset({"q", "p"})}, "票据": red(), "t": ("u", blue())}
for _ in range(2):
    agent.step(given)
whole = [[(message["role"], content_text(message["content"])) for message in request]
    for request in model.requests]
sent = [[(block.tag, block.fingerprint) for block in media_blocks(request)]
    for request in model.requests]
print(hashlib.sha256(repr([whole, sent]).encode()).hexdigest())
"""


def test_the_same_input_gives_the_same_bytes_under_any_hash_seed() -> None:
    def run(seed: int) -> str:
        done = subprocess.run(
            [sys.executable, "-c", SAME],
            env={
                **os.environ,
                "PYTHONHASHSEED": str(seed),
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with ThreadPoolExecutor(2) as pool:
        outcomes = set(pool.map(run, range(20)))

    assert len(outcomes) == 1


# Put together wrongly ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"name": "a b"}, "An agent is named 'a b'"),
        ({"name": "票据"}, "An agent is named"),
        ({"name": ""}, "An agent is named"),
        ({"model": None}, "a Model was expected"),
        ({"model": 5}, "a Model was expected"),
        ({"max_retries": 0}, "max_retries is '0'"),
        ({"retry_delay": "1"}, "retry_delay is '1'"),
        ({"max_rounds": -1}, "max_rounds is '-1'"),
    ],
)
def test_parts_that_do_not_fit_are_refused(options: Mapping[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        receipt_agent(Replies(OK), **options) if "model" not in options else receipt_agent(
            **options
        )


def test_outputs_cannot_be_attachments() -> None:
    with pytest.raises(FieldError, match="Output 'picture' is declared as IMAGE"):
        receipt_agent(Replies(OK), push_keys={"picture": "IMAGE:x"})


def test_a_single_agent_has_no_declared_fields() -> None:
    agent = SingleAgent("a", "S", model=Replies("Hi"), prompt_template="{q}")

    assert agent.invoke({"q": "x"}) == {"answer": "Hi"}
    with pytest.raises(AgentError, match="takes no push_keys"):
        SingleAgent("a", model=Replies("Hi"), push_keys={"a": ""})


def test_objects_print_shortly_and_no_value_with_them() -> None:
    agent = receipt_agent(Replies(OK), tools=[len])
    seen = agent._observe({**QUESTION, "receipt_image": red()}, None, None)  # noqa: SLF001

    assert len(repr(agent)) < 300
    assert "PNG" not in repr(seen)


def test_a_well_made_agent_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        receipt_agent(Replies(OK)).step({**QUESTION, "receipt_image": red()})


@pytest.mark.parametrize(
    "module", ["agentcell.agents.agent", "agentcell.agents.tools", "agentcell.history.memory"]
)
def test_the_examples_in_the_documentation_run(module: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(module))

    assert (failed, tried > 0) == (0, True)


def test_a_role_name_is_a_default_that_an_input_may_replace() -> None:
    agent = Agent("a", model=Replies(OK), prompt_template="{role_name}", role_name="R")

    assert agent.observe({})[1] == "MESSAGE TO YOU:\nR"
    assert agent.observe({"role_name": "me"})[1] == "MESSAGE TO YOU:\nme"


def test_figures_tables_and_pictures_of_other_libraries_are_taken() -> None:
    import pandas as pd  # type: ignore[import-untyped]
    from PIL import Image

    agent = Agent("a", model=Replies(OK), prompt_template="{table} {picture}")
    table = pd.DataFrame({"item": ["tea"], "price": [2.5]})

    user = agent.observe({"table": table, "picture": [Image.new("RGB", (3, 2), "red")]})[2][-1]

    assert [block.tag for block in media(user)] == ["[picture_1 picture]"]
    assert "tea" in user["content"][-1].text
    assert "[picture_1 picture]" in user["content"][-1].text


class Bare:
    """Something that answers, and is no `Model`."""

    def invoke(
        self, messages: list[Message], tools: Any = None, settings: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        del tools, settings, kwargs
        self.seen = messages
        return {"type": ModelResponseType.CONTENT, "content": OK}


def test_an_object_with_nothing_but_invoke_can_be_asked_in_every_way() -> None:
    bare = Bare()
    agent = receipt_agent(bare)
    given = {"question": "?", "receipt_image": red()}

    async def last_of_astream() -> Any:
        return [event async for event in agent.astream(given)][-1]

    last: Any = list(agent.stream(given))[-1]

    assert agent.step(given) == {"answer": "42"}
    assert asyncio.run(agent.astep(given)) == {"answer": "42"}
    assert last.output == {"answer": "42"}
    assert asyncio.run(last_of_astream()).output == {"answer": "42"}
    assert agent.model is bare
    assert media(bare.seen[-1])


class Nothing(HistoryProvider):
    def get_messages(self, query: str | None = None, *, top_k: int = -1) -> Any:
        del query, top_k


def test_a_history_that_gives_no_list_is_named() -> None:
    with pytest.raises(HistoryError, match=r"Nothing\.get_messages gave 'None'"):
        receipt_agent(Replies(OK), memories=Nothing()).step({"question": "?"})


@pytest.mark.parametrize(
    "option",
    [
        {"max_retries": 1.5},
        {"max_rounds": True},
        {"retry_delay": float("nan")},
        {"retry_delay": float("inf")},
        {"retry_backoff": -1},
        {"max_rounds": "3"},
    ],
    ids=str,
)
def test_a_number_that_is_none_is_refused_at_once(option: dict[str, Any]) -> None:
    with pytest.raises(AgentError, match=next(iter(option))):
        receipt_agent(Replies(OK), **option)


class Forgetful(HistoryMemory):
    def extend(self, messages: Any) -> None:  # noqa: ARG002 (as every history takes them)
        raise OSError("the disk is full")


def test_a_history_that_fails_does_not_lose_the_answer() -> None:
    agent = Agent("a", "S", model=Replies("The answer."), memories=[Forgetful()])

    with pytest.warns(AnswerWarning, match="not in the history: Forgetful failed"):
        assert agent.step({"q": "?"}) == {"answer": "The answer."}
