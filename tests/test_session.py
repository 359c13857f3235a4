from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentcell.assets.asset import ImageAsset, PdfAsset
from agentcell.assets.limits import OPENAI
from agentcell.errors import AttachmentError, BadRequest, FieldError, StreamTruncated, Unsupported
from agentcell.messages import MediaMessageBlock, Message, content_text
from agentcell.session import Session
from scripted import ScriptedModel


def picture(color: str = "red") -> ImageAsset:
    file = io.BytesIO()
    Image.new("RGB", (4, 3), color).save(file, "PNG")
    return ImageAsset.from_bytes(file.getvalue(), filename=f"{color}.png")


def media(messages: list[Message]) -> list[str]:
    return [block.tag for block in media_of(messages)]


def media_of(messages: list[Message]) -> list[MediaMessageBlock]:
    return [
        block
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if isinstance(block, MediaMessageBlock)
    ]


def texts(messages: list[Message]) -> list[str]:
    return [content_text(message["content"]) for message in messages]


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def session(model: ScriptedModel) -> Session:
    return Session(model)


def test_a_named_picture_goes_out_as_its_tag_and_once_as_itself(
    session: Session, model: ScriptedModel
) -> None:
    answer = session.ask(
        "What is on {receipt}?",
        values={"receipt": picture()},
        fields={"receipt": "IMAGE:Receipt"},
    )

    content = model.requests[0][-1]["content"]
    assert media(model.requests[0]) == ["[receipt_1 Receipt]"]
    assert content[-1].text == "What is on [receipt_1 Receipt]?"
    assert answer == "Hello"
    assert answer.usage is not None
    assert answer.usage.output_tokens == 2


def test_a_follow_up_carries_the_picture_in_its_first_place_only(
    session: Session, model: ScriptedModel
) -> None:
    receipt = picture()
    session.ask("See {receipt}", values={"receipt": receipt})
    session.ask("And the date?")
    session.ask("Again {receipt}", values={"receipt": receipt})

    assert [media(messages) for messages in model.requests] == [["[receipt_1 receipt]"]] * 3
    assert model.requests[2][-1]["content"] == "Again [receipt_1 receipt]"


def test_running_a_cell_again_sees_only_what_stands_before_it(
    session: Session, model: ScriptedModel
) -> None:
    for cell in ("a", "b", "c"):
        session.ask(f"question {cell}", cell_id=cell)
    session.ask("question b again", cell_id="b")
    session.ask("question d", cell_id="d")

    assert texts(model.requests[3]) == ["question a", "Hello", "question b again"]
    assert texts(model.requests[4])[::2] == [
        "question a",
        "question b again",
        "question c",
        "question d",
    ]


def test_a_fresh_start_is_seen_by_later_cells_and_keeps_the_old_branch(
    session: Session, model: ScriptedModel
) -> None:
    session.ask("one", cell_id="a")
    session.ask("two", cell_id="b", fresh=True)
    session.ask("three", cell_id="c")
    session.ask("two", cell_id="b")
    session.ask("three", cell_id="c")

    assert texts(model.requests[1]) == ["two"]
    assert texts(model.requests[2])[::2] == ["two", "three"]
    assert texts(model.requests[4])[::2] == ["one", "two", "three"]


def test_instructions_hold_until_they_are_changed(session: Session, model: ScriptedModel) -> None:
    session.ask("one", system="Be brief.")
    session.ask("two")
    session.ask("three", system="")
    session.ask("four")

    roles = [[m["content"] for m in r if m["role"] == "system"] for r in model.requests]
    assert roles == [["Be brief."], ["Be brief."], [], []]


def test_conversations_do_not_see_each_other(session: Session, model: ScriptedModel) -> None:
    session.ask("one", conversation="taxes")
    session.ask("two")

    assert texts(model.requests[1]) == ["two"]
    assert session.conversations == ("taxes", "main")


def test_a_failed_turn_is_kept_and_never_sent(session: Session, model: ScriptedModel) -> None:
    model.error = BadRequest("no", fix="yes")
    with pytest.raises(BadRequest):
        session.ask("one {x}", values={"x": picture()})
    model.error = None
    session.ask("two {x}", values={"x": picture()})

    assert [turn.status for turn in session.turns] == ["failed", "complete"]
    assert "no" in session.turns[0].error
    assert len(model.requests[1]) == 1
    assert media(model.requests[1]) == ["[x_1 x]"]


def test_an_answer_without_its_end_is_a_failure(session: Session, model: ScriptedModel) -> None:
    model.end = False

    with pytest.raises(StreamTruncated):
        session.ask("one")

    assert [turn.status for turn in session.turns] == ["failed"]


def test_a_stopped_answer_is_kept_marked_and_closed(session: Session, model: ScriptedModel) -> None:
    events: Any = session.stream(session.prepare("one"))
    next(events)
    events.close()
    session.ask("two")

    assert session.turns[0].status == "interrupted"
    assert session.turns[0].answer == "Hel"
    assert texts(model.requests[1]) == ["one", "Hel\n\n[The answer was stopped here.]", "two"]
    assert model.closed == 2


def test_preparing_sends_and_records_nothing(session: Session, model: ScriptedModel) -> None:
    session.prepare("one {x}", values={"x": picture()})

    assert model.requests == []
    assert session.turns == ()


def test_what_was_viewed_goes_with_the_next_question_and_again_with_its_cell(
    session: Session, model: ScriptedModel
) -> None:
    session.attach(picture(), name="plot", label="Plot")
    session.ask("one", cell_id="a")
    session.ask("two", cell_id="b", fresh=True)
    session.ask("one", cell_id="a")

    assert [media(r) for r in model.requests] == [["[plot_1 Plot]"], [], ["[plot_1 Plot]"]]


def test_a_forgotten_attachment_is_never_sent_again(session: Session, model: ScriptedModel) -> None:
    session.ask("see {x}", values={"x": picture()})
    session.forget("x_1")
    session.ask("two")

    assert media(model.requests[1]) == []
    assert session.attachments == ()
    with pytest.raises(AttachmentError, match="No attachment is called"):
        session.forget("x_1")


def test_a_changed_label_makes_a_new_tag(session: Session, model: ScriptedModel) -> None:
    given = {"x": picture()}
    session.ask("see {x}", values=given, cell_id="a")
    session.ask("see {x}", values=given, fields={"x": "IMAGE:Receipt"}, cell_id="a")

    assert media(model.requests[1]) == ["[x_2 Receipt]"]


def test_a_declared_field_without_a_value_is_told(session: Session, model: ScriptedModel) -> None:
    with pytest.raises(FieldError, match="'recipt'") as caught:
        session.prepare("x", values={"receipt": picture()}, fields={"recipt": "IMAGE:R"})

    assert "receipt" in caught.value.fix
    assert model.requests == []


def test_a_text_that_is_given_but_not_named_is_not_lost(
    session: Session, model: ScriptedModel
) -> None:
    session.ask("Answer.", values={"q": "How much?"}, fields={"q": "TEXT:Question"})

    assert texts(model.requests[0]) == ["Answer.\n\nQuestion: How much?"]


def test_a_wrong_kind_is_refused_before_anything_is_sent(
    session: Session, model: ScriptedModel
) -> None:
    with pytest.raises(FieldError, match="PDF"):
        session.ask("{x}", values={"x": picture()}, fields={"x": "PDF:Invoice"})

    assert model.requests == []
    assert session.turns == ()


def test_a_model_that_takes_no_pdf_refuses_before_anything_is_sent(pdf: Any) -> None:
    model = ScriptedModel(pdf_input=False)

    with pytest.raises(Unsupported, match="scripted/model does not support modality 'PDF'"):
        Session(model).ask("{x}", values={"x": pdf})

    assert model.requests == []


@pytest.fixture
def pdf(tmp_path: Path) -> Any:
    path = tmp_path / "a.pdf"
    Image.new("RGB", (20, 20)).save(path, "PDF")
    return PdfAsset.from_path(path)


def test_braces_that_name_nothing_stay_and_a_slip_is_hinted(session: Session) -> None:
    request = session.prepare('{"a": 1} {recipt} {len}', values={"receipt": "x", "len": len})

    assert request.question.text == '{"a": 1} {recipt} {len}'
    assert request.question.hints == ("{recipt} stays as typed: did you mean {receipt}?",)


async def _ask_twice(session: Session) -> list[str]:
    return [await session.aask("one"), await session.aask("two")]


def test_the_async_twin_does_the_same(session: Session, model: ScriptedModel) -> None:
    import asyncio

    assert asyncio.run(_ask_twice(session)) == ["Hello", "Hello"]
    assert texts(model.requests[1]) == ["one", "Hello", "two"]


def test_listeners_hear_of_changes_until_they_leave(session: Session) -> None:
    heard: list[int] = []
    leave = session.on_change(lambda: heard.append(1))
    session.ask("one")
    leave()
    session.ask("two")

    assert heard == [1]


def test_the_session_says_briefly_what_it_holds(session: Session) -> None:
    session.ask("see {x}", values={"x": picture()})

    assert repr(session) == "Session(scripted/model, 1 turns, 1 attachments)"


class Limited(ScriptedModel):
    """Takes what OpenAI takes."""

    media_limits = OPENAI


def test_what_a_model_does_not_take_is_converted_and_told_and_history_keeps_the_original(
    tmp_path: Path,
) -> None:
    Image.new("RGB", (30, 20), "green").save(tmp_path / "scan.bmp")
    session = Session(model := Limited())
    request = session.prepare(
        "{x}", values={"x": ImageAsset.from_path(tmp_path / "scan.bmp")}, cell_id="a"
    )
    list(session.stream(request))

    (sent,) = [b for b in model.requests[0][0]["content"] if isinstance(b, MediaMessageBlock)]
    assert sent.asset.mime_type == "image/png"
    assert "scan.bmp is sent as a PNG image" in request.notes[0]
    assert session.turns[0].attachments[0].asset.mime_type == "image/bmp"


def test_a_pdf_can_go_as_images_of_its_pages_or_be_refused(tmp_path: Path) -> None:
    page = Image.new("RGB", (200, 300), "white")
    page.save(tmp_path / "two.pdf", "PDF", save_all=True, append_images=[page])
    given = {"x": PdfAsset.from_path(tmp_path / "two.pdf")}
    model = ScriptedModel(pdf_input=False)
    session = Session(model)

    with pytest.raises(Unsupported):
        session.ask("{x}", values=given)
    session.ask("{x}", values=given, pdf_as="images")
    with pytest.raises(AttachmentError, match="holds no text"):
        session.ask("{x}", values=given, pdf_as="text")

    kinds = [
        block.asset.mime_type if isinstance(block, MediaMessageBlock) else block.text
        for block in model.requests[0][0]["content"]
    ]
    assert [kind for kind in kinds if kind.startswith(("image", "Page"))] == [
        "Page 1 of [x_1 x]:",
        kinds[2],
        "Page 2 of [x_1 x]:",
        kinds[4],
    ]
    assert kinds[2].startswith("image/")


def test_detail_scales_a_large_picture_down(session: Session, model: ScriptedModel) -> None:
    file = io.BytesIO()
    Image.new("RGB", (4000, 1000), "white").save(file, "PNG")
    big = {"x": ImageAsset.from_bytes(file.getvalue(), filename="big.png")}
    session.ask("{x}", values=big, detail="auto", conversation="a")
    session.ask("{x}", values=big, conversation="b")

    widths = [block.asset.width for r in model.requests for block in media_of(r)]
    assert widths == [1568, 4000]
