from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentcell import ImageAsset, Session
from agentcell.widgets import AttachmentsPanel

VIEW = "application/vnd.jupyter.widget-view+json"


def png(color: str = "green", size: tuple[int, int] = (60, 40)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, "PNG")
    return file.getvalue()


class Panel(AttachmentsPanel):
    """Keeps what it sends to the browser."""

    sent: list[dict[str, Any]]

    def send(self, content: dict[str, Any], buffers: object = None) -> None:
        self.sent = [*getattr(self, "sent", []), content]
        super().send(content, buffers)

    def click_remove(self, tag: object) -> None:
        """Do what the browser's message does."""
        self._handle_custom_msg({"kind": "forget", "tag": tag}, [])


def test_each_attachment_is_a_card_with_its_picture_tag_and_facts() -> None:
    session = Session()
    tag = session.attach(ImageAsset.from_bytes(png(), filename="a.png"), name="a", label="Receipt")

    (card,) = AttachmentsPanel(session).cards

    assert card["tag"] == tag
    assert card["name"] == "Receipt"
    assert "60 × 40 px" in card["detail"]
    assert "a.png" in card["alt"]
    with Image.open(io.BytesIO(card["thumbnail"])) as picture:
        assert picture.size == (60, 40)


def test_a_new_attachment_appears_and_a_forgotten_one_goes() -> None:
    session = Session()
    panel = AttachmentsPanel(session)
    tag = session.attach(ImageAsset.from_bytes(png()), name="plot")
    shown = [card["tag"] for card in panel.cards]
    session.forget(tag)

    assert shown == [tag]
    assert panel.cards == []


def test_an_address_has_a_card_without_a_picture() -> None:
    session = Session()
    session.attach(ImageAsset.from_url("https://example.com/a.png?key=secret"), name="remote")

    (card,) = AttachmentsPanel(session).cards

    assert "thumbnail" not in card
    assert "secret" not in str(card)


def test_the_button_removes_the_attachment_from_the_session() -> None:
    session = Session()
    kept = session.attach(ImageAsset.from_bytes(png("red")), name="kept")
    gone = session.attach(ImageAsset.from_bytes(png("blue")), name="gone")
    panel = Panel(session)

    panel.click_remove(gone)

    assert [block.tag for block in session.attachments] == [kept]
    assert [card["tag"] for card in panel.cards] == [kept]
    assert gone in panel.notice
    assert panel.sent == [{"kind": "done"}]


@pytest.mark.parametrize("tag", ["[nothing_1]", None, 7, ["[a_1]"], "", "x" * 100_000])
def test_a_message_about_nothing_we_know_changes_nothing_and_is_answered(tag: object) -> None:
    session = Session()
    session.attach(ImageAsset.from_bytes(png()), name="a")
    panel = Panel(session)

    panel.click_remove(tag)

    assert len(session.attachments) == 1
    assert panel.notice
    assert panel.sent == [{"kind": "done"}]


@pytest.mark.parametrize("message", ["forget", None, {}, {"kind": "other", "tag": "x"}, []])
def test_a_message_of_another_kind_is_ignored(message: object) -> None:
    panel = AttachmentsPanel(Session())

    panel._handle_custom_msg(message, [])  # noqa: SLF001

    assert panel.notice == ""


def test_without_a_kernel_the_output_still_reads() -> None:
    session = Session()
    session.attach(ImageAsset.from_bytes(png()), name="a", label="<b>Bold & Co</b>")

    bundle = AttachmentsPanel(session)._repr_mimebundle_()

    assert bundle is not None
    data = bundle[0]
    assert set(data) == {"text/plain", "text/html", VIEW}
    assert "60 × 40 px" in data["text/plain"]
    assert "&lt;b&gt;Bold" in data["text/html"]
    assert "<b>Bold" not in data["text/html"]
    assert "base64" not in data["text/html"]


def test_an_empty_session_says_so() -> None:
    panel = AttachmentsPanel(Session())

    bundle = panel._repr_mimebundle_()

    assert bundle is not None
    assert bundle[0]["text/plain"] == "No attachments yet."
    assert bundle[0]["text/html"] == "<p>No attachments yet.</p>"


def test_a_closed_panel_hears_nothing_more() -> None:
    session = Session()
    panel = AttachmentsPanel(session)
    panel.close()

    session.attach(ImageAsset.from_bytes(png()), name="a")

    assert panel.cards == []


def test_what_is_no_session_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(AttributeError):
        AttachmentsPanel(tmp_path)  # type: ignore[arg-type]
