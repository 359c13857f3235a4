"""The media tools: which there are, and what is made of their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentcell import Budget, Session, build_media_tools
from agentcell.assets.access import AccessPolicy
from agentcell.errors import (
    AgentcellError,
    AttachmentError,
    BudgetExceeded,
    GenerationError,
    ToolError,
)
from agentcell.imaging import media_arguments
from agentcell.imaging.hosted.service import MediaService
from agentcell.imaging.jobs import FILE
from agentcell.imaging.media_tools import MEDIA_TOOLS
from agentcell.testing import MediaServer
from agentcell.testing.media_files import PIXEL as PNG
from media_tools_kit import MP4, NAMES, TOKEN, files, image, service_at, tools, use


@pytest.fixture
def server() -> Iterator[MediaServer]:
    with MediaServer(token=TOKEN) as running:
        yield running


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


# -- the tools


def test_there_are_no_tools_where_no_service_is_set_up(root: Path) -> None:
    # case 32
    assert build_media_tools(None, root) == []


@pytest.mark.parametrize("missing", ["AGENTCELL_MEDIA_URL", "AGENTCELL_MEDIA_TOKEN"])
def test_half_a_configuration_is_none(
    missing: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTCELL_MEDIA_URL", "https://media.example.org")
    monkeypatch.setenv("AGENTCELL_MEDIA_TOKEN", TOKEN)
    assert [tool.name for tool in build_media_tools(None, root)] == NAMES

    monkeypatch.delenv(missing)

    assert build_media_tools(None, root) == []


def test_with_a_service_there_are_three_in_this_order(root: Path) -> None:
    # case 32
    service = MediaService(base_url="https://media.example.org", token=TOKEN)

    made = build_media_tools(service, root)

    assert [tool.name for tool in made] == NAMES == list(MEDIA_TOOLS)
    assert [tool.needs_approval for tool in made] == [True, True, False]
    assert [fact.permission for fact in MEDIA_TOOLS.values()] == ["execute", "execute", "read_only"]
    assert {(fact.category, fact.group) for fact in MEDIA_TOOLS.values()} == {("workflow", "media")}
    assert not [tool for tool in made if TOKEN in repr(tool) + str(tool.schema())]
    assert list(root.iterdir()) == []  # nothing is written before a job is asked for


def test_an_address_that_would_send_the_token_in_the_open_is_an_error(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTCELL_MEDIA_URL", "http://media.example.org")
    monkeypatch.setenv("AGENTCELL_MEDIA_TOKEN", TOKEN)

    with pytest.raises(GenerationError, match="unencrypted"):
        build_media_tools(None, root)


def test_what_is_no_configuration_is_told(root: Path) -> None:
    with pytest.raises(GenerationError, match="A dict was given"):
        build_media_tools({"base_url": "https://media.example.org"}, root)  # type: ignore[arg-type]


def bare(schema: Any) -> Any:
    """Return a schema without its descriptions."""
    if isinstance(schema, dict):
        return {key: bare(value) for key, value in schema.items() if key != "description"}
    return schema


def test_the_schemas_are_those_of_the_protocol() -> None:
    text = {"type": "string"}
    assert bare(media_arguments.IMAGE_PARAMETERS) == {
        "type": "object",
        "properties": {
            "prompt": text,
            "model": text,
            "size": text,
            "n": {"type": "integer", "minimum": 1, "maximum": 8},
            "input_images": {"type": "array", "items": text},
            "seed": {"type": "integer"},
        },
        "required": ["prompt"],
    }
    assert bare(media_arguments.VIDEO_PARAMETERS) == {
        "type": "object",
        "properties": {
            "prompt": text,
            "model": text,
            "input_image": text,
            "duration_seconds": {"type": "integer", "minimum": 1, "maximum": 60},
            "aspect_ratio": text,
            "negative_prompt": text,
            "seed": {"type": "integer"},
        },
        "required": ["prompt"],
    }
    assert bare(media_arguments.MODELS_PARAMETERS) == {
        "type": "object",
        "properties": {"include_upstream": {"type": "boolean"}},
    }


# -- arguments


@pytest.mark.parametrize(("n", "sent"), [(20, 8), (0, 1), (1, 1), (8, 8), (None, 1)])
def test_too_many_are_the_most_and_none_is_one(
    n: Any, sent: int, server: MediaServer, root: Path
) -> None:
    # cases 34 and 35
    image(server, root, n=n)

    assert server.posts[0].body["n"] == sent


def test_arguments_become_the_body(server: MediaServer, root: Path) -> None:
    # case 34
    image(server, root, n=20, input_images=["https://in.example/u1.png"], seed=-7)

    assert server.posts[0].body == {
        "prompt": "a fox",
        "wait": False,
        "n": 8,
        "inputImages": ["https://in.example/u1.png"],
        "seed": -7,
    }


def test_a_video_s_arguments_become_the_body(server: MediaServer, root: Path) -> None:
    # case 36
    server.job("success", files=[server.file("v.mp4", MP4)])

    use(
        tools(server, root)[NAMES[1]],
        prompt="w",
        input_image="https://in/f.png",
        duration_seconds=99,
        aspect_ratio="16:9",
        negative_prompt="blur",
    )

    assert server.posts[0].body == {
        "prompt": "w",
        "wait": False,
        "inputImage": "https://in/f.png",
        "durationSeconds": 60,
        "aspectRatio": "16:9",
        "negativePrompt": "blur",
    }
    assert files(root) == ["req-1-0.mp4"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (0, {"prompt": "   "}),  # case 33
        (1, {"model": "x"}),  # case 33
        (0, {}),
        (0, {"prompt": None}),
        (0, {"prompt": 5}),
        (0, {"prompt": ["a fox"]}),
        (0, {"prompt": "a", "n": -1}),  # case 35
        (0, {"prompt": "a", "n": 2.5}),  # case 35
        (0, {"prompt": "a", "n": "3"}),  # case 35
        (0, {"prompt": "a", "n": True}),
        (0, {"prompt": "a", "input_images": [1]}),  # case 35
        (0, {"prompt": "a", "input_images": ["https://in.example/u.png", 3]}),  # case 34
        (0, {"prompt": "a", "input_images": "https://in.example/u.png"}),
        (0, {"prompt": "a", "input_images": [""]}),
        (0, {"prompt": "a", "input_images": ["u1"]}),
        (0, {"prompt": "a", "input_images": ["file:///etc/passwd"]}),
        (0, {"prompt": "a", "input_images": ["/etc/passwd"]}),
        (0, {"prompt": "a", "input_images": ["../../x.png"]}),
        (0, {"prompt": "a", "input_images": ["https://u:p@in.example/u.png"]}),
        (0, {"prompt": "a", "input_images": ["data:image/png;base64,%%%"]}),
        (0, {"prompt": "a", "input_images": ["data:text/html;base64,YQ=="]}),
        (0, {"prompt": "a", "model": 5}),
        (0, {"prompt": "a", "size": [1024, 1024]}),
        (0, {"prompt": "a", "size": "large"}),
        (0, {"prompt": "a", "seed": "7"}),
        (0, {"prompt": "a", "seed": 1.0}),
        (0, {"prompt": "a", "seed": 2**63}),
        (0, {"prompt": "a", "seed": True}),
        (0, {"prompt": "a", "quality": "high"}),
        (1, {"prompt": "w", "input_image": 3}),
        (1, {"prompt": "w", "input_image": ["https://in/f.png"]}),
        (1, {"prompt": "w", "duration_seconds": -5}),
        (1, {"prompt": "w", "duration_seconds": "6"}),
        (1, {"prompt": "w", "duration_seconds": 6.5}),
        (1, {"prompt": "w", "aspect_ratio": "wide"}),
        (1, {"prompt": "w", "aspect_ratio": 1.78}),
        (1, {"prompt": "w", "negative_prompt": ["blur"]}),
        (1, {"prompt": "w", "n": 2}),
        (2, {"include_upstream": "true"}),  # case 52
        (2, {"include_upstream": 1}),
        (2, {"prompt": "a"}),
    ],
)
def test_wrong_arguments_are_errors_and_nothing_is_sent(
    tool: int, arguments: dict[str, Any], server: MediaServer, root: Path
) -> None:
    with pytest.raises((ToolError, GenerationError, AttachmentError)) as caught:
        use(tools(server, root)[NAMES[tool]], **arguments)

    assert server.requests == []
    assert len(str(caught.value)) < 500
    assert not (root / ".agentcell").exists()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
_WRONG = {
    "prompt": _JSON.filter(lambda value: not (isinstance(value, str) and value.strip())),
    "model": _JSON.filter(lambda value: value is not None and not isinstance(value, str)),
    "size": _JSON.filter(lambda value: value is not None and not isinstance(value, str)),
    "n": _JSON.filter(lambda value: value is not None and (type(value) is not int or value < 0)),
    "input_images": _JSON.filter(lambda value: value is not None and value != []),
    "seed": _JSON.filter(
        lambda value: value is not None and (type(value) is not int or abs(value) > 2**63)
    ),
    "another": _JSON,
}


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.sampled_from(sorted(_WRONG)).flatmap(
        lambda name: _WRONG[name].map(lambda value: {"prompt": "a fox"} | {name: value})
    )
)
@example({"prompt": "a fox", "size": "\ud800"})
def test_two_hundred_malformed_calls_are_typed_errors_and_no_requests(
    server: MediaServer, root: Path, arguments: dict[str, Any]
) -> None:
    with pytest.raises(AgentcellError):
        use(tools(server, root)[NAMES[0]], **arguments)

    assert server.requests == []


def test_a_local_file_of_the_workspace_may_be_named(server: MediaServer, root: Path) -> None:
    (root / "a.png").write_bytes(PNG)

    image(server, root, input_images=["a.png", str(root / "a.png")])

    sent = server.posts[0].body["inputImages"]
    assert len(sent) == 2
    assert all(one.startswith("data:image/png;base64,") for one in sent)
    assert PNG not in (root / ".agentcell" / FILE).read_bytes()


def test_a_file_that_was_just_made_may_be_the_start_of_the_next(
    server: MediaServer, root: Path
) -> None:
    media = tools(server, root)
    made = use(media[NAMES[0]], prompt="a fox")

    use(
        media[NAMES[0]],
        prompt="the same at night",
        input_images=[made.payload["artifacts"][0]["path"]],
    )

    assert server.posts[1].body["inputImages"][0].startswith("data:image/png;base64,")


def test_a_link_out_of_the_workspace_is_refused(
    server: MediaServer, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.png"
    outside.write_bytes(PNG)
    (root / "link.png").symlink_to(outside)

    with pytest.raises(AttachmentError):
        image(server, root, input_images=["link.png"])

    assert server.requests == []


def test_a_file_that_a_person_named_may_be_used(
    server: MediaServer, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "named.png"
    outside.write_bytes(PNG)
    access = AccessPolicy(root)
    access.name(outside)
    first, *_ = build_media_tools(service_at(server), root, access=access)

    use(first, prompt="its twin", input_images=[str(outside)])

    assert server.charged == 1


def test_a_session_s_budget_ledger_and_folder_hold_for_its_tools(
    server: MediaServer, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    session = Session()
    first, *_ = build_media_tools(
        service_at(server), generator=session.generator, access=session.access
    )
    session.budget = Budget(usd="0.10")
    with pytest.raises(BudgetExceeded):  # nobody knows what it will cost
        use(first, prompt="a fox")
    assert server.requests == []
    assert session.generator.ledger.unfinished() == ()

    session.budget = None
    use(first, prompt="a fox")

    assert files(root) == ["req-1-0.png"]
    assert session.generator.generations[0].request_id == "req-1"
    assert session.generator.ledger.find("req-1").state == "done"
