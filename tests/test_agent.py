"""One step of an agent: what it sends, what it returns, what it remembers."""

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

from agent_kit import Replies, blue, media, page, png, red, shown
from agentcell.adapters.events import ModelResponseType, Retrying, TextDelta, Usage
from agentcell.adapters.model import ModelCapabilities
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
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock
from agentcell.prompts.fields import FieldSpec, FieldWarning
from agentcell.testing import ChatServer, Reply, ResponsesServer, failure
from scripted import ScriptedModel

OK = '{"answer": "42"}'
RULES = "\nRESPONSE FORMAT REQUIREMENTS:\n"


def receipt_agent(model: Any, **options: Any) -> Agent:
    parts: dict[str, Any] = {
        "name": "receipt_agent",
        "model": model,
        "instructions": "你是一个仔细的票据审核助手。",
        "prompt_template": "请检查 {receipt_image} 并回答：{question}",
        "pull_keys": {"question": "问题", "receipt_image": "IMAGE:票据图片"},
        "push_keys": {"answer": "答案"},
    }
    return Agent(**{**parts, **options})


QUESTION = {"question": "总金额是多少？"}


def test_the_receipt_example_runs_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentcell import Agent, ImageAsset, OpenAIModel

    monkeypatch.chdir(tmp_path)
    Path("receipt.png").write_bytes(png(255, 0, 0))
    with ResponsesServer(Reply('{"answer":', ' "¥ 32.50"}')) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        agent = Agent(
            name="receipt_agent",
            model=OpenAIModel(model_name="gpt-4.1", api_key="..."),
            instructions="你是一个仔细的票据审核助手。",
            prompt_template="请检查 {receipt_image} 并回答：{question}",
            pull_keys={"question": "问题", "receipt_image": "IMAGE:票据图片"},
            push_keys={"answer": "答案"},
        )
        result = agent.step(
            {
                "question": "总金额是多少？",
                "receipt_image": ImageAsset.from_path("./receipt.png"),
            }
        )

    assert result == {"answer": "¥ 32.50"}
    [body] = server.bodies
    assert body["text"]["format"]["schema"]["required"] == ["answer"]
    assert body["text"]["format"]["strict"] is True
    user = body["input"][-1]
    assert [part["type"] for part in user["content"]] == ["input_text", "input_image", "input_text"]
    assert "[receipt_image_1 票据图片]" in user["content"][0]["text"]
    assert "请检查 [receipt_image_1 票据图片] 并回答：总金额是多少？" in user["content"][2]["text"]
    assert user["content"][1]["image_url"].startswith("data:image/png;base64,iVBOR")


def test_observe_gives_the_prompts_and_the_messages_and_sends_nothing() -> None:
    model = Replies(OK)

    system, user, messages = receipt_agent(model).observe({**QUESTION, "receipt_image": red()})

    assert system == "你是一个仔细的票据审核助手。"
    assert user.startswith(
        "MESSAGE TO YOU:\n请检查 [receipt_image_1 票据图片] 并回答：总金额是多少？\n"
    )
    assert '"answer": "答案"' in user
    assert shown(messages[0]) == {"role": "system", "content": system}
    assert shown(messages[1])["content"] == [
        {"text": "Attached image [receipt_image_1 票据图片]:"},
        {"media_tag": "[receipt_image_1 票据图片]"},
        {"text": user},
    ]
    assert model.requests == []


def test_inputs_that_the_template_does_not_name_follow_it_or_are_hidden() -> None:
    given = {"extra": {"b": [1], "a": "x"}, "q": "why", "photo": blue(), "empty": ""}

    def prompt(**options: Any) -> str:
        return Agent("a", "S", model=Replies(OK), prompt_template="{q}?", **options).observe(given)[
            1
        ]

    assert prompt() == (
        'MESSAGE TO YOU:\nwhy?\nextra:\n{\n  "a": "x",\n  "b": [\n    1\n  ]\n}\n'
        "photo:\n[photo_1 photo]"
    )
    assert prompt(hide_unused_fields=True) == "MESSAGE TO YOU:\nwhy?"
    hidden = Agent("a", "S", model=Replies(OK), prompt_template="{q}?", hide_unused_fields=True)
    assert [block.tag for block in media(hidden.observe(given)[2][-1])] == ["[photo_1 photo]"]


def test_without_a_template_the_fields_are_the_message() -> None:
    assert Agent("a", model=Replies(OK)).observe({"q": "why"})[2] == [
        {"role": "user", "content": "q:\nwhy"}
    ]
    with pytest.raises(FieldError, match="nothing to say"):
        Agent("a", model=Replies(OK)).observe({})


def test_braces_in_template_instructions_and_values_stay_as_typed() -> None:
    agent = Agent(
        "a",
        ["You are {role_name} of {shop}.", 'Answer like {"a": 1}. {q}'],
        model=Replies(OK),
        prompt_template=["{q} {unknown} {{q}}", r"\frac{a}{b} {x.y}"],
        attributes={"shop": "Corner Shop"},
        role_name="收银员",
    )

    system, user, _ = agent.observe({"q": "{shop} {q}"})

    assert system == 'You are 收银员 of Corner Shop.\nAnswer like {"a": 1}. {q}'
    assert user.splitlines()[1:3] == ["{shop} {q} {unknown} {q}", r"\frac{a}{b} {x.y}"]


def test_attributes_are_inputs_that_an_input_may_replace() -> None:
    agent = Agent("a", model=Replies(OK), prompt_template="{shop}", attributes={"shop": "A"})

    assert agent.observe({})[1] == "MESSAGE TO YOU:\nA"
    assert agent.observe({"shop": "B"})[1] == "MESSAGE TO YOU:\nB"
    assert agent.observe({})[1] == "MESSAGE TO YOU:\nA"


# Fields ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"receipt_image": "receipt.png"}, "expects modality 'IMAGE', but received 'TEXT'"),
        ({"receipt_image": page()}, "expects modality 'IMAGE', but received 'PDF'"),
        ({"receipt_image": [red(), "x"]}, "received 'IMAGE|TEXT'"),
        ({"receipt_image": red(), "thing": object()}, "'thing' holds an object"),
        ({5: "x"}, "has the key '5'"),
    ],
)
def test_a_callers_mistake_is_told_at_once_by_its_own_type(
    given: dict[Any, Any], problem: str
) -> None:
    model = Replies(OK)
    memory = HistoryMemory()
    agent = receipt_agent(model, memories=[memory], retry_delay=60)
    began = time.perf_counter()

    with pytest.raises(FieldError) as caught:
        agent.step({**QUESTION, **given})

    assert problem in str(caught.value)
    assert time.perf_counter() - began < 1
    assert model.requests == []
    assert len(memory) == 0
    assert agent.step({**QUESTION, "receipt_image": red()}) == {"answer": "42"}


def test_an_input_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(FieldError, match="a mapping of fields to values"):
        receipt_agent(Replies(OK)).step("总金额？")  # type: ignore[arg-type]


def test_an_absent_required_field_is_an_error_and_an_optional_one_is_nothing() -> None:
    required = {"receipt_image": {"description": "票据", "modality": "IMAGE", "required": True}}

    prompt = receipt_agent(Replies(OK)).observe(QUESTION)[1]

    assert prompt.startswith("MESSAGE TO YOU:\n请检查  并回答：总金额是多少？")
    assert "IMAGE" not in prompt
    empty: list[Any] = [None, "", []]
    for nothing in empty:
        assert (
            media(receipt_agent(Replies(OK)).observe({**QUESTION, "receipt_image": nothing})[2][-1])
            == []
        )
    with pytest.raises(
        FieldError, match="'receipt_image' expects modality 'IMAGE', but received nothing"
    ):
        receipt_agent(Replies(OK), pull_keys=required).step({"question": "?"})
    with pytest.raises(FieldError, match="did you mean it by 'reciept_image'"):
        receipt_agent(Replies(OK), pull_keys=required).step({"reciept_image": red()})


def test_a_probable_slip_in_a_name_is_warned_of() -> None:
    with pytest.warns(FieldWarning, match="is 'recipt_image' a misspelling"):
        receipt_agent(Replies(OK)).observe({**QUESTION, "recipt_image": red()})
    with pytest.warns(FieldWarning, match="'question' is declared, but the input lacks it"):
        receipt_agent(Replies(OK)).observe({"receipt_image": red()})
    with pytest.warns(FieldWarning, match=r"is \{question\} meant"):
        receipt_agent(Replies(OK), prompt_template="{qestion}")


def test_attachments_anywhere_in_a_value_are_sent_and_named_in_place() -> None:
    agent = Agent("a", model=Replies(OK), prompt_template="{visits}")

    user = agent.observe(
        {"visits": [{"place": "Rome", "photo": red()}, {"photo": [blue(), red()]}]}
    )[2][-1]

    assert [block.tag for block in media(user)] == ["[visits_1 visits]", "[visits_2 visits]"]
    text = user["content"][-1].text
    assert '"photo": [visits_1 visits],\n    "place": "Rome"' in text
    assert "[visits_2 visits],\n      [visits_1 visits]" in text
    assert "ImageAsset" not in text


def test_a_path_in_a_media_field_is_read_and_in_a_text_field_is_text(tmp_path: Path) -> None:
    file = tmp_path / "receipt.png"
    file.write_bytes(png(255, 0, 0))

    user = receipt_agent(Replies(OK)).observe({**QUESTION, "receipt_image": file})[2][-1]
    text = Agent("a", model=Replies(OK), pull_keys={"p": "TEXT:path"}).observe({"p": file})[1]

    assert media(user)[0].asset == red()
    assert text == f"p:\n{file}"


def test_the_order_is_as_declared_then_as_given() -> None:
    agent = Agent(
        "a", model=Replies(OK), pull_keys={"b": "IMAGE:B", "a": "PDF:A"}, attributes={"z": blue()}
    )

    user = agent.observe({"y": "t", "a": page(), "b": red()})[2][-1]

    assert [block.tag for block in media(user)] == ["[b_1 B]", "[a_1 A]", "[z_1 z]"]
    assert user["content"][-1].text == "b:\n[b_1 B]\na:\n[a_1 A]\nz:\n[z_1 z]\ny:\nt"


def test_further_declarations_can_come_with_a_call() -> None:
    model = Replies('{"answer": "1", "why": "2"}')
    agent = receipt_agent(model)

    out = agent.step(
        {**QUESTION, "bill": page()}, fields={"bill": "PDF:账单"}, outputs={"why": "原因"}
    )

    assert out == {"answer": "1", "why": "2"}
    assert media(model.requests[0][-1])[0].tag == "[bill_1 账单]"
    with pytest.raises(AnswerError, match="lacks 'missing'"):
        agent.step(QUESTION, outputs={"missing": ""})


# Tags and reuse ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reuse", "tags", "text"),
    [
        (True, ["[x_1 d]"], "[x_1 d] [x_1 d]\n[x_1 d]"),
        (False, ["[x_1 d]", "[y_1 e]", "[y_2 e]"], "[x_1 d] [y_1 e]\n[y_2 e]"),
    ],
)
def test_the_same_picture_in_one_turn(reuse: bool, tags: list[str], text: str) -> None:
    agent = Agent(
        "a",
        model=Replies(OK),
        prompt_template="{x} {y}",
        pull_keys={"x": "IMAGE:d", "y": "IMAGE:e"},
        reuse_attachment_tags=reuse,
    )

    user = agent.observe({"y": [red(), red()], "x": red()})[2][-1]

    assert [block.tag for block in media(user)] == tags
    assert user["content"][-1].text == f"MESSAGE TO YOU:\n{text}"


def conversation(memory: HistoryMemory, *pictures: ImageAsset, **options: Any) -> list[Message]:
    """The last request of a conversation that shows one picture in each turn."""
    model = Replies(*[f'{{"answer": "r{at}"}}' for at in range(len(pictures))])
    agent = Agent(
        "a",
        "S",
        model=model,
        prompt_template="{q} {x}",
        pull_keys={"x": "IMAGE:d"},
        memories=[memory],
        **options,
    )
    for at, picture in enumerate(pictures):
        agent.step({"q": f"q{at}", "x": picture})
    return model.requests[-1]


def test_a_picture_of_an_earlier_turn_is_named_and_not_sent_again() -> None:
    for merge in (True, False):
        messages = conversation(HistoryMemory(merge_historical_media=merge), red(), blue(), red())

        assert [len(media(message)) for message in messages] == [0, 1, 0, 1, 0, 0]
        assert messages[-1]["content"] == "MESSAGE TO YOU:\nq2 [x_1 d]"


def test_a_picture_that_left_the_window_is_sent_again_and_its_old_name_explained() -> None:
    messages = conversation(HistoryMemory(top_k=2), red(), red(), red())

    assert shown(messages[1])["content"] == "MESSAGE TO YOU:\nq1 [x_1 d]"
    assert shown(messages[3])["content"] == [
        {"text": "Attached image [x_2 d], called [x_1 d] before:"},
        {"media_tag": "[x_2 d]"},
        {"text": "MESSAGE TO YOU:\nq2 [x_2 d]"},
    ]
    last = conversation(HistoryMemory(top_k=2), red(), red(), red(), red())
    assert last[-1]["content"] == "MESSAGE TO YOU:\nq3 [x_2 d]"


def test_every_tag_in_a_request_leads_to_an_attachment() -> None:
    for reuse in (True, False):
        for merge in (True, False):
            for window in (2, 3, 4, 10):
                memory = HistoryMemory(top_k=window, merge_historical_media=merge)
                messages = conversation(
                    memory, red(), red(), blue(), red(), reuse_attachment_tags=reuse
                )
                text = "\n".join(str(shown(message)) for message in messages)
                own = {block.tag for message in messages for block in media(message)}
                for number in range(1, 6):
                    tag = f"[x_{number} d]"
                    explained = f"{tag}, the same as" in text or f"called {tag} before" in text
                    assert tag not in text or tag in own or explained, (reuse, merge, window, tag)


def test_a_number_in_any_text_is_not_given_out_again() -> None:
    memory = HistoryMemory()
    memory.insert("assistant", "see [x_9 whatever]")
    agent = Agent(
        "a",
        "About [y_4 z]",
        model=Replies(OK),
        prompt_template=["{x}", "{y} [z_2 a]"],
        memories=[memory],
    )

    user = agent.observe({"x": red(), "y": blue(), "z": page(), "note": {"deep": "[z_6 b]"}})[2][-1]

    assert [block.tag for block in media(user)] == ["[x_10 x]", "[y_5 y]", "[z_7 z]"]


# History -----------------------------------------------------------------------------------


def test_a_turn_is_remembered_without_the_rules_for_its_form() -> None:
    memory = HistoryMemory()
    model = Replies(f"<think>hm {{}}</think>\n{OK}")

    receipt_agent(model, memories=memory).step({**QUESTION, "receipt_image": red()})

    user, assistant = memory.get_messages()
    assert RULES in model.requests[0][-1]["content"][-1].text
    assert user["content"][-1].text == (
        "MESSAGE TO YOU:\n请检查 [receipt_image_1 票据图片] 并回答：总金额是多少？"
    )
    assert len(media(user)) == 1
    assert assistant == {"role": "assistant", "content": OK}


def test_a_failed_step_leaves_no_turn() -> None:
    memory = HistoryMemory()
    agent = receipt_agent(Replies(ServiceError("no")), memories=[memory])

    with pytest.raises(ServiceError):
        agent.step(QUESTION)

    assert len(memory) == 0


def test_equal_turns_are_sent_again_in_full() -> None:
    model = Replies(OK)
    agent = Agent("a", "S", model=model, prompt_template="{q}", memories=[HistoryMemory()])
    for text in ("yes", "no", "yes", "next"):
        agent.step({"q": text})

    sent = [message["content"].removeprefix("MESSAGE TO YOU:\n") for message in model.requests[-1]]
    assert sent == ["S", "yes", OK, "no", OK, "yes", OK, "next"]


class Fixed(HistoryProvider):
    """A provider that can only be read."""

    def __init__(self, *messages: Any) -> None:
        self.messages = messages
        self.queries: list[str | None] = []

    def get_messages(self, query: str | None = None, *, top_k: int = -1) -> list[Message]:
        assert top_k == -1
        self.queries.append(query)
        return list(self.messages)


def test_a_provider_that_can_only_be_read_is_enough() -> None:
    block = MediaMessageBlock(red(), "x", "[x_7 d]")
    provider = Fixed({"role": "user", "content": [block, TextMessageBlock("see")]})
    model = Replies(OK)

    Agent("a", model=model, memories=[provider]).step({"question": "what", "x": red()})

    assert provider.queries == ["what"]
    assert model.requests[0][-1]["content"] == "question:\nwhat\nx:\n[x_7 d]"


def test_what_a_provider_cannot_give_is_told() -> None:
    with pytest.raises(HistoryError, match="a message was expected"):
        Agent("a", model=Replies(OK), memories=[Fixed("hello")]).step({"q": "x"})


def test_an_agent_has_one_history() -> None:
    memory = HistoryMemory()
    agent = Agent("a", model=Replies(OK)).add_memory(memory)

    assert agent.history is memory
    for given in ([HistoryMemory(), HistoryMemory()], [memory, memory]):
        with pytest.raises(ValueError, match="at most one HistoryProvider"):
            Agent("a", model=Replies(OK), memories=given)
    with pytest.raises(AgentError, match="at most one HistoryProvider"):
        agent.add_memory(HistoryMemory())
    with pytest.raises(AgentError, match="a HistoryProvider was expected"):
        Agent("a", model=Replies(OK), memories=["text"])  # type: ignore[list-item]
    agent.step({"q": "x"})
    agent.reset_memories()
    assert len(memory) == 0


def test_a_file_that_is_changed_or_deleted_later_changes_no_earlier_turn(tmp_path: Path) -> None:
    file = tmp_path / "x.png"
    file.write_bytes(png(255, 0, 0))
    model = Replies(OK)
    agent = Agent("a", model=model, memories=[HistoryMemory()])
    agent.step({"x": ImageAsset.from_path(file)})

    file.write_bytes(png(0, 0, 255))
    agent.step({"q": "2"})
    file.unlink()
    agent.step({"q": "3"})

    for request in model.requests:
        assert media(request[0])[0].asset.load_bytes() == png(255, 0, 0)
    assert len(model.requests[2]) == 5


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
    assert 0.2 <= time.perf_counter() - began < 2


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

        assert time.perf_counter() - began < 5
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
    assert time.perf_counter() - began < 3


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
