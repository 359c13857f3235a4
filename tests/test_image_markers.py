from __future__ import annotations

import base64
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import media
from agentcell import Session
from agentcell.assets.access import AccessPolicy
from agentcell.assets.asset import ImageAsset
from agentcell.errors import AttachmentError
from agentcell.messages import Message, TextMessageBlock
from agentcell.prompts.image_markers import (
    MarkerError,
    MarkerLimits,
    attach_marked,
    data_of,
    find_markers,
    join_markers,
    marked_images,
    split_markers,
)
from agentcell.testing import FakeModel
from agentcell_magics import current_session


@pytest.fixture
def access(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AccessPolicy:
    for number, color in enumerate(("red", "blue", "green", "black", "white"), 1):
        (tmp_path / f"{number}.png").write_bytes(media.png(color))
    (tmp_path / "text.png").write_text("no pixels, only words")
    monkeypatch.chdir(tmp_path)
    return AccessPolicy(tmp_path)


def fault(references: list[str], access: AccessPolicy, limits: MarkerLimits | None = None) -> str:
    with pytest.raises(MarkerError) as caught:
        marked_images(references, access, limits)
    assert caught.value.fix
    return caught.value.fault


# -- what is a marker


@pytest.mark.parametrize(
    ("text", "rest", "references"),
    [
        (  # case 20
            "Check [IMAGE:/t/a.png] and [IMAGE:https://e/b.jpg]",
            "Check  and",
            ["/t/a.png", "https://e/b.jpg"],
        ),
        ("hello [IMAGE:] world", "hello [IMAGE:] world", []),  # case 21
        ("hello [IMAGE:  ] world", "hello [IMAGE:  ] world", []),
        ("broken [IMAGE:/t/a.png", "broken [IMAGE:/t/a.png", []),  # case 22
        ("[image:/a.png]", "[image:/a.png]", []),  # case 23
        ("x [IMAGE:/a]b.png] y", "x b.png] y", ["/a"]),  # case 24
        ("[IMAGE: a.png ]", "", ["a.png"]),
        ("", "", []),
        ("  kept as it is  ", "  kept as it is  ", []),
    ],
)
def test_markers_are_taken_out_of_a_text(text: str, rest: str, references: list[str]) -> None:
    assert split_markers(text) == (rest, references)


def test_markers_are_put_below_a_text() -> None:  # case 30
    assert join_markers("see", ["d1", "d2"]) == "see\n\n[IMAGE:d1]\n[IMAGE:d2]"
    assert join_markers("", ["d1"]) == "[IMAGE:d1]"
    assert split_markers(join_markers("see", ["d1", "d2"])) == ("see", ["d1", "d2"])


def test_a_marker_in_code_stays_as_it_was_typed() -> None:
    text = "write `[IMAGE:a.png]` like [IMAGE:b.png]\n```\n[IMAGE:c.png]\n```\n"

    assert [marker.reference for marker in find_markers(text)] == ["b.png"]


# -- how many, how large, from where


def test_more_images_than_are_taken_are_an_error(access: AccessPolicy) -> None:  # case 26
    messages: list[Message] = [
        {"role": "user", "content": " ".join(f"[IMAGE:{number}.png]" for number in (1, 2, 3))},
        {"role": "user", "content": "[IMAGE:4.png] [IMAGE:5.png]"},
    ]

    with pytest.raises(MarkerError, match=r"5 images .* at most 4") as caught:
        attach_marked(messages, access)

    assert caught.value.fault == "too_many_images"
    assert len(attach_marked(messages, access, MarkerLimits(max_images=5))) == 2


@pytest.mark.parametrize(("given", "effective"), [(0, 1), (-3, 1), (4, 4), (99, 16)])
def test_limits_outside_their_range_are_the_nearer_end(given: int, effective: int) -> None:
    assert MarkerLimits(max_images=given).max_images == effective  # case 27


@pytest.mark.parametrize(("given", "effective"), [(0, 1), (8, 8), (50, 20)])
def test_so_are_sizes(given: int, effective: int) -> None:  # case 27
    assert MarkerLimits(max_image_size_mb=given).max_image_size_mb == effective


def test_only_what_people_said_is_read_and_counted(access: AccessPolicy) -> None:  # case 25
    others: list[Message] = [
        {"role": role, "content": "[IMAGE:1.png] " * 9} for role in ("system", "assistant", "tool")
    ]
    asked: Message = {"role": "user", "content": "see [IMAGE:2.png]"}

    *same, changed = attach_marked([*others, asked], access)

    assert same == others
    text, image = changed["content"]
    assert text == TextMessageBlock("see")
    assert isinstance(image, ImageAsset)
    assert image.filename == "2.png"
    assert asked["content"] == "see [IMAGE:2.png]"


def test_a_text_of_markers_alone_becomes_images_alone(access: AccessPolicy) -> None:
    made = attach_marked([{"role": "user", "content": "[IMAGE:1.png][IMAGE:2.png]"}], access)

    assert [type(part) for part in made[0]["content"]] == [ImageAsset, ImageAsset]


def test_a_data_address_is_taken_apart() -> None:  # case 28
    kind, data = data_of("data:image/PNG;base64,iVBORw0KGgo=")

    assert kind == "image/png"
    assert base64.b64encode(data).decode() == "iVBORw0KGgo="


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("data:image/png,abcd", "invalid_marker"),
        ("data:image/png", "invalid_marker"),
        ("data:image/png;base64,%%%", "invalid_marker"),
        ("data:image/png;base64,YQ=", "invalid_marker"),
        ("data:text/plain;base64,YQ==", "unsupported_mime"),
        ("data:;base64,YQ==", "unsupported_mime"),
        ("data:image/svg+xml;base64,YQ==", "unsupported_mime"),
        ("https://example.org/a.png", "remote_fetch_disabled"),  # case 29
        ("HTTP://example.org/a.png", "remote_fetch_disabled"),
        ("gone.png", "image_source_not_found"),
        (".", "image_source_not_found"),
        ("/dev/null", "image_source_not_found"),
    ],
)
def test_what_is_wrong_with_a_marker_is_told_in_one_word(
    access: AccessPolicy, reference: str, expected: str
) -> None:
    assert fault([reference], access) == expected


def test_no_content_of_a_data_address_stands_in_an_error(access: AccessPolicy) -> None:
    with pytest.raises(AttachmentError) as caught:
        marked_images(["data:image/png;base64,U0VDUkVUU0VDUkVU"], access)

    assert "U0VDUkVU" not in str(caught.value)
    assert "SECRET" not in str(caught.value)


def test_a_large_file_is_refused_before_it_is_read(access: AccessPolicy) -> None:
    with (access.root / "large.png").open("wb") as file:
        file.truncate(2 * 1024 * 1024)

    assert fault(["large.png"], access, MarkerLimits(max_image_size_mb=1)) == "image_too_large"


def test_the_bytes_decide_what_a_file_is(access: AccessPolicy) -> None:  # case 31
    with pytest.raises(AttachmentError, match=r"text\.png"):
        marked_images(["text.png"], access)


def test_a_content_that_is_no_image_is_the_markers_fault_too(access: AccessPolicy) -> None:
    cut = "data:image/png;base64,iVBORw0KGgo="

    assert fault(["text.png"], access) == "unsupported_mime"
    assert fault([cut], access) == "invalid_marker"


def test_a_web_address_goes_to_the_models_service_where_that_is_allowed(
    access: AccessPolicy,
) -> None:
    limits = MarkerLimits(allow_remote_fetch=True)

    image = marked_images(["https://example.org/a.png"], access, limits)[0]

    assert (image.source_kind, image.url) == ("url", "https://example.org/a.png")


# -- in a cell


@pytest.fixture
def session(shell: InteractiveShell, access: AccessPolicy) -> Session:
    del shell, access  # they are made before it
    current = current_session()
    current.model = FakeModel("Seen.")
    return current


def asked(session: Session) -> Message:
    assert isinstance(session.model, FakeModel)
    return session.model.requests[-1].messages[-1]


def test_a_marker_in_a_cell_attaches_its_image_and_leaves_its_tag(
    shell: InteractiveShell, session: Session
) -> None:
    result = shell.run_cell("%%agent\nCompare [IMAGE:1.png] with [IMAGE:2.png], then 1 again.")

    assert result.success
    content = asked(session)["content"]
    assert content[-1].text == (
        "Compare [attachment_1_1 attachment_1] with [attachment_2_1 attachment_2], then 1 again."
    )
    assert [b.asset.filename for b in content if hasattr(b, "asset")] == ["1.png", "2.png"]


def test_a_marker_and_a_mention_of_one_file_are_one_attachment(
    shell: InteractiveShell, session: Session
) -> None:
    assert shell.run_cell("%%agent\nIs [IMAGE:1.png] the same as @1.png ?").success

    content = asked(session)["content"]
    assert sum(hasattr(block, "asset") for block in content) == 1


def test_a_marker_that_nobody_typed_stays_text(shell: InteractiveShell, session: Session) -> None:
    shell.user_ns["page"] = "see [IMAGE:1.png]"

    assert shell.run_cell("%%agent\nSum this up: {page}").success
    assert asked(session)["content"] == "Sum this up: see [IMAGE:1.png]"

    code = "get_ipython().run_cell_magic('agent', '', page)"
    assert shell.run_cell(code).success
    assert asked(session)["content"] == "see [IMAGE:1.png]"


def test_neither_does_one_in_an_answer_attach_anything(
    shell: InteractiveShell, session: Session
) -> None:
    session.model = FakeModel("Look at [IMAGE:1.png].", "Again.")
    shell.run_cell("%%agent -o first\nHello")

    assert shell.run_cell("%%agent\nGo on").success
    messages = session.model.requests[-1].messages
    assert not any(isinstance(message["content"], list) for message in messages)


def test_a_marker_that_cannot_be_used_fails_the_cell_and_sends_nothing(
    shell: InteractiveShell, session: Session
) -> None:
    result = shell.run_cell("%%agent\nSee [IMAGE:gone.png]")

    assert isinstance(result.error_in_exec, MarkerError)
    assert isinstance(session.model, FakeModel)
    assert session.model.requests == []


def test_from_python_markers_are_text_unless_they_are_given_as_mentions(
    access: AccessPolicy,
) -> None:
    model = FakeModel("Seen.")
    session = Session(model)
    text = "see [IMAGE:1.png]"

    session.ask(text)
    assert model.requests[-1].messages[-1]["content"] == text
    image = marked_images(["1.png"], access)[0]
    session.ask(text, mentions={"[IMAGE:1.png]": ("shot", image)})
    assert model.requests[-1].messages[-1]["content"][-1].text == "see [shot_1 shot]"
