from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Required, TypedDict

import pydantic
import pytest

import wire
from agent_kit import pdf, png
from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.events import TextDelta, ThinkingDelta, ToolCallDelta
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.local import LocalModel
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.agents.exchange import ToolFinished
from agentcell.agents.tools import tool
from agentcell.assets.asset import ImageAsset, PdfAsset
from agentcell.errors import (
    AgentError,
    AnswerError,
    ModelError,
    SkillError,
    ToolError,
    Unsupported,
)
from agentcell.history.notebook import NotebookHistory
from agentcell.messages import Message, content_text, media_blocks
from agentcell.session import Session
from agentcell.testing import AnthropicServer, ChatServer, GeminiServer, ResponsesServer
from agentcell.testing.fake_model import FakeModel
from agentcell.testing.replies import Call, Reply

WEATHER = Call("weather", '{"town": "Oslo"}')


def weather(town: str) -> str:
    """Tell the weather."""
    return f"rain in {town}"


def red_bill() -> PdfAsset:
    return PdfAsset.from_bytes(pdf("TOTAL 27.95"))


def draw() -> ImageAsset:
    """Draw."""
    return ImageAsset.from_bytes(png(255, 0, 0), filename="red.png")


class Receipt(pydantic.BaseModel):
    total: float
    shop: str


GOOD = '{"total": 27.95, "shop": "Aldi"}'
STRUCTURED = ModelCapabilities(structured_output=True)


def roles(messages: list[Message] | tuple[Message, ...]) -> list[str]:
    return [message["role"] for message in messages]


# -- tools ---------------------------------------------------------------------------------------


def test_a_tool_round_stands_in_the_turn_and_goes_out_with_the_next_question() -> None:
    model = FakeModel(WEATHER, "It rains.", "Take a coat.")
    session = Session(model)

    answer = session.ask("How is Oslo?", tools=[weather])
    session.ask("What to wear?")

    assert answer == "It rains."
    assert roles(session.turns[0].messages) == ["user", "assistant", "tool", "assistant"]
    assert session.turns[0].messages[2]["content"] == "rain in Oslo"
    again = model.requests[2].messages
    assert roles(again) == ["user", "assistant", "tool", "assistant", "user"]
    assert model.requests[2].tools == []


def test_the_usage_of_all_calls_is_summed() -> None:
    model = FakeModel(Reply(calls=[WEATHER], usage=(10, 5)), Reply("Rain.", usage=(30, 2)))
    answer = Session(model).ask("?", tools=[weather])

    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (40, 7)


def test_events_and_tools_come_in_their_order() -> None:
    model = FakeModel(Reply("Let me see. ", calls=[WEATHER]), "It rains.")
    session = Session(model)

    seen = [
        type(event).__name__
        for event in session.stream(session.prepare("?", tools=[weather]))
        if not isinstance(event, (ThinkingDelta, ToolCallDelta))
    ]

    texts = [name for name in seen if name != "TextDelta"]
    assert texts == ["Usage", "Finished", "ToolStarted", "ToolFinished", "Usage", "Finished"]


def test_the_answer_is_what_was_said_after_the_tools() -> None:
    model = FakeModel(Reply("Let me see. ", calls=[WEATHER]), "It rains.")
    session = Session(model)

    assert session.ask("?", tools=[weather]) == "It rains."
    assert session.turns[0].messages[1]["content"] == "Let me see. "


def test_a_tool_that_raises_is_told_to_the_model_and_the_turn_goes_on() -> None:
    def broken() -> str:
        """Break."""
        raise KeyError("shelf")

    model = FakeModel(Call("broken"), "It is broken.")
    session = Session(model)

    events = list(session.stream(session.prepare("?", tools=[broken])))
    (finished,) = (event for event in events if isinstance(event, ToolFinished))

    assert finished.is_error
    assert model.requests[1].messages[-1]["content"] == "Error: KeyError: 'shelf'"
    assert session.turns[0].answer == "It is broken."


@pytest.mark.parametrize("leaves", [SystemExit(3), StopIteration("gone")])
def test_a_tool_cannot_end_the_process_or_the_loop(leaves: BaseException) -> None:
    def leave() -> str:
        """Leave."""
        raise leaves

    model = FakeModel(Call("leave"), "Stayed.", Call("leave"), "Stayed again.")
    session = Session(model)

    assert session.ask("?", tools=[leave]) == "Stayed."
    assert asyncio.run(session.aask("?", tools=[leave])) == "Stayed again."
    assert model.requests[1].messages[-1]["content"].startswith("Error: ")
    assert model.requests[3].messages[-1]["content"].startswith("Error: ")


def test_a_result_without_end_is_cut_and_says_so() -> None:
    def read() -> str:
        """Read."""
        return "x" * 500_000

    model = FakeModel(Call("read"), "Long.")
    Session(model).ask("?", tools=[read])

    content = model.requests[1].messages[-1]["content"]
    assert content.endswith("\n(Cut here: 100,000 characters more. Ask for less at once.)")
    assert len(content) < 400_100


def test_a_model_that_takes_no_pictures_is_told_what_a_tool_returned() -> None:
    seeing, blind = FakeModel(Call("draw"), "Red."), FakeModel(capabilities=ModelCapabilities())
    session = Session(seeing)
    session.ask("Draw.", tools=[draw])
    session.ask("Which colour?", model=blind)
    session.ask(
        "Draw again.",
        model=FakeModel(Call("draw"), "?", capabilities=ModelCapabilities()),
        tools=[draw],
    )

    (result,) = (m for m in blind.requests[0].messages if m["role"] == "tool")
    assert "cannot be shown" in result["content"]
    assert "[draw_1 red.png]" in result["content"]


def test_the_embedded_reader_goes_on_after_rounds_of_another_model() -> None:
    session = Session(FakeModel(WEATHER, "It rains."))
    session.ask("?", tools=[weather])
    model = LocalModel(speak=False)

    answer = session.ask("What is the total?", model=model, attach={"bill": red_bill()})

    assert "27.95" in answer


def test_a_picture_from_a_tool_is_an_attachment_of_the_session() -> None:
    model = FakeModel(Call("draw"), "A red one.", "Still red.")
    session = Session(model)

    session.ask("Draw.", tools=[draw])
    session.ask("Which colour?")

    (block,) = session.attachments
    assert block.tag == "[draw_1 red.png]"
    assert [b.tag for b in media_blocks(model.requests[2].messages)] == [block.tag]
    session.forget("draw_1")
    session.ask("And now?")
    assert list(media_blocks(model.requests[3].messages)) == []


def test_an_attachment_never_takes_the_tag_of_what_a_tool_returned() -> None:
    model = FakeModel(Call("draw"), "One.", "Two.")
    session = Session(model)
    blue = ImageAsset.from_bytes(png(0, 0, 255), filename="red.png")

    session.ask("Draw.", tools=[draw])
    session.ask("Compare {draw}.", values={"draw": blue}, fields={"draw": "IMAGE:red.png"})

    tags = [block.tag for block in media_blocks(model.requests[2].messages)]
    assert tags == ["[draw_1 red.png]", "[draw_2 red.png]"]


def test_a_model_that_calls_no_tools_is_told_before_anything_is_sent() -> None:
    model = FakeModel(capabilities=ModelCapabilities(tools=False))
    session = Session(model)

    with pytest.raises(Unsupported, match="fake/model calls no tools"):
        session.ask("?", tools=[weather])

    assert model.requests == []
    assert session.turns == ()


@pytest.mark.parametrize("bad", ["weather", [5], [weather, weather]])
def test_what_is_no_tool_is_told_before_anything_is_sent(bad: Any) -> None:
    session = Session(FakeModel())

    with pytest.raises(ToolError):
        session.prepare("?", tools=bad)


def test_a_call_without_tools_is_no_answer() -> None:
    session = Session(FakeModel(WEATHER))

    with pytest.raises(ModelError, match="was given no tools"):
        session.ask("?")

    assert session.turns[0].status == "failed"


def test_too_many_rounds_are_an_error_and_are_not_sent_again() -> None:
    model = FakeModel(WEATHER, WEATHER, WEATHER, "Hello.")
    session = Session(model)

    with pytest.raises(AnswerError, match="2 rounds"):
        session.ask("?", tools=[weather], max_rounds=2)
    session.ask("And?")

    assert session.turns[0].status == "failed"
    assert roles(model.requests[-1].messages) == ["user"]


@pytest.mark.parametrize(
    ("approve", "content"),
    [
        (None, "nobody can be asked here"),
        (lambda _call, _tool: False, "not allowed"),
        (lambda _call, _tool: "too dear", "too dear"),
        (lambda _call, _tool: True, "paid"),
    ],
)
def test_a_tool_that_needs_leave_runs_only_with_it(
    approve: Callable[..., Any] | None, content: str
) -> None:
    @tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    model = FakeModel(Call("pay"), "Done.")
    Session(model).ask("?", tools=[pay], approve=approve)

    assert content in model.requests[1].messages[-1]["content"]


def test_the_async_twin_runs_tools_off_the_loop() -> None:
    async def asked() -> str:
        session = Session(FakeModel(WEATHER, "It rains."))
        return await session.aask("?", tools=[weather])

    assert asyncio.run(asked()) == "It rains."


def test_ask_works_inside_a_running_loop_with_tools_and_without() -> None:
    async def cell() -> list[str]:
        session = Session(FakeModel(WEATHER, "It rains.", "Yes.", "No."))
        whole = session.ask("?", tools=[weather])
        parts = [
            event.text
            async for event in session.astream(session.prepare("Sure?"))
            if isinstance(event, TextDelta)
        ]
        return [whole, "".join(parts), await session.aask("Really?")]

    assert asyncio.run(cell()) == ["It rains.", "Yes.", "No."]


# -- stopped -------------------------------------------------------------------------------------


def test_an_interrupt_in_a_tool_leaves_a_history_that_can_be_sent() -> None:
    def slow() -> str:
        """Take long."""
        raise KeyboardInterrupt

    both = Reply(
        "Let me see.", calls=[Call("weather", '{"town": "Oslo"}', "a"), Call("slow", id="b")]
    )
    model = FakeModel(both, "Hello.")
    session = Session(model)

    with pytest.raises(KeyboardInterrupt):
        session.ask("?", tools=[weather, slow])
    session.ask("And?")

    (turn, _) = session.turns
    assert turn.status == "interrupted"
    sent = model.requests[1].messages
    assert roles(sent) == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert [one["tool_call_id"] for one in sent if one["role"] == "tool"] == ["a", "b"]
    assert "stopped" in sent[3]["content"]
    assert sent[4]["content"] == "[The answer was stopped here.]"


@pytest.mark.parametrize("after", range(1, 16))
def test_closed_after_any_event_the_history_is_whole(after: int) -> None:
    model = FakeModel(
        Reply("Let ", "me see.", calls=[WEATHER, Call("weather", id="2")]), "It rains."
    )
    session = Session(model)

    events = session.stream(session.prepare("?", tools=[weather]))
    for _ in zip(range(after), events, strict=False):
        pass
    events.close()  # type: ignore[attr-defined]
    model.requests.clear()
    session.ask("And?")

    sent = model.requests[0].messages
    called = [call.id for message in sent for call in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    assert called == answered
    assert [role for role in roles(sent) if role == "user"][-1] == roles(sent)[-1]
    said = [content_text(message["content"]) for message in sent]
    assert said.count("Let me see.") <= 1


# -- answers by a schema -------------------------------------------------------------------------


@dataclass
class Line:
    name: str
    price: float


class Shop(TypedDict):
    name: str


class Street(TypedDict, total=False):
    shops: Required[list[Shop]]
    best: Shop | None


class Plain:
    total: int


@dataclass
class Checked:
    total: int

    def __post_init__(self) -> None:
        if self.total < 0:
            raise ValueError("total is below 0")
        if self.total > 9:
            raise RuntimeError("this class is broken")


@dataclass
class Unfinished:
    total: "Nowhere"  # type: ignore[name-defined]  # noqa: F821, UP037


@dataclass
class Strange:
    tags: Callable[[int], int]
    session: Session


@pytest.mark.parametrize(
    ("schema", "said", "value"),
    [
        (Receipt, GOOD, Receipt(total=27.95, shop="Aldi")),
        (Line, '{"name": "tea", "price": "2.5"}', Line("tea", 2.5)),
        (Shop, '{"name": "Aldi"}', {"name": "Aldi"}),
        (Street, '{"shops": [{"name": "Aldi"}]}', {"shops": [{"name": "Aldi"}]}),
        (Shop | None, '{"value": {"name": "Aldi"}}', {"name": "Aldi"}),
        (
            dict[str, Street],
            '{"a": {"shops": [], "best": null}}',
            {"a": {"shops": [], "best": None}},
        ),
        (list[Line], '{"value": [{"name": "tea", "price": 2}]}', [Line("tea", 2.0)]),
        (list[Line], '[{"name": "tea", "price": 2}]', [Line("tea", 2.0)]),
        (int, '{"value": 5}', 5),
        (
            {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]},
            '```json\n{"total": 3}\n```',
            {"total": 3},
        ),
        ({"type": "array", "items": {"type": "integer"}}, '{"value": [1, 2]}', [1, 2]),
    ],
)
@pytest.mark.parametrize("structured", [True, False])
def test_an_answer_by_a_schema_is_a_value_of_it(
    schema: Any, said: str, value: Any, structured: bool
) -> None:
    model = FakeModel(said, capabilities=ModelCapabilities(structured_output=structured))
    answer = Session(model).ask("?", schema=schema)

    assert answer.value == value
    assert type(answer.value) is type(value)
    assert answer == said
    (asked,) = model.requests
    assert ("schema" in asked.settings) is structured
    assert ("JSON schema" in content_text(asked.messages[-1]["content"])) is not structured


def test_what_a_model_is_told_of_the_schema_is_no_part_of_the_history() -> None:
    model = FakeModel(GOOD, "Yes.")
    session = Session(model)
    session.ask("How much?", schema=Receipt)
    session.ask("Sure?")

    assert session.turns[0].question == "How much?"
    assert model.requests[1].messages[0]["content"] == "How much?"


@pytest.mark.parametrize(
    ("schema", "why", "fix"),
    [
        (Plain, "'Plain' .*: it is a plain class, which does not tell its fields", "@dataclass"),
        (list[Plain], "it has a field of type .*Plain", "types of text"),
        (Unfinished, "it names 'Nowhere', which is not defined", "define Nowhere"),
        (Strange, "it has a field of type .*Session|CallableSchema", "types of text"),
        ({}, "an empty mapping; a JSON schema was expected", "write for example"),
    ],
)
def test_a_schema_that_cannot_be_told_says_why_in_plain_words(
    schema: Any, why: str, fix: str
) -> None:
    with pytest.raises(AgentError, match=why) as caught:
        Session(FakeModel("unasked")).ask("?", schema=schema)
    assert fix in caught.value.fix
    assert len(str(caught.value)) < 250


def test_what_a_class_checks_itself_is_told_to_the_model_and_its_own_faults_to_the_person() -> None:
    model = FakeModel('{"total": -1}', '{"total": 1}', '{"total": 10}')
    session = Session(model)

    assert session.ask("?", schema=Checked).value == Checked(1)
    note = model.requests[1].messages[-1]["content"]
    assert "the answer: Value error, total is below 0" in str(note)
    with pytest.raises(
        AnswerError, match="failed with RuntimeError: this class is broken"
    ) as caught:
        session.ask("?", schema=Checked)
    assert caught.value.fix.startswith("mend that check")
    assert len(model.requests) == 3


@pytest.mark.parametrize("bad", ["I do not know.", '{"total": "much", "shop": "Aldi"}', ""])
def test_a_wrong_answer_is_repaired_once_and_only_the_right_one_is_kept(bad: str) -> None:
    model = FakeModel(Reply(bad), GOOD, "Yes.", capabilities=STRUCTURED)
    session = Session(model)

    answer = session.ask("How much?", schema=Receipt)
    session.ask("Sure?")

    assert answer.value == Receipt(total=27.95, shop="Aldi")
    assert "cannot be used" in model.requests[1].messages[-1]["content"]
    assert [content_text(m["content"]) for m in model.requests[2].messages] == [
        "How much?",
        GOOD,
        "Sure?",
    ]
    assert answer.usage is not None
    assert answer.usage.input_tokens == 22


def test_an_answer_that_stays_wrong_is_an_error_that_shows_what_came() -> None:
    model = FakeModel("It is 27.95.", "Really 27.95.", capabilities=STRUCTURED)
    session = Session(model)

    with pytest.raises(AnswerError, match=r"Receipt.*holds no JSON.*Really 27\.95"):
        session.ask("How much?", schema=Receipt)

    (turn,) = session.turns
    assert turn.status == "failed"
    assert turn.answer == "Really 27.95."


def test_tools_and_a_schema_go_together_and_no_tool_runs_twice() -> None:
    ran = []

    def price() -> float:
        """Tell the price."""
        ran.append(1)
        return 27.95

    model = FakeModel(Call("price"), "27.95", Call("price"), GOOD)
    session = Session(model)
    answer = session.ask("?", schema=Receipt, tools=[price])

    assert answer.value.total == 27.95
    assert ran == [1]
    said = roles(session.turns[0].messages)
    assert said == ["user", "assistant", "tool", "assistant", "tool", "assistant"]


@pytest.mark.parametrize(
    "bad", [5, "Receipt", Receipt(total=1, shop="x"), {"a": 1}, None.__class__]
)
def test_what_is_no_schema_is_told_before_anything_is_sent(bad: Any) -> None:
    model = FakeModel()

    with pytest.raises(AgentError):
        Session(model).ask("?", schema=bad)

    assert model.requests == []


# -- skills --------------------------------------------------------------------------------------


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "receipts"
    folder.mkdir()
    (folder / "guide.png").write_bytes(png(0, 255, 0))
    (folder / "SKILL.md").write_text(
        "---\nname: receipts\nmedia:\n- {type: image, path: guide.png}\n---\nRead the total last.",
        encoding="utf-8",
    )
    return folder


def test_a_skill_holds_from_its_question_on_until_it_is_ended(skill: Path) -> None:
    model = FakeModel("a", "b", "c", "d")
    session = Session(model)

    session.ask("1", skills=[skill], system="Be brief.")
    (skill / "SKILL.md").unlink()
    session.ask("2")
    session.ask("3", system="Be long.")
    session.ask("4", skills=[], system="")

    first, second, third, fourth = (asked.messages for asked in model.requests)
    assert content_text(first[0]["content"]).startswith("Be brief.\n\n[Loaded Skills]")
    assert "Read the total last." in content_text(first[0]["content"])
    assert second[0] == first[0]
    assert content_text(third[0]["content"]).startswith("Be long.\n\n[Loaded Skills]")
    assert [block.tag for block in media_blocks(third)] == ["[skill_media_1 guide.png]"]
    assert roles(fourth)[0] == "user"


@pytest.mark.parametrize(
    ("kind", "provider", "model"),
    [
        ("anthropic", AnthropicServer, AnthropicModel),
        ("gemini", GeminiServer, GeminiModel),
        ("responses", ResponsesServer, OpenAIModel),
        ("chat", ChatServer, LegacyOpenAIModel),
    ],
)
def test_a_skill_s_picture_goes_to_every_provider(
    skill: Path, kind: str, provider: Any, model: Any
) -> None:
    with provider("a", "b") as server:
        session = Session(model("m", api_key="k", base_url=server.url))
        request = session.prepare("1", skills=[skill])
        for _ in session.stream(request):
            pass
        session.ask("2")

        for body in server.bodies:
            wire.check(kind, body)
            assert json.dumps(body).count("iVBOR") == 1
        moved = kind != "responses"
        assert ("go with the first question" in " ".join(request.notes)) is moved
        assert ("Attached to the instructions" in json.dumps(server.bodies[1])) is moved


def test_after_a_restart_tool_rounds_and_skills_go_on(skill: Path, tmp_path: Path) -> None:
    with closing(NotebookHistory(tmp_path / "notes")) as history:
        model = FakeModel(Call("draw"), "Red.")
        session = Session(model, history=history)
        session.ask("Draw.", tools=[draw], skills=[skill], cell_id="one")
    with closing(NotebookHistory(tmp_path / "notes")) as history:
        again = FakeModel("Red.")
        Session(again, history=history).ask("Which colour?", cell_id="two")

    (sent,) = again.requests
    assert roles(sent.messages) == ["system", "user", "assistant", "tool", "assistant", "user"]
    before = model.requests[1].messages
    assert [content_text(m["content"]) for m in sent.messages[:4]] == [
        content_text(m["content"]) for m in before
    ]
    assert sent.messages[2]["tool_calls"] == before[2]["tool_calls"]
    assert [b.fingerprint for b in media_blocks(sent.messages)] == [
        b.fingerprint for b in media_blocks(before)
    ]


def test_a_skill_that_cannot_be_read_is_told_before_anything_is_sent(tmp_path: Path) -> None:
    model = FakeModel()

    with pytest.raises(SkillError):
        Session(model).ask("?", skills=[tmp_path])

    assert model.requests == []


# -- several models ------------------------------------------------------------------------------


def _calling(name: str, call_id: str) -> Reply:
    return Reply(
        "Let me see.",
        calls=[Call(name, '{"town": "Oslo"}' if name == "weather" else "{}", call_id)],
    )


def test_tool_rounds_and_pictures_of_one_provider_go_to_every_other() -> None:
    with ExitStack() as stack:
        servers = {
            "responses": stack.enter_context(ResponsesServer()),
            "anthropic": stack.enter_context(AnthropicServer()),
            "gemini": stack.enter_context(GeminiServer()),
            "chat": stack.enter_context(ChatServer()),
        }
        models = {
            "responses": OpenAIModel("m", api_key="k", base_url=servers["responses"].url),
            "anthropic": AnthropicModel("m", api_key="k", base_url=servers["anthropic"].url),
            "gemini": GeminiModel("m", api_key="k", base_url=servers["gemini"].url),
            "chat": LegacyOpenAIModel("m", api_key="k", base_url=servers["chat"].url),
        }
        session = Session(FakeModel())
        for kind, server in servers.items():
            server.then(_calling("weather", f"{kind}:1"), _calling("draw", f"{kind}:1"), "Done.")
            answer = session.ask(f"Ask {kind}.", model=models[kind], tools=[weather, draw])
            assert answer == "Done."
        for kind, server in servers.items():
            server.then("Bye.")
            assert session.ask(f"Goodbye {kind}.", model=models[kind]) == "Bye."

        for kind, server in servers.items():
            assert len(server.bodies) == 4
            for body in server.bodies:
                wire.check(kind, body)
        whole = json.dumps(servers["chat"].bodies[-1])
        assert whole.count("rain in Oslo") == 4
