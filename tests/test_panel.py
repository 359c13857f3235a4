"""What all panels have in common, without a browser: messages, threads, uploads, static copy."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcell import Session
from agentcell.errors import HistoryError, PanelError
from agentcell.wording import choose
from agentcell_widgets.panel import Message, Panel, Payload, Static, Uploaded, css, esm, handles
from agentcell_widgets.panel.uploads import MOST_AT_ONCE, MOST_BYTES, PIECE_BYTES
from panels import GUARD, Page, uploads_left


class Stamps(Panel):
    """Shows stamps; takes files of any kind."""

    NAME = "stamps"
    TITLE = "Stamps"
    WORDS = {"Stamps": "邮票", "{count} stamps": "{count} 枚邮票"}  # noqa: RUF012

    def __init__(self, session: Session) -> None:
        self.threads: list[str] = []
        self.gate = threading.Event()
        self.followed_count = 0
        self.order: list[int] = []
        super().__init__(session)

    def state(self) -> dict[str, Any]:
        return {"model": self.session.chosen_model_name}

    def static(self) -> Static:
        said = f"{self.session.chosen_model_name}"
        return Static(html=f"<p>{said}</p>", markdown=said, text=said)

    def followed(self) -> None:
        self.followed_count += 1
        super().followed()

    def uploaded(self, file: Uploaded, message: Message) -> dict[str, Any]:
        data = file.path.read_bytes()
        same = data == message.text("of").encode() * len(data)
        return {"name": file.name, "bytes": len(data), "same": same}

    @handles("thread")
    def _thread(self, _: Message) -> None:
        self.threads.append(threading.current_thread().name)

    @handles("bytes")
    def _bytes(self, message: Message) -> Payload:
        return Payload({"count": len(message.buffers)}, [bytes(message.buffers[0])[::-1]])

    @handles("count")
    async def _count(self, message: Message) -> None:
        number = message.number("number", least=0, most=99)
        await asyncio.sleep(0.002 * (5 - number % 5))
        self.order.append(number)

    @handles("wait")
    def _wait(self, _: Message) -> dict[str, Any]:
        return {"opened": self.gate.wait(GUARD)}

    @handles("open", at_once=True)
    def _open(self, _: Message) -> None:
        self.gate.set()

    @handles("refuse")
    def _refuse(self, _: Message) -> None:
        raise HistoryError("There is no \x1b[31mturn.", fix="ask.")

    @handles("break")
    def _break(self, _: Message) -> None:
        raise ZeroDivisionError("api_key=sk-verysecret123456")


@pytest.fixture
def panel() -> Iterator[Stamps]:
    panel = Stamps(Session())
    yield panel
    panel.gate.set()
    panel.close()


@pytest.fixture
def page(panel: Stamps) -> Page:
    return Page(panel)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_view_is_told_the_state_when_it_opens(page: Page) -> None:
    assert page.ask("hello") == {"model": None}


def test_a_message_is_handled_off_the_thread_that_receives_it(panel: Stamps, page: Page) -> None:
    page.ask("thread")

    assert panel.threads != [threading.current_thread().name]


def test_messages_are_handled_in_the_order_in_which_they_came(panel: Stamps, page: Page) -> None:
    for number in range(20):
        page.post("count", {"number": number})
    page.ask("hello")

    assert panel.order == list(range(20))


def test_what_is_urgent_does_not_wait_for_what_came_before(page: Page) -> None:
    page.post("wait", name="first")
    page.ask("open")

    assert page.wait(lambda sent: sent.get("id") == "first")["payload"] == {"opened": True}


def test_bytes_go_both_ways(page: Page) -> None:
    reply = page.ask("bytes", {}, [b"abc", memoryview(b"defg")])

    assert reply == {"count": 2}
    assert page.buffers_of(reply) == [b"cba"]


def test_an_error_is_answered_with_its_fix_and_without_terminal_codes(page: Page) -> None:
    assert page.refusal("refuse") == "There is no turn. ask."


def test_a_bug_is_shown_in_the_panel_and_holds_no_key(page: Page) -> None:
    said = page.refusal("break")

    assert "'break' went wrong in the panel. ZeroDivisionError" in said
    assert "verysecret" not in said


def test_what_the_panel_does_not_know_is_refused_by_name(page: Page) -> None:
    assert "cannot do 'explode'" in page.refusal("explode")


@pytest.mark.parametrize(
    "content",
    [
        *("hello", None, 7, [], {}, {"kind": 7}, {"kind": ""}, {"kind": "x" * 65}),
        {"kind": "thread", "id": 7},
        {"kind": "thread", "id": "x" * 65},
        {"kind": "thread", "payload": []},
        {"kind": "thread", "payload": "text"},
    ],
)
def test_what_is_no_message_of_ours_is_ignored(panel: Stamps, page: Page, content: object) -> None:
    panel._handle_custom_msg(content, [])  # noqa: SLF001
    page.ask("hello")

    assert panel.threads == []
    assert len(page.sent) == 1


WRONG: list[tuple[str, dict[str, Any], object]] = [
    ("text", {}, None),
    ("text", {}, 7),
    ("text", {"longest": 3}, "four"),
    ("text", {}, "\ud800"),
    ("text", {}, "a\0b"),
    ("texts", {"most": 2}, "ab"),
    ("texts", {"most": 2}, ["a", "b", "c"]),
    ("texts", {"most": 2}, ["a", 7]),
    ("number", {"least": 1, "most": 5}, 0),
    ("number", {"least": 1, "most": 5}, 6),
    ("number", {"least": 1, "most": 5}, True),
    ("number", {"least": 1, "most": 5}, 1.5),
    ("number", {"least": 1, "most": 5}, float("nan")),
    ("number", {"least": 1, "most": 5}, "2"),
    ("number", {"least": 1, "most": 5}, None),
    ("flag", {}, 1),
    ("flag", {}, None),
    ("choice", {"choices": ("a", "b")}, "c"),
    ("choice", {"choices": ("a", "b")}, ["a"]),
]


@pytest.mark.parametrize(("reader", "limits", "value"), WRONG)
def test_a_part_of_a_message_that_is_not_as_expected_is_an_error(
    reader: str, limits: dict[str, Any], value: object
) -> None:
    message = Message(kind="k", payload={"name": value})

    with pytest.raises(PanelError, match="name"):
        getattr(message, reader)("name", **limits)
    with pytest.raises(PanelError, match="nothing as 'other'"):
        getattr(message, reader)("other", **limits)


def test_a_change_of_the_session_is_told_and_many_are_told_seldom(
    panel: Stamps, page: Page
) -> None:
    for number in range(300):
        panel.session.model = f"openai/m-{number}"
    page.event("state", model="openai/m-299")

    assert panel.followed_count < 30


class Slow(Stamps):
    """Reads its first state slowly."""

    def __init__(self, session: Session) -> None:
        self.reading = threading.Event()
        super().__init__(session)

    def state(self) -> dict[str, Any]:
        state = super().state()
        if not self.reading.is_set():
            self.reading.set()
            time.sleep(0.2)
        return state


def test_an_older_state_never_comes_after_a_newer() -> None:
    panel = Slow(Session())
    page = Page(panel)
    page.post("hello", name="first")
    panel.reading.wait(GUARD)
    panel.session.model = "openai/newer"
    page.event("state", model="openai/newer")
    kinds = [content["kind"] for content, _ in page.sent]
    panel.close()

    assert kinds == ["reply", "state"]


def test_an_error_while_following_a_change_is_told(panel: Stamps, page: Page) -> None:
    def broken() -> None:
        raise ZeroDivisionError("no")

    panel.followed = broken  # type: ignore[method-assign]
    panel.changed()

    assert "ZeroDivisionError: no" in page.event("trouble")["problem"]


def test_a_file_comes_whole_and_is_gone_from_the_disk(page: Page, temporary: Path) -> None:
    reply = page.upload(b"x" * (3 * PIECE_BYTES + 17), "holiday/beach.png", of="x")

    assert reply["payload"] == {"name": "beach.png", "bytes": 3 * PIECE_BYTES + 17, "same": True}
    assert uploads_left(temporary) == []


class Measuring(Stamps):
    """Takes files without reading them."""

    def uploaded(self, file: Uploaded, message: Message) -> dict[str, Any]:
        return {"bytes": file.path.stat().st_size, "note": message.text("note", default="")}


def test_a_file_of_100_mb_comes_in_constant_memory() -> None:
    panel = Measuring(Session())
    page = Page(panel)
    piece = b"x" * PIECE_BYTES
    upload = page.ask("upload-begin", {"name": "a", "size": MOST_BYTES})["upload"]
    tracemalloc.start()
    try:
        for offset in range(0, MOST_BYTES, PIECE_BYTES):
            page.ask("upload-piece", {"upload": upload, "offset": offset}, [piece])
            page.sent.clear()
        reply = page.ask("upload-end", {"upload": upload})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    panel.close()

    assert reply["bytes"] == MOST_BYTES
    assert peak < 4 * PIECE_BYTES


def test_a_panel_that_takes_no_files_says_so() -> None:
    panel = Panel(Session())
    page = Page(panel)
    reply = page.upload(b"x", "a.png")
    panel.close()

    assert reply["problem"] == "The panel 'Panel' takes no files; a.png was sent."


def test_a_piece_larger_than_agreed_is_refused_and_the_file_given_up(
    page: Page, temporary: Path
) -> None:
    upload = page.ask("upload-begin", {"name": "a", "size": 5 * PIECE_BYTES})["upload"]
    payload = {"upload": upload, "offset": 0}

    assert "byte 0 of" in page.refusal("upload-piece", payload, [b"x" * (PIECE_BYTES + 1)])
    assert "no such file" in page.refusal("upload-piece", payload, [b"x"])
    assert uploads_left(temporary) == []


@pytest.mark.parametrize("buffers", [[], [b""], [b"a", b"b"], [b"too long"]])
def test_a_piece_that_is_not_the_next_one_is_refused(page: Page, buffers: list[bytes]) -> None:
    upload = page.ask("upload-begin", {"name": "a", "size": 4})["upload"]

    assert "was expected" in page.refusal("upload-piece", {"upload": upload, "offset": 0}, buffers)


def test_a_file_that_is_not_whole_is_refused(page: Page, temporary: Path) -> None:
    upload = page.ask("upload-begin", {"name": "a.png", "size": 4})["upload"]
    page.ask("upload-piece", {"upload": upload, "offset": 0}, [b"xx"])

    assert "a.png is not whole: 2 of 4" in page.refusal("upload-end", {"upload": upload})
    assert uploads_left(temporary) == []


def test_a_cancelled_file_is_gone(page: Page, temporary: Path) -> None:
    upload = page.ask("upload-begin", {"name": "a.png", "size": 4})["upload"]
    before = uploads_left(temporary)
    page.ask("upload-cancel", {"upload": upload})

    assert len(before) == 1
    assert uploads_left(temporary) == []
    assert "no such file" in page.refusal("upload-end", {"upload": upload})


@pytest.mark.parametrize("size", [MOST_BYTES + 1, 2**53, 0, -1, 1.5, "7", None])
def test_a_file_of_no_size_or_too_large_a_one_is_refused_before_it_is_sent(
    page: Page, temporary: Path, size: object
) -> None:
    page.refusal("upload-begin", {"name": "a.png", "size": size})

    assert uploads_left(temporary) == []


def test_only_so_many_files_may_be_on_the_way(page: Page) -> None:
    for _ in range(MOST_AT_ONCE):
        page.ask("upload-begin", {"name": "a", "size": 4})

    assert "files are on the way" in page.refusal("upload-begin", {"name": "a", "size": 4})


def test_files_whose_page_went_away_leave_room_for_others(
    page: Page, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(MOST_AT_ONCE):
        page.ask("upload-begin", {"name": "a", "size": 4})
    monkeypatch.setattr("agentcell_widgets.panel.uploads.STALE_AFTER", 0.0)

    page.ask("upload-begin", {"name": "b", "size": 4})

    assert len(uploads_left(temporary)) == 1


def test_closing_ends_uploads_listeners_models_and_threads(temporary: Path) -> None:
    session = Session()
    models = set(_models())
    threads = threading.active_count()

    for number in range(50):
        panel = Stamps(session)
        page = Page(panel)
        page.ask("upload-begin", {"name": "a", "size": 4})
        session.model = f"openai/m-{number}"
        panel.close()
        panel.close()

    gc.collect()
    assert session._listeners == []  # noqa: SLF001
    assert set(_models()) == models
    assert uploads_left(temporary) == []
    assert threading.active_count() <= threads + 12  # the loop, and its pool for all panels


def _models() -> list[str]:
    from ipywidgets.widgets import widget  # type: ignore[import-untyped]

    return list(widget._instances)  # noqa: SLF001


def test_a_closed_panel_says_nothing_and_hears_nothing(panel: Stamps, page: Page) -> None:
    panel.close()
    page.post("thread", name="late")
    panel.session.model = "openai/later"
    panel.changed()
    time.sleep(0.05)

    assert panel.threads == []
    assert page.sent == []


def test_the_output_reads_without_a_kernel(panel: Stamps) -> None:
    panel.session.model = "openai/gpt-4.1"

    bundle = panel._repr_mimebundle_()

    assert bundle is not None
    assert bundle[0]["text/plain"] == "openai/gpt-4.1"
    classes = "agentcell-static tex2jax_ignore mathjax_ignore"
    assert bundle[0]["text/html"] == f'<div class="{classes}"><p>openai/gpt-4.1</p></div>'
    assert "application/vnd.jupyter.widget-view+json" in bundle[0]


def test_what_is_no_session_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="Path was given"):
        Stamps(tmp_path)  # type: ignore[arg-type]


def test_sentences_are_those_of_the_reader() -> None:
    english = Stamps(Session())
    choose("zh")
    try:
        chinese = Stamps(Session())
    finally:
        choose("auto")

    assert (english.language, english.texts) == ("en", {})
    assert chinese.language == "zh"
    assert chinese.texts["{count} stamps"] == "{count} 枚邮票"
    english.close()
    chinese.close()


def test_the_page_s_files_are_joined_without_comments() -> None:
    joined = esm(__file__)

    assert "function openPanel(" in joined
    assert "// What the pages" not in joined
    assert ".agentcell-panel" in css(__file__)
    assert "/*" not in css(__file__)
