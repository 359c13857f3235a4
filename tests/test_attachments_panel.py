"""The attachments panel without a browser: what its cards say, and what it does when asked."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from agentcell import ImageAsset, LegacyOpenAIModel, OpenAIModel, PdfAsset, Session, set_price
from agentcell.adapters.pricing import forget_price
from agentcell.errors import AttachmentError
from agentcell.testing import FakeModel
from agentcell.widgets import AttachmentsPanel
from agentcell.wording import choose
from agentcell_widgets.panel.media_words import described
from panels import GUARD, Page

VIEW = "application/vnd.jupyter.widget-view+json"
WITH_KEY = "https://example.com/a.png?key=secret"


def png(color: str = "green", size: tuple[int, int] = (60, 40)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, "PNG")
    return file.getvalue()


def pdf(pages: int) -> bytes:
    file = io.BytesIO()
    drawn = [Image.new("RGB", (100, 140), "white") for _ in range(pages)]
    drawn[0].save(file, "PDF", save_all=True, append_images=drawn[1:])
    return file.getvalue()


def image(color: str = "green", filename: str | None = None) -> ImageAsset:
    return ImageAsset.from_bytes(png(color), filename=filename)


VARIABLES: dict[str, Any] = {
    "shot": Image.new("RGB", (12, 8), "red"),
    "several": [image("red", "r.png"), image("blue", "b.png")],
    "text": "only text",
    "_hidden": image(),
    "number": 7,
}


@pytest.fixture
def session() -> Session:
    return Session(model=OpenAIModel(model_name="gpt-4.1", api_key="no-key"))


@pytest.fixture
def panel(session: Session) -> Iterator[AttachmentsPanel]:
    panel = AttachmentsPanel(session, variables=lambda: VARIABLES)
    yield panel
    panel.close()


@pytest.fixture
def page(panel: AttachmentsPanel) -> Page:
    return Page(panel)


def cards(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.ask("hello")["cards"]
    return found


def test_a_session_alone_is_enough() -> None:
    panel = AttachmentsPanel(Session())

    assert panel.state()["cards"] == []
    panel.close()


def test_a_card_says_what_it_is_what_it_comes_to_and_how_it_goes(
    session: Session, page: Page
) -> None:
    tag = session.attach(image(filename="a.png"), name="a", label="Receipt")

    (card,) = cards(page)

    assert (card["tag"], card["label"], card["waits"]) == (tag, "Receipt", True)
    assert card["facts"].startswith("PNG image · 60 × 40 px · ")
    assert card["estimate"].startswith("about 255 tokens · $0.0005")
    assert card["going"] == "goes as an image"
    assert page.ask("hello")["total"] == "about 255 tokens · $0.0005"


GOING = [
    (OpenAIModel(model_name="gpt-4.1", api_key="k"), "goes as a PDF", ""),
    (LegacyOpenAIModel(model_name="gpt-4o", api_key="k"), "", "refused: openai-chat/gpt-4o does"),
    ("local", "goes as a PDF", ""),
]


@pytest.mark.parametrize(("model", "going", "refused"), GOING)
def test_a_document_goes_as_the_model_takes_it_or_says_why_not(
    session: Session, page: Page, model: Any, going: str, refused: str
) -> None:
    session.model = model
    session.attach(PdfAsset.from_bytes(pdf(3)), name="book")

    (card,) = cards(page)

    assert card["pages"] == 3
    assert card.get("going", "") == going
    assert card.get("refused", "").startswith(refused)


def test_the_estimate_follows_the_chosen_model(session: Session, page: Page) -> None:
    session.attach(image(), name="a")
    before = cards(page)[0]["estimate"]
    set_price("fake/dear", input=10_000, output=1)
    try:
        session.model = FakeModel(model_name="dear")
        after = page.event("state", model="fake/dear")["cards"][0]["estimate"]
    finally:
        forget_price("fake/dear")

    assert "$" in after
    assert after != before


def test_without_a_model_the_cards_are_there_and_say_why(
    session: Session, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.attach(image(), name="a")
    session.model = None
    monkeypatch.setenv("AGENTCELL_MODEL", "nobody/nothing")
    state = page.ask("hello")

    assert len(state["cards"]) == 1
    assert state["model"] or state["trouble"]


def test_a_change_is_told_once_and_turns_alone_are_not(session: Session, page: Page) -> None:
    session.model = FakeModel("Yes.")
    page.event("state", model=session.model_name)
    session.attach(image(), name="a")
    page.wait(lambda sent: _waits(sent) == [True])
    session.ask("Is it green?")
    page.wait(lambda sent: _waits(sent) == [False])
    session.ask("And now?")
    session.attach(image("blue"), name="b")
    page.wait(lambda sent: _waits(sent) == [False, True])

    assert [_waits(sent) for sent, _ in page.sent] == [[], [True], [False], [False, True]]


def _waits(sent: dict[str, Any]) -> list[bool]:
    return [card["waits"] for card in sent["payload"]["cards"]]


def test_pictures_are_sent_on_request_and_are_no_state(session: Session, page: Page) -> None:
    tag = session.attach(image(filename="a.png"), name="a")
    small = page.ask("picture", {"tag": tag})
    large = page.ask("picture", {"tag": tag, "large": True})

    assert small["alt"] == "a.png: PNG image, 60 × 40 px"
    for reply in (small, large):
        with Image.open(io.BytesIO(page.buffers_of(reply)[0])) as picture:
            assert picture.size == (60, 40) == (reply["width"], reply["height"])
    assert "bytes" not in str(page.panel.get_state().keys())


def test_a_document_s_pages_are_sent_one_by_one(session: Session, page: Page) -> None:
    tag = session.attach(PdfAsset.from_bytes(pdf(2)), name="book")

    assert "page 2 of 2" in page.ask("picture", {"tag": tag, "page": 2})["alt"]
    assert "2 page(s); page 3" in page.refusal("picture", {"tag": tag, "page": 3})
    assert "1 to 100,000" in page.refusal("picture", {"tag": tag, "page": 0})


def test_an_address_has_a_card_without_a_picture_and_without_its_key(
    session: Session, page: Page
) -> None:
    tag = session.attach(ImageAsset.from_url(WITH_KEY), name="remote")
    (card,) = cards(page)

    assert card["has_picture"] is False
    assert card["going"] == "goes by its address, which the service reads"
    assert "elsewhere" in page.ask("picture", {"tag": tag})["problem"]
    assert "secret" not in str(card) + repr(page.panel)


def test_two_files_of_one_name_are_two_and_the_same_file_is_one(page: Page) -> None:
    tags = [
        page.upload(png(color), "photo.png")["payload"]["tags"] for color in ("red", "blue", "red")
    ]

    assert tags == [["[photo_1 photo.png]"], ["[photo_2 photo.png]"], ["[photo_1 photo.png]"]]
    assert len(cards(page)) == 2


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"Dear reader", "letter.png holds text, not an image or a PDF"),
        (b"<html>", "letter.png holds a web page"),
        (b"%PDF-1.4 broken", "letter.png"),
        (b"\x89PNG\r\n\x1a\n" + b"x" * 40, "letter.png"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_its_name(
    page: Page, data: bytes, said: str
) -> None:
    reply = page.upload(data, "letter.png")

    assert not reply["ok"]
    assert said in f"{reply['problem']} {reply['fix']}"
    assert cards(page) == []


def test_a_type_is_told_by_content_and_the_name_that_lies_is_told_of(page: Page) -> None:
    page.upload(pdf(1), "picture.png")
    (card,) = cards(page)

    assert card["is_pdf"]
    assert "picture.png holds a PDF; it is sent as application/pdf." in card["notes"]


def test_a_path_a_variable_and_a_list_are_attached_by_name(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "Plan of site.png"
    file.write_bytes(png("gray"))

    by_path = page.ask("add", {"place": str(file)})["tags"]
    by_name = page.ask("add", {"place": "shot"})["tags"]
    by_slot = page.ask("add", {"place": "{several}"})["tags"]

    assert by_path == ["[Plan_of_site_1 Plan of site.png]"]
    assert by_name == ["[shot_1 shot]"]
    assert by_slot == ["[several_1 r.png]", "[several_2 b.png]"]


def test_what_is_at_a_place_that_waits_is_looked_at_again(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "plot.png"
    file.write_bytes(png("red"))
    page.ask("add", {"place": str(file)})
    file.write_bytes(png("blue"))
    page.ask("add", {"place": str(file)})

    assert [block.tag for block in page.panel.session.waiting] == ["[plot_2 plot.png]"]


@pytest.mark.parametrize(
    ("place", "kind", "said"),
    [
        ("", "", "Nothing was named."),
        ("text", "", "text"),
        ("number", "", "number"),
        ("{nothing}", "", "There is no variable 'nothing'"),
        ("no/such/file.png", "", "There is no folder"),
        ("https://example.org/17", "", "choose image or PDF beside it."),
        ("ftp://example.org/a.png", "", "ftp:"),
        ("https://example.org/a.png", "video", "one of , image, pdf was expected"),
        ("data:text/plain,hello", "", "holds text"),
        ("\0", "", "NUL"),
    ],
)
def test_what_cannot_be_attached_is_refused(page: Page, place: str, kind: str, said: str) -> None:
    assert said in page.refusal("add", {"place": place, "kind": kind})
    assert cards(page) == []


def test_only_variables_that_could_be_attached_are_offered(page: Page) -> None:
    assert page.ask("hello")["names"] == ["several", "shot"]


def test_a_class_alone_knows_no_variables() -> None:
    panel = AttachmentsPanel(Session())
    page = Page(panel)

    assert page.ask("hello")["names"] == []
    assert "shot" in page.refusal("add", {"place": "shot"})
    panel.close()


def test_what_is_removed_goes_out_no_more(session: Session, page: Page) -> None:
    kept = session.attach(image("red"), name="kept")
    gone = session.attach(image("blue"), name="gone")

    reply = page.ask("remove", {"tag": gone})

    assert [block.tag for block in session.attachments] == [kept]
    assert gone in reply["notice"]


def test_what_was_removed_by_mistake_is_brought_back_as_it_was(
    session: Session, page: Page
) -> None:
    session.model = FakeModel("A plan.")
    sent = session.attach(image("red"), name="sent", label="Plan")
    session.ask("What is it?")
    waits = session.attach(image("blue"), name="waits", label="Map")
    for tag in (sent, waits):
        page.ask("remove", {"tag": tag})
    assert [block.tag for block in session.attachments] == []

    back = [page.ask("bring-back", {"tag": tag}) for tag in (sent, waits)]

    assert [one["tag"] for one in back] == [sent, waits]
    assert back[0]["notice"] == f"{sent} is back."
    assert [block.tag for block in session.attachments] == [sent, waits]
    assert [block.tag for block in session.waiting] == [waits]
    assert session.attachments[1].description == "Map"
    assert "none of those that were removed" in page.refusal("bring-back", {"tag": sent})


def test_the_order_is_that_in_which_they_go_out(session: Session, page: Page) -> None:
    tags = [session.attach(image(color), name=color) for color in ("red", "green", "blue")]
    wanted = [tags[2], tags[0], tags[1]]
    page.ask("arrange", {"tags": wanted})
    request = session.prepare("Which?", look=True)

    assert [card["tag"] for card in cards(page)] == wanted
    assert [block.tag for block in request.question.blocks] == wanted
    assert list(session.tags) == wanted


def test_an_order_of_some_puts_them_first(session: Session, page: Page) -> None:
    tags = [session.attach(image(color), name=color) for color in ("red", "green", "blue")]
    page.ask("arrange", {"tags": [tags[2], "[nothing_1 x]"]})

    assert list(session.tags) == [tags[2], tags[0], tags[1]]


def test_a_label_makes_another_tag_in_the_same_place(session: Session, page: Page) -> None:
    first = session.attach(image("red"), name="a", label="One")
    second = session.attach(image("blue"), name="b", label="Two")
    reply = page.ask("label", {"tag": first, "label": "  A [new]\x1b[31m\nname "})

    assert reply["tag"] == "[a_2 A (new) name]"
    assert list(session.tags) == ["[a_2 A (new) name]", second]
    request = session.prepare("What is it?", look=True)
    assert [block.tag for block in request.question.blocks] == ["[a_2 A (new) name]", second]


def test_what_went_out_keeps_its_name(session: Session, page: Page) -> None:
    session.model = FakeModel("Green.")
    tag = session.attach(image(), name="a")
    session.ask("Which colour?")

    assert "went out with a question" in page.refusal("label", {"tag": tag, "label": "new"})
    assert list(session.tags) == [tag]
    with pytest.raises(AttachmentError, match="went out"):
        session.relabel("[nothing_1 x]", "y")


@pytest.mark.parametrize("kind", ["remove", "label", "arrange", "picture", "add"])
@settings(max_examples=25, deadline=None)
@given(
    payload=st.dictionaries(
        st.sampled_from(["tag", "tags", "label", "place", "kind", "page", "large"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=20)
        | st.lists(st.text(max_size=5), max_size=3),
    )
)
def test_whatever_a_page_sends_is_answered_and_breaks_nothing(
    kind: str, payload: dict[str, Any]
) -> None:
    session = Session(model=FakeModel())
    tag = session.attach(image(), name="a")
    panel = AttachmentsPanel(session)
    page = Page(panel)
    reply = page.reply(kind, payload)
    panel.close()

    assert "went wrong" not in reply.get("problem", "")
    assert session.tags == (tag,)


def test_without_a_kernel_the_output_still_reads(session: Session, panel: AttachmentsPanel) -> None:
    session.attach(image(), name="a", label="<b>Bold & Co</b>")

    bundle = panel._repr_mimebundle_()

    assert bundle is not None
    data = bundle[0]
    assert set(data) == {"text/plain", "text/html", "text/markdown", VIEW}
    assert "60 × 40 px" in data["text/plain"]
    assert "&lt;b&gt;Bold" in data["text/html"]
    assert "<b>Bold" not in data["text/html"] + data["text/markdown"]
    assert "base64" not in data["text/html"]


KINDS = {
    "a picture": (image(filename="a.png"), "PNG 图像，60 × 40 px，"),
    "a page": (PdfAsset.from_bytes(pdf(1)), "PDF，1 页，"),
    "a document": (PdfAsset.from_bytes(pdf(3)), "PDF，3 页，"),
    "an address": (ImageAsset.from_url(WITH_KEY), "图像，位于 https://example.com/a.png"),
    "a file id": (ImageAsset.from_file_id("file-17"), "图像，文件 id 为 file-17"),
}


@pytest.mark.parametrize(("asset", "chinese"), KINDS.values(), ids=KINDS)
def test_what_an_attachment_is_reads_in_the_language_of_the_reader(
    asset: ImageAsset | PdfAsset, chinese: str
) -> None:
    assert described(asset) == asset.describe()
    session = Session(FakeModel())
    session.attach(asset, name="a")
    choose("zh")
    try:
        panel = AttachmentsPanel(session)
        static = panel.static()
        panel.close()
    finally:
        choose("auto")

    assert chinese in static.text
    assert "image" not in static.text
    assert "secret" not in static.text


def test_the_words_for_who_cannot_see_a_picture_are_chinese_too(session: Session) -> None:
    session.attach(PdfAsset.from_bytes(pdf(3), filename="book.pdf"), name="book")
    choose("zh")
    try:
        panel = AttachmentsPanel(session)
        (card,) = panel.state()["cards"]
        said = Page(panel).ask("picture", {"tag": card["key"], "page": 2})["alt"]
        panel.close()
    finally:
        choose("auto")

    assert said == "book.pdf：第 2 页，共 3 页，PDF"


def test_an_empty_session_says_so(panel: AttachmentsPanel) -> None:
    assert repr(panel) == "No attachments yet."
    assert panel.static().html == "<p>No attachments yet.</p>"


def test_what_a_notebook_keeps_of_a_panel_is_small(session: Session) -> None:
    for number in range(200):
        session.attach(ImageAsset.from_bytes(png(size=(10 + number, 10))), name="a")
    panel = AttachmentsPanel(session)
    kept = len(str(panel.get_state()).encode())
    panel.close()

    assert kept < 50_000
    assert GUARD
