"""Specialists: a model of their own, the media tools against a service on loopback, one payment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from agentcell import (
    Budget,
    ImageToolConfig,
    LegacyOpenAIModel,
    ModelCapabilities,
    Session,
    tool,
)
from agentcell.agents.calls import call
from agentcell.agents.tools import Tool
from agentcell.assets.access import AccessPolicy
from agentcell.errors import (
    AgentError,
    AuthenticationError,
    BudgetExceeded,
    GenerationError,
    GenerationFailed,
    NoBackend,
    ToolError,
)
from agentcell.imaging.backends.gemini import GeminiMedia
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.hosted.states import Patience
from agentcell.imaging.media_tools import build_media_tools
from agentcell.imaging.once import Once
from agentcell.imaging.specialists import (
    IMAGE_SPECIALIST,
    MOST_ASKS,
    Specialist,
    delegation_tools,
)
from agentcell.imaging.view import view_image_tool
from agentcell.messages import MediaMessageBlock, ToolCall
from agentcell.testing import (
    Call,
    ChatServer,
    FakeModel,
    GeminiMediaServer,
    MediaServer,
    Reply,
)
from agentcell_magics import current_session
from media import png

TOKEN = "tk-0f1e2d3c4b5a6978"  # noqa: S105 (made up)
GENERATE = Call("media_generate_image", '{"prompt": "a red fox at dawn"}')
LOOK = Call("view_image", '{"path": "generated-media/req-1-0.png"}')
NOTHING = {"type": "object", "properties": {}}


@pytest.fixture
def server() -> Iterator[MediaServer]:
    with MediaServer(token=TOKEN) as running:
        running.job("success", files=[running.file("fox.png", png(size=(40, 30)))])
        yield running


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def media_tools(server: MediaServer, root: Path) -> list[Tool]:
    patience = Patience(image=20, video=20, interval=0.01, longest=0.05)
    backend = HostedMediaBackend(server.url, TOKEN, patience=patience)
    policy = AccessPolicy(root)
    views = view_image_tool(policy, ImageToolConfig(image_view_enabled=True))
    return [*build_media_tools(backend, root, access=policy), views]


def handed(model: FakeModel, tools: list[Tool], prompt: str = "A fox, please.") -> str:
    """Return what comes of handing the specialist for pictures a task."""
    delegate = delegation_tools(model, tools)[0]
    content = call(delegate, ToolCall("1", delegate.name, {"prompt": prompt}))
    assert isinstance(content, str)
    return content


def test_a_specialist_looks_up_generates_looks_and_reports(server: MediaServer, root: Path) -> None:
    model = FakeModel(Call("media_list_models"), GENERATE, LOOK, "A fox; see the path below.")

    report = handed(model, media_tools(server, root))

    assert server.charged == 1
    assert (root / "generated-media" / "req-1-0.png").is_file()
    assert report.startswith("A fox; see the path below.")
    assert "generated-media/req-1-0.png" in report
    assert "$0.0390" in report
    seen = model.requests[3].messages[-1]["content"]
    assert any(isinstance(block, MediaMessageBlock) for block in seen)


def test_it_knows_nothing_but_its_brief(server: MediaServer, root: Path) -> None:
    model = FakeModel("Nothing to do.")

    handed(model, media_tools(server, root), "A blue cat.")

    system, brief = model.requests[0].messages
    assert "Image-generation specialist" in system["content"]
    assert brief == {"role": "user", "content": "A blue cat."}
    names = [one["name"] for one in model.requests[0].tools]
    assert names == [
        *("media_generate_image", "media_generate_video", "media_list_models"),
        "view_image",
    ]


def test_a_second_paid_request_is_refused_whatever_the_model_wants(
    server: MediaServer, root: Path
) -> None:
    video = Call("media_generate_video", '{"prompt": "a fox runs"}')
    model = FakeModel(GENERATE, GENERATE, video, "One picture.")

    report = handed(model, media_tools(server, root))

    assert (server.charged, len(server.posts)) == (1, 1)
    for asked in model.requests[2:]:
        assert "costs money was sent already" in asked.messages[-1]["content"]
    assert "req-1-0.png" in report


def test_nor_does_a_failure_that_may_have_been_paid_for_allow_a_second_one(
    server: MediaServer, root: Path
) -> None:
    server.lose_answer()
    model = FakeModel(GENERATE, GENERATE, "It failed, and may have been paid for.")

    report = handed(model, media_tools(server, root))

    assert len(server.posts) == 1
    assert "From the tool itself:\nError: " in report


def test_wrong_arguments_cost_nothing_and_may_be_mended(server: MediaServer, root: Path) -> None:
    wrong = Call("media_generate_image", '{"prompt": "a fox", "n": "two"}')
    model = FakeModel(wrong, GENERATE, "Done.")

    handed(model, media_tools(server, root))

    assert "Error: n is 'two'" in model.requests[1].messages[-1]["content"]
    assert server.charged == 1


def test_what_was_paid_for_is_told_though_the_specialist_breaks_off(
    server: MediaServer, root: Path
) -> None:
    model = FakeModel(GENERATE, AuthenticationError("The key was refused.", fix="set another."))

    report = handed(model, media_tools(server, root))

    assert "broke off after the request was sent: The key was refused." in report
    assert "generated-media/req-1-0.png" in report


def test_a_failure_before_that_is_the_tools_own(server: MediaServer, root: Path) -> None:
    model = FakeModel(AuthenticationError("The key was refused.", fix="set another."))

    assert handed(model, media_tools(server, root)).startswith("Error: The key was refused.")
    assert server.charged == 0


def test_a_specialist_that_goes_round_in_circles_is_ended(server: MediaServer, root: Path) -> None:
    model = FakeModel(Call("media_list_models"))

    report = handed(model, media_tools(server, root))

    assert report.startswith("Error: The model exceeded")
    assert len(model.requests) == MOST_ASKS


# -- the tools that hand over


def test_a_tool_is_named_after_its_specialist(server: MediaServer, root: Path) -> None:
    plain = Specialist(id="video_agent", when_to_use="Clips.", instructions="Make clips.")
    named = Specialist(
        id="x", delegate_name="delegate_create_image", when_to_use="", instructions=""
    )

    tools = delegation_tools(FakeModel(), media_tools(server, root), specialists=[plain, named])

    assert [one.name for one in tools] == ["delegate_video_agent", "delegate_create_image"]
    for one in tools:
        assert one.parameters["required"] == ["prompt"]
        assert set(one.parameters["properties"]) == {"prompt"}
        assert one.description.startswith("Use it only if")


@pytest.mark.parametrize("prompt", ["", "  ", "\n\t"])
def test_a_blank_prompt_is_an_error_that_names_the_tool(
    server: MediaServer, root: Path, prompt: str
) -> None:
    model = FakeModel("Never asked.")

    assert handed(model, media_tools(server, root), prompt).startswith(
        "Error: delegate_create_image: the prompt is blank."
    )
    assert model.requests == []


def test_the_one_for_clips_says_beforehand_that_they_take_minutes(
    server: MediaServer, root: Path
) -> None:
    model = FakeModel("Nothing to do.")
    video = delegation_tools(model, media_tools(server, root))[1]

    call(video, ToolCall("1", video.name, {"prompt": "A fox runs."}))

    assert video.name == "delegate_create_video"
    assert "minutes" in video.description
    assert "tell the user so before" in video.description
    assert "Video-generation specialist" in model.requests[0].messages[0]["content"]


def test_a_person_allows_the_task_where_its_tools_would_have_to_be_allowed() -> None:
    @tool
    def free() -> str:
        """Draw."""
        return "drawn"

    @tool(needs_approval=True)
    def paid() -> str:
        """Paint."""
        return "painted"

    model = FakeModel(Call("paid"), Call("paid"), "Painted.")

    assert not delegation_tools(FakeModel(), [free])[0].needs_approval
    delegate = delegation_tools(model, [free, paid])[0]
    assert delegate.needs_approval
    assert "painted" in str(call(delegate, ToolCall("1", delegate.name, {"prompt": "A fox."})))
    assert "was not called" in model.requests[2].messages[-1]["content"]


def test_without_tools_or_by_a_model_that_calls_none_there_is_no_specialist() -> None:
    able = ModelCapabilities(tools=False)

    @tool
    def free() -> str:
        """Draw."""
        return "drawn"

    with pytest.raises(AgentError, match="no tools"):
        delegation_tools(FakeModel(), [])
    with pytest.raises(AgentError, match="calls no tools"):
        delegation_tools(FakeModel(capabilities=able), [free])


# -- one payment


@pytest.mark.parametrize(
    ("error", "is_used_up"),
    [
        (GenerationError("No such size.", fix="change it."), False),
        (ToolError("No such argument.", fix="change it."), False),
        (GenerationFailed("It was refused.", is_billed=False), False),
        (GenerationFailed("It failed.", is_billed=True), True),
        (GenerationFailed("Nobody knows.", is_billed=None), True),
        (RuntimeError("a fault of the tool's own"), True),
    ],
)
def test_only_what_cannot_have_cost_anything_leaves_the_payment_open(
    error: Exception, is_used_up: bool
) -> None:
    def paid() -> str:
        raise error

    once = Once()
    guarded = once.guard(Tool(name="paid", description="", parameters=NOTHING, function=paid))

    first = str(call(guarded, ToolCall("1", "paid", {})))
    second = str(call(guarded, ToolCall("2", "paid", {})))

    assert first.startswith("Error: ")
    assert ("was sent already" in second) is is_used_up
    assert once.was_sent is is_used_up


# -- in a session


@pytest.fixture
def hosted(server: MediaServer, monkeypatch: pytest.MonkeyPatch) -> MediaServer:
    monkeypatch.setenv("AGENTCELL_MEDIA_URL", server.url)
    monkeypatch.setenv("AGENTCELL_MEDIA_TOKEN", TOKEN)
    return server


def test_a_cell_hands_over_a_task_by_name(
    shell: InteractiveShell, hosted: MediaServer, root: Path
) -> None:
    session = current_session()
    brief = json.dumps({"prompt": "A fox at dawn."})
    session.model = FakeModel(
        Call("delegate_create_image", brief), GENERATE, LOOK, "Here: a fox.", "Made."
    )

    result = shell.run_cell("%%agent -T delegate_create_image --approve run\nDraw me a fox")

    assert result.success
    assert hosted.charged == 1
    parents, *childs, last = session.model.requests
    assert [one["name"] for one in parents.tools] == ["delegate_create_image"]
    assert childs[0].messages[1]["content"] == "A fox at dawn."
    assert "generated-media/req-1-0.png" in last.messages[-1]["content"]
    assert session.generator.generations[0].cost == Decimal("0.039")
    assert len(session.turns) == 1
    assert (root / "generated-media" / "req-1-0.png").is_file()


def test_where_nobody_allows_it_nothing_is_handed_over(
    shell: InteractiveShell, hosted: MediaServer, root: Path
) -> None:
    del root
    session = current_session()
    session.model = FakeModel(Call("delegate_create_image", '{"prompt": "A fox."}'), "Not made.")

    assert shell.run_cell("%%agent -T delegate_create_image --approve refuse\nDraw").success

    assert hosted.posts == []
    assert "not allowed" in session.model.requests[1].messages[-1]["content"]


def test_who_answers_for_the_specialist_is_paid_from_the_same_budget(
    hosted: MediaServer, root: Path
) -> None:
    del hosted, root
    session = Session(FakeModel("Never asked."))
    session.budget = Budget(usd="1.00")  # what a fake model costs, nobody knows
    delegate = session.own_tool("delegate_create_image")
    assert delegate is not None

    content = call(delegate, ToolCall("1", delegate.name, {"prompt": "A fox."}))

    assert str(content).startswith("Error: ")
    assert BudgetExceeded.__name__ not in str(content)
    assert isinstance(session.model, FakeModel)
    assert session.model.requests == []


def test_without_a_media_service_a_picture_comes_from_whoever_is_set_up(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTCELL_IMAGE_MODEL", "procedural")
    made = Call("image_generation", '{"prompt": "a fox", "output_path": "fox.png"}')
    session = Session(FakeModel(made, "A drawing."))
    delegate = session.own_tool("delegate_create_image")
    assert delegate is not None
    assert not delegate.needs_approval  # it costs nothing

    content = str(call(delegate, ToolCall("1", delegate.name, {"prompt": "A fox."})))

    assert "saved: fox.png" in content
    assert (root / "fox.png").is_file()
    with pytest.raises(NoBackend, match="AGENTCELL_MEDIA_URL"):
        session.own_tool("delegate_create_video")
    with pytest.raises(NoBackend, match="AGENTCELL_MEDIA_URL"):
        session.own_tool("media_list_models")


def test_without_a_media_service_a_clip_does_too(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filmed = Call("video_generation", '{"prompt": "a fox runs", "duration_seconds": 4}')
    monkeypatch.setenv("AGENTCELL_VIDEO_MODEL", "gemini")
    with GeminiMediaServer(states=("completed",)) as server:
        session = Session(FakeModel(filmed, filmed, "A clip."))
        session.generator.backends.add(GeminiMedia(api_key="g-1", base_url=server.url))
        delegate = session.own_tool("delegate_create_video")
        assert delegate is not None
        assert delegate.needs_approval

        content = str(call(delegate, ToolCall("1", delegate.name, {"prompt": "A fox runs."})))

        assert len(server.interactions) == 1
    assert "saved: generated-media/" in content
    assert [path.suffix for path in (root / "generated-media").iterdir()] == [".mp4"]


def test_a_specialist_by_chat_completions_sees_the_result_too(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del root
    monkeypatch.setenv("AGENTCELL_IMAGE_MODEL", "procedural")
    made = Call("image_generation", '{"prompt": "a fox", "output_path": "fox.png"}')
    look = Call("view_image", '{"path": "fox.png"}')
    with ChatServer(Reply(calls=(made,)), Reply(calls=(look,)), "A drawing.") as server:
        session = Session(LegacyOpenAIModel("scripted-model", "key", server.url))
        delegate = session.own_tool("delegate_create_image")
        assert delegate is not None

        report = str(call(delegate, ToolCall("1", delegate.name, {"prompt": "A fox."})))
        shown = server.requests[-1].body["messages"][-1]

    assert report.startswith("A drawing.")
    assert shown["role"] == "user"
    assert shown["content"][1]["type"] == "image_url"
    assert session.cost.unknown == 3  # each of its calls counts, and nobody knows its price


def test_a_session_has_no_tool_of_another_name(root: Path) -> None:
    del root

    assert Session().own_tool("delegate_everything") is None


def test_the_instructions_forbid_what_the_code_refuses() -> None:
    text = IMAGE_SPECIALIST.instructions

    assert "Never send a second one" in text
    assert "`view_image`" in text
