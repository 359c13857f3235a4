"""An agent's prompts: inputs, fields, attachments and their tags, and what it remembers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from agent_kit import Replies, blue, media, page, png, red, shown
from agentcell.agents.agent import Agent
from agentcell.assets.asset import ImageAsset
from agentcell.errors import (
    AgentError,
    AnswerError,
    FieldError,
    HistoryError,
    ServiceError,
)
from agentcell.history.memory import HistoryMemory
from agentcell.history.provider import HistoryProvider
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock
from agentcell.prompts.fields import FieldWarning
from agentcell.testing import Reply, ResponsesServer
from promptly import PROMPTLY
from receipt_agent import OK, QUESTION, RULES, receipt_agent

# The prompts -------------------------------------------------------------------------------


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
    assert time.perf_counter() - began < PROMPTLY
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
