from __future__ import annotations

import io
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.events import ModelResponseType
from agentcell.adapters.model import Model
from agentcell.assets.asset import ImageAsset, PdfAsset
from agentcell.assets.limits import OPENAI
from agentcell.errors import (
    AttachmentError,
    BadRequest,
    CellError,
    FieldError,
    ModelError,
    StreamTruncated,
    Unsupported,
)
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


def test_a_question_that_holds_what_no_service_takes_is_refused(
    session: Session, model: ScriptedModel
) -> None:
    for text, options in [
        ("a\ud800b", {}),
        ("a\0b", {}),
        ("hi", {"system": "\ud800"}),
    ]:
        with pytest.raises(CellError, match=r"half a character|NUL"):
            session.ask(text, **options)
    with pytest.raises(FieldError, match="'x' holds half a character"):
        session.ask("{x}", values={"x": "\udfff"})

    assert model.requests == []


def test_an_answer_with_half_a_character_can_be_sent_again(
    session: Session, model: ScriptedModel
) -> None:
    model.pieces = ("a\ud83d", "\ude00 \ud800")
    answer = session.ask("one")
    session.ask("two")

    assert answer == "a😀 \ufffd"
    assert texts(model.requests[1])[1] == "a😀 \ufffd"


def test_each_conversation_goes_on_with_the_tag_that_it_knows(
    session: Session, model: ScriptedModel
) -> None:
    session.ask("see {r}", values={"r": picture()}, conversation="a")
    session.ask("see {x}", values={"x": picture()}, conversation="b")
    session.ask("again {r}", values={"r": picture()}, conversation="a")

    assert [media(request) for request in model.requests] == [["[r_1 r]"], ["[x_1 x]"], ["[r_1 r]"]]
    assert model.requests[2][-1]["content"] == "again [r_1 r]"


def test_what_is_attached_again_beside_something_new_is_named(
    session: Session, model: ScriptedModel
) -> None:
    session.ask("see", attach={"a": picture()})
    session.ask("compare", attach={"a": picture(), "b": picture("blue")})

    assert texts(model.requests[1])[-1] == "Attached image [b_1 b]:\n[b_1 b]\n[a_1 a]\ncompare"


def test_a_label_that_a_tag_cannot_hold_gives_the_same_tag_each_time(
    session: Session, model: ScriptedModel
) -> None:
    for _ in range(3):
        session.ask("{x}", values={"x": picture()}, fields={"x": "IMAGE:a [b] c"}, fresh=True)

    assert [media(request) for request in model.requests] == [["[x_1 a (b) c]"]] * 3


@pytest.fixture
def pages(tmp_path: Path) -> dict[str, Any]:
    """Two scanned PDFs, of different sizes."""
    for number in (1, 2):
        Image.new("RGB", (20 * number, 30), "white").save(tmp_path / f"{number}.pdf", "PDF")
    return {f"p{number}": PdfAsset.from_path(tmp_path / f"{number}.pdf") for number in (1, 2)}


def types(messages: list[Message]) -> list[str]:
    return [block.asset.mime_type for block in media_of(messages)]


def test_an_attachment_goes_out_again_as_it_did_before(pages: dict[str, Any]) -> None:
    session = Session(model := ScriptedModel(pdf_input=False))
    session.ask("{p1}", values=pages, pdf_as="images", cell_id="a")
    session.ask("And the date?", cell_id="b")
    with pytest.raises(Unsupported):  # this one is another
        session.ask("{p2}", values=pages, cell_id="c")
    with pytest.raises(Unsupported):  # this one is told otherwise
        session.ask("{p1}", values=pages, pdf_as="pdf", cell_id="c")

    assert [types(request) for request in model.requests] == [["image/png"]] * 2


def test_a_form_is_of_the_cell_s_own_attachments(pages: dict[str, Any]) -> None:
    session = Session(model := ScriptedModel())
    session.ask("{p1}", values=pages)
    session.ask("{p2}", values=pages, pdf_as="images")
    session.ask("{p1} again", values=pages, pdf_as="images")

    pdf, image = "application/pdf", "image/png"
    assert [types(request) for request in model.requests] == [[pdf], [pdf, image], [image, image]]


def test_what_was_done_to_an_attachment_is_said_once(pages: dict[str, Any]) -> None:
    session = Session(ScriptedModel())
    notes = []
    for text, pdf_as in [
        ("{p1}", "images"),
        ("And the date?", None),
        ("{p1}", None),
        ("{p1}", "pdf"),
        ("{p1}", "images"),
    ]:
        request = session.prepare(text, values=pages, pdf_as=pdf_as)
        list(session.stream(request))
        notes.append(len(request.notes))

    assert notes == [1, 0, 0, 0, 1]


def test_an_unknown_form_or_detail_is_told_also_without_an_attachment(session: Session) -> None:
    with pytest.raises(AttachmentError, match="'huge'"):
        session.prepare("hi", detail="huge")
    with pytest.raises(AttachmentError, match="'word'"):
        session.prepare("hi", pdf_as="word")


class Whole(Model):
    """A third party's: only `invoke`, which does as it is told."""

    def __init__(self, result: Any) -> None:
        super().__init__("whole", capabilities=ModelCapabilities(image_input=True))
        self.result = result

    def invoke(self, *_: Any, **__: Any) -> Any:
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


@pytest.mark.parametrize(
    ("result", "raised"),
    [
        (KeyError("bug"), KeyError),
        (BadRequest("no", fix="yes"), BadRequest),
        (None, ModelError),
        ({"type": "content", "content": "x"}, ModelError),
    ],
)
def test_a_model_that_fails_before_its_first_event_leaves_a_failed_turn(
    result: Any, raised: type[Exception]
) -> None:
    session = Session(Whole(result))
    with pytest.raises(raised):
        session.ask("one")

    assert [turn.status for turn in session.turns] == ["failed"]


def test_a_model_with_invoke_alone_answers() -> None:
    result = {"type": ModelResponseType.CONTENT, "content": "fine"}

    assert Session(Whole(result)).ask("one") == "fine"


def test_hints_are_few_and_each_is_said_once(session: Session) -> None:
    values = {f"variable_{n}": n for n in range(200)}
    names = " ".join(f"{{variable_{n}x}}" for n in range(3000)) + " {variable_0x}"
    hints = session.prepare(names, values=values).question.hints

    assert len(hints) == len(set(hints)) == 3
    assert hints[0] == "{variable_0x} stays as typed: did you mean {variable_0}?"


def test_a_picture_that_changed_where_it_was_seen_goes_out_as_it_is_now(
    session: Session, model: ScriptedModel
) -> None:
    session.attach(picture("red"), name="plot", place="plot.png")
    session.attach(picture("blue"), name="plot", place="plot.png")
    session.ask("one", cell_id="a")
    session.attach(picture("green"), name="plot", place="plot.png")
    session.ask("one", cell_id="a")
    session.ask("two", cell_id="b", fresh=True)

    seen = [[b.asset.filename for b in media_of(request)] for request in model.requests]
    assert seen == [["blue.png"], ["green.png"], []]


def test_a_picture_waits_until_a_question_with_it_is_answered(
    session: Session, model: ScriptedModel
) -> None:
    session.attach(picture(), name="plot")
    model.error, model.pieces = BadRequest("no", fix="yes"), ()
    with pytest.raises(BadRequest):
        session.ask("one")
    stopped: Any = session.stream(session.prepare("one"))
    model.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        next(stopped)
    model.error, model.pieces = None, ("Hello",)
    session.ask("one")
    session.ask("two", fresh=True)

    assert [media(request) for request in model.requests] == [["[plot_1 plot]"]] * 3 + [[]]
    assert [turn.status for turn in session.turns][:2] == ["failed", "interrupted"]


def test_pictures_of_other_places_all_wait(session: Session, model: ScriptedModel) -> None:
    for color in ("red", "blue"):
        session.attach(picture(color), name="plot", place=color)
        session.attach(picture(color), name="python")
    session.ask("one")

    assert len(media(model.requests[0])) == 2


def test_a_cell_that_moves_to_another_conversation_leaves_the_first(session: Session) -> None:
    session.ask("one", cell_id="a")
    session.ask("one", cell_id="a", conversation="side")

    assert session.conversations == ("side",)


def test_the_same_content_is_kept_once_however_often_it_is_read(
    session: Session, tmp_path: Path
) -> None:
    Image.effect_noise((300, 300), 90).save(tmp_path / "a.png")
    for number in range(3):
        asset = ImageAsset.from_path(tmp_path / "a.png")
        session.ask("{x}", values={"x": asset}, fresh=True, conversation=str(number))

    kept = {id(turn.attachments[0].asset.snapshot) for turn in session.turns}
    assert len(kept) == 1


def test_many_threads_may_ask_at_once(session: Session) -> None:
    def work(number: int) -> None:
        for step in range(10):
            own = picture("red") if step % 2 else ImageAsset.from_bytes(png_of(number, step))
            session.ask("see {x}", values={"x": own}, conversation=str(number % 3))
            session.attach(own)
            assert session.usage.output_tokens
            assert repr(session)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))

    tags = [block.tag for block in session.attachments]
    assert len(session.turns) == 80
    assert len(tags) == len(set(tags))


def png_of(number: int, step: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (number + 1, step + 1)).save(file, "PNG")
    return file.getvalue()


def test_a_session_can_be_shown_whatever_the_environment_says() -> None:
    os.environ["AGENTCELL_MODEL"] = "nosuch/x"

    assert repr(Session()) == "Session(nosuch/x, 0 turns, 0 attachments)"


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
