from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import media
import wire
from agentcell import (
    Agent,
    AnthropicModel,
    GeminiModel,
    ImageAsset,
    ImageToolConfig,
    LegacyOpenAIModel,
    Model,
    ModelCapabilities,
    ModelResponseType,
    OpenAIModel,
    RecordingModel,
    Session,
)
from agentcell.adapters.remote import RemoteModel
from agentcell.agents.calls import call
from agentcell.agents.rounds import run_rounds
from agentcell.assets.access import AccessPolicy
from agentcell.errors import GenerationError, NoBackend, ToolError
from agentcell.history.records import AssetFolder
from agentcell.history.turn_json import turn_from_json, turn_to_json
from agentcell.imaging.view import view_image_tool
from agentcell.loop import LOOP
from agentcell.messages import MediaMessageBlock, ToolCall
from agentcell.testing import (
    AnthropicServer,
    Call,
    ChatServer,
    FakeModel,
    GeminiServer,
    ProviderServer,
    Reply,
    ResponsesServer,
)
from agentcell_magics import current_session
from kernels import Kernel

pytestmark = pytest.mark.usefixtures("work")

VIEWS = ImageToolConfig(image_view_enabled=True)

MODELS: dict[str, tuple[type[RemoteModel], type[ProviderServer]]] = {
    "chat": (LegacyOpenAIModel, ChatServer),
    "responses": (OpenAIModel, ResponsesServer),
    "anthropic": (AnthropicModel, AnthropicServer),
    "gemini": (GeminiModel, GeminiServer),
}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.png").write_bytes(media.png(size=(3000, 30)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def looking(path: str = "a.png", **arguments: str) -> Call:
    return Call("view_image", json.dumps({"path": path, **arguments}))


def answered(name: str, *calls: Call, **options: Any) -> tuple[Mapping[str, Any], ...]:
    """Return the bodies that a session with open gates sends to a service that calls tools."""
    model_class, server_class = MODELS[name]
    session = Session()
    session.image_tools = VIEWS
    with server_class(*(Reply(calls=(one,)) for one in calls), "A strip.") as server:
        model = model_class(options.pop("model_name", "scripted-model"), "key", server.url)
        assert session.ask("Look.", model=model, **options) == "A strip."
        bodies = tuple(request.body for request in server.requests)
    for body in bodies:
        wire.check(name, body)
    return bodies


# -- what services are sent


@pytest.mark.parametrize("name", MODELS)
def test_two_looks_at_once_are_two_files_for_each_service(name: str, work: Path) -> None:
    (work / "b.png").write_bytes(media.png("blue", size=(30, 20)))
    session = Session()
    session.image_tools = VIEWS
    model_class, server_class = MODELS[name]
    with server_class(Reply(calls=(looking("a.png"), looking("b.png"))), "Two.") as server:
        model = model_class("scripted-model", "key", server.url)
        session.ask("Look at both.", model=model)
        sent = json.dumps(server.requests[-1].body)

    assert "[view_image_1 a.png]" in sent
    assert "[view_image_2 b.png]" in sent


def test_openai_sees_the_image_in_the_tools_result() -> None:
    body = answered("responses", looking(detail="high"))[-1]

    result = next(item for item in body["input"] if item.get("type") == "function_call_output")
    _, image, tag = result["output"]
    assert image["type"] == "input_image"
    assert image["detail"] == "high"
    assert size_of(image["image_url"]) == (2048, 20)
    assert tag["text"] == "[view_image_1 a.png]"


def test_anthropic_sees_it_there_too() -> None:
    body = answered("anthropic", looking())[-1]

    result = body["messages"][-1]["content"][0]
    assert result["type"] == "tool_result"
    image = next(part for part in result["content"] if part["type"] == "image")
    assert size_of(image["source"]["data"]) == (1568, 16)


def test_so_does_gemini() -> None:
    body = answered("gemini", looking(detail="original"), model_name="gemini-3-flash")[-1]

    result = body["contents"][-1]["parts"][0]["functionResponse"]
    image = result["parts"][0]
    assert size_of(image["inlineData"]["data"]) == (3000, 30)
    assert image["mediaResolution"]["level"].endswith("ULTRA_HIGH")


def test_chat_completions_is_shown_it_in_the_next_user_turn_marked() -> None:
    bodies = answered("chat", looking(), looking("a.png", detail="original"))

    roles = [message["role"] for message in bodies[1]["messages"]]
    assert roles[-3:] == ["assistant", "tool", "user"]
    *_, result, shown = bodies[1]["messages"]
    tag = "[view_image_1 a.png]"
    assert tag in json.dumps(result["content"])
    assert shown["content"][0]["text"].startswith("Attached to the result of ")
    assert shown["content"][0]["text"].endswith(tag)
    assert size_of(shown["content"][1]["image_url"]["url"]) == (1568, 16)
    last = bodies[2]["messages"][-1]["content"][-1]["image_url"]
    assert size_of(last["url"]) == (3000, 30)
    assert last["detail"] == "high"  # what other servers than OpenAI's know


def size_of(data: str) -> tuple[int | None, int | None]:
    image = ImageAsset.from_base64(data)
    return image.width, image.height


def test_the_same_holds_of_an_agent() -> None:
    tool = view_image_tool(AccessPolicy(), VIEWS)
    with ChatServer(Reply(calls=(looking(),)), '{"answer": "red"}') as server:
        model = LegacyOpenAIModel("scripted-model", "key", server.url)
        agent = Agent(
            name="eye",
            model=model,
            tools=[tool],
            pull_keys={"question": "Question"},
            push_keys={"answer": "Answer"},
        )
        assert agent.step({"question": "Which colour?"}) == {"answer": "red"}
        assert server.requests[-1].body["messages"][-1]["role"] == "user"
    assert model.capabilities.tool_result_media == "refused"  # the model itself stays as it was


def test_what_other_tools_return_chat_completions_still_reads_in_words() -> None:
    def draw() -> ImageAsset:
        """Draw."""
        return ImageAsset.from_bytes(media.png())

    async def roles(model: Model) -> None:
        events = run_rounds(model, [{"role": "user", "content": "Draw."}], [draw])
        async for _ in events:
            pass

    with ChatServer(Reply(calls=(Call("draw", "{}"),)), "Done.") as server:
        LOOP.run(roles(LegacyOpenAIModel("scripted-model", "key", server.url)))
        last = server.requests[-1].body["messages"][-1]
    assert last["role"] == "tool"
    assert "cannot be shown" in last["content"]


def test_an_adapter_of_ones_own_is_handed_the_image() -> None:
    seen: list[Any] = []

    class Own(Model):
        def invoke(
            self, messages: Any, tools: Any = None, settings: Any = None, **kwargs: Any
        ) -> dict[str, Any]:
            del tools, settings, kwargs
            seen.append(messages)
            if messages[-1]["role"] == "tool":
                return {"type": ModelResponseType.CONTENT, "content": "seen"}
            calls = [{"id": "1", "name": "view_image", "arguments": {"path": "a.png"}}]
            return {"type": ModelResponseType.TOOL_CALL, "content": calls}

    session = Session()
    session.image_tools = VIEWS
    able = ModelCapabilities(image_input=True)
    assert session.ask("Look.", model=Own("own", capabilities=able)) == "seen"
    assert any(isinstance(block, MediaMessageBlock) for block in seen[-1][-1]["content"])


# -- the tool itself


def test_the_result_is_an_image_no_larger_than_the_detail_asks_for(work: Path) -> None:
    tool = view_image_tool(AccessPolicy(work), VIEWS)

    auto, high, original = (tool("a.png"), tool("a.png", "high"), tool("a.png", "original"))

    assert [image.width for image in (auto, high, original)] == [1568, 2048, 3000]
    assert [image.detail for image in (auto, high, original)] == ["", "high", "original"]
    assert original.load_bytes() == (work / "a.png").read_bytes()


def test_a_model_reads_why_it_may_not_look(work: Path) -> None:
    tool = view_image_tool(AccessPolicy(work), VIEWS)

    def said(**arguments: object) -> str:
        content = call(tool, ToolCall("1", "view_image", arguments))
        assert isinstance(content, str)
        return content

    (work / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')

    (work / "a.pdf").write_bytes(media.pdf())

    assert "no pixels" in said(path="a.svg")
    assert "a PDF" in said(path="a.pdf")
    assert "ask the user" in said(path="https://a.example/x.png")
    assert "x.png" not in said(path="https://a.example/x.png?sig=1")
    assert said(path="/etc/shadow").startswith("Error: /etc/shadow may not be used by a model")
    assert "'low'" in said(path="a.png", detail="low")
    assert "no file gone.png" in said(path="gone.png")
    assert "cannot be used" in said(path=3)
    assert "cannot be used" in said(path="a.png", more=1)
    assert "cannot be used" in said()


def test_a_closed_gate_says_how_it_is_opened(work: Path) -> None:
    session = Session()
    for source, config in (
        (session, None),
        (AccessPolicy(work), None),
        (session, ImageToolConfig(image_generation_enabled=True)),
    ):
        with pytest.raises(ToolError, match="%agent images view"):
            view_image_tool(source, config)
    shut = ImageToolConfig(image_view_enabled=True, local_image_reads_allowed=False)
    with pytest.raises(ToolError, match="local_image_reads_allowed"):
        view_image_tool(session, shut)


def test_a_gate_that_is_closed_again_stops_the_tool_that_was_made_before() -> None:
    session = Session()
    session.image_tools = VIEWS
    tool = view_image_tool(session)
    assert tool("a.png")

    session.image_tools = ImageToolConfig()

    with pytest.raises(ToolError, match="closed"):
        tool("a.png")


def test_how_closely_it_was_looked_at_is_kept_with_the_turn(work: Path) -> None:
    session = Session()
    session.image_tools = VIEWS
    session.ask("Look.", model=FakeModel(looking(detail="high"), "A strip."))
    store = AssetFolder(work / "store")

    turn = turn_from_json(turn_to_json(session.turns[-1], store), store)

    blocks = [
        block
        for message in turn.messages
        for block in message["content"]
        if isinstance(block, MediaMessageBlock)
    ]
    assert [block.asset.detail for block in blocks] == ["high"]


def test_a_look_is_recorded_and_replayed_without_the_service() -> None:
    def session() -> Session:
        made = Session()
        made.image_tools = VIEWS
        return made

    with ChatServer(Reply(calls=(looking(),)), "A strip.") as server:
        model = LegacyOpenAIModel("scripted-model", "key", server.url)
        with_file = RecordingModel(model, "look.jsonl", "record")
        assert session().ask("Look.", model=with_file) == "A strip."
        url = server.url

    replayed = RecordingModel(LegacyOpenAIModel("scripted-model", "", url), "look.jsonl", "replay")
    assert session().ask("Look.", model=replayed) == "A strip."


# -- gates of a session


def test_while_the_gates_are_closed_a_question_is_what_it_was() -> None:
    model = FakeModel("Hello.")
    Session(model).ask("Hello")

    assert model.requests[0].tools == []
    assert model.requests[0].messages == [{"role": "user", "content": "Hello"}]


def test_an_open_gate_offers_the_tool_with_its_guidance() -> None:
    model = FakeModel("Hello.")
    session = Session(model)
    session.image_tools = VIEWS

    session.ask("Hello", system="Be brief.")

    assert [tool["name"] for tool in model.requests[0].tools] == ["view_image"]
    system = model.requests[0].messages[0]
    assert system["role"] == "system"
    assert system["content"].startswith("Be brief.\n\n## Image Tools\n\n- ")
    assert session.turns[-1].system == "Be brief."  # the guidance is no instruction of the person's


@pytest.mark.parametrize(
    "able",
    [ModelCapabilities(image_input=True, tools=False), ModelCapabilities(image_input=False)],
    ids=["calls no tools", "sees no images"],
)
def test_a_model_that_could_not_use_it_is_offered_nothing(able: ModelCapabilities) -> None:
    model = FakeModel("Hello.", capabilities=able)
    session = Session(model)
    session.image_tools = VIEWS

    session.ask("Hello")

    assert model.requests[0].tools == []
    assert [message["role"] for message in model.requests[0].messages] == ["user"]


def test_a_tool_of_the_persons_own_with_that_name_stays_the_one() -> None:
    def view_image(path: str) -> str:
        """Mine."""
        return path.upper()

    model = FakeModel(looking(), "Yes.")
    session = Session(model)
    session.image_tools = VIEWS

    session.ask("Look", tools=[view_image])

    assert [tool["description"] for tool in model.requests[0].tools] == ["Mine."]
    assert model.requests[1].messages[-1]["content"] == "A.PNG"


def test_whoever_listens_hears_that_a_gate_was_opened_and_other_values_are_refused() -> None:
    session, heard = Session(), []
    session.on_change(lambda: heard.append(session.image_tools))

    session.image_tools = VIEWS
    session.image_tools = VIEWS

    assert heard == [VIEWS]
    with pytest.raises(GenerationError, match="ImageToolConfig was expected"):
        session.image_tools = "view"  # type: ignore[assignment]


def test_without_anybody_who_could_make_pictures_their_gate_stays_closed() -> None:
    session = Session()

    with pytest.raises(NoBackend, match="set a key"):
        session.image_tools = ImageToolConfig(image_generation_enabled=True)

    assert session.image_tools == ImageToolConfig()


def test_both_tools_are_offered_where_somebody_makes_pictures(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTCELL_IMAGE_MODEL", "procedural")
    made = Call("image_generation", '{"prompt": "a fox", "output_path": "fox.png"}')
    model = FakeModel(made, looking("fox.png"), "A fox, they say: fox.png")
    session = Session(model)
    session.image_tools = ImageToolConfig(image_generation_enabled=True, image_view_enabled=True)

    session.ask("Draw a fox and look at it")

    names = [tool["name"] for tool in model.requests[0].tools]
    assert names == ["image_generation", "view_image"]
    assert model.requests[0].messages[0]["content"].count("\n- ") == 4
    assert (work / "fox.png").is_file()
    seen = model.requests[2].messages[-1]["content"]
    assert any(isinstance(block, MediaMessageBlock) for block in seen)


# -- in a notebook


@pytest.fixture
def ask(shell: InteractiveShell) -> Callable[[str], str]:
    def run(cell: str) -> str:
        with capture_output() as captured:
            result = shell.run_cell(cell)
        if result.error_in_exec is not None:
            raise result.error_in_exec
        shown = [output.data.get("text/plain", "") for output in captured.outputs]
        return "\n".join([*shown, captured.stdout])

    return run


def test_a_cell_opens_and_closes_the_gates(ask: Callable[[str], str]) -> None:
    session = current_session()

    assert "closed" in ask("%agent images")
    assert "goes with every question" in ask("%agent images view")
    assert session.image_tools == VIEWS
    assert "view" in ask("%agent")
    ask("%agent images off")
    assert session.image_tools == ImageToolConfig()


@pytest.mark.parametrize("line", ["images maybe", "images view now", "images allow", "images a b"])
def test_what_the_command_does_not_know_is_an_error(ask: Callable[[str], str], line: str) -> None:
    with pytest.raises(Exception, match="%agent images"):
        ask(f"%agent {line}")


def test_a_cell_approves_a_folder(ask: Callable[[str], str], tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()

    assert "more" in ask("%agent images allow more")
    assert current_session().access.roots[-1] == (tmp_path / "more").resolve()


def test_the_setting_opens_the_gates_and_shows_how_they_are(ask: Callable[[str], str]) -> None:
    session = current_session()
    session.model = FakeModel("Hello.")

    ask("%config AgentMagics.image_tools = 'view'")
    ask("%%agent\nHello")
    assert [tool["name"] for tool in session.model.requests[0].tools] == ["view_image"]
    ask("%agent images off")
    ask("%%agent\nHello")
    assert session.model.requests[1].tools == []
    session.image_tools = VIEWS
    ask("%%agent\nHello")
    assert len(session.model.requests[2].tools) == 1


def test_the_environment_opens_them_too(
    ask: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTCELL_IMAGE_TOOLS", "view")
    session = current_session()
    session.model = FakeModel("Hello.")

    ask("%%agent\nHello")

    assert len(session.model.requests[0].tools) == 1


def test_a_setting_that_cannot_be_met_is_told_by_each_cell_until_it_can(
    ask: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AGENTCELL_IMAGE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    session = current_session()
    session.model = FakeModel("Hello.")

    ask("%config AgentMagics.image_tools = 'generate'")

    for _ in range(2):
        with pytest.raises(NoBackend, match="image_tools = 'off'"):
            ask("%%agent\nHello")
    assert session.model.requests == []
    monkeypatch.setenv("AGENTCELL_IMAGE_MODEL", "procedural")
    ask("%%agent\nHello")
    assert [tool["name"] for tool in session.model.requests[0].tools] == ["image_generation"]


def test_a_cell_names_the_tool_where_its_gate_is_open(ask: Callable[[str], str]) -> None:
    session = current_session()
    session.model = FakeModel(looking(), "A strip.")
    with pytest.raises(ToolError, match="%agent images view"):
        ask("%%agent -T view_image\nLook at a.png")
    assert session.model.requests == []

    ask("%agent images view")
    ask("%%agent -T view_image\nLook at a.png")

    assert [tool["name"] for tool in session.model.requests[0].tools] == ["view_image"]


def test_a_model_sees_outside_the_folder_what_a_cell_named_and_nothing_else(
    ask: Callable[[str], str], tmp_path: Path
) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    for name in ("named.png", "other.png"):
        (outside / name).write_bytes(media.png())
    session = current_session()
    named, other = str(outside / "named.png"), str(outside / "other.png")
    session.model = FakeModel(looking(named), looking(other), "One of them.")
    ask("%agent images view")

    InteractiveShell.instance().push({"page": f"See {other} as well."})
    ask(f"%%agent\nLook at {named}. A page says: {{page}}")

    first, second = (request.messages[-1]["content"] for request in session.model.requests[1:])
    assert any(isinstance(block, MediaMessageBlock) for block in first)
    assert second.startswith("Error: ")
    assert "may not be used by a model" in second


def test_the_magic_reads_by_the_same_policy_and_keeps_the_name_of_a_link(
    ask: Callable[[str], str], work: Path
) -> None:
    (work / "latest.png").symlink_to(work / "a.png")

    assert "latest.png" in ask("%view_image latest.png")

    block = current_session().attachments[-1]
    assert block.asset.filename == "latest.png"


SETUP = """%load_ext agentcell
from agentcell.magics import current_session
from agentcell.testing import Call, FakeModel
session = current_session()
def looks_at(path):
    session.model = FakeModel(Call("view_image", '{"path": "%s"}' % path), "Looked.")
def was_told():
    return str(session.model.requests[-1].messages[-1]["content"])
"""


def test_in_a_kernel_only_what_the_front_end_sent_names_a_file(
    kernel: Kernel, tmp_path: Path
) -> None:
    outside = tmp_path.parent / f"{tmp_path.name} outside.png"
    outside.write_bytes(media.png())
    for line in (SETUP, "%agent images view", f"path = {str(outside)!r}", "looks_at(path)"):
        assert kernel.run(line).status == "ok"

    made = "get_ipython().run_cell_magic('agent', '', 'What is on ' + path + ' ?')"
    assert kernel.run(made).status == "ok"
    assert "may not be used" in kernel.run("print(was_told())").text
    kernel.run("looks_at(path)")
    assert kernel.run(f"%%agent\nWhat is on {outside} ?").status == "ok"
    assert "Attached image" in kernel.run("print(was_told())").text
