from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from PIL import Image

from agentcell.adapters.events import (
    Citation,
    Event,
    Finished,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
    Waiting,
    gather,
)
from agentcell.adapters.model import Model
from agentcell.adapters.pricing import forget_price, set_price
from agentcell.adapters.recording import Recording, RecordingMiss, RecordingModel, entry
from agentcell.adapters.recording.canonical import canonical, key_of
from agentcell.adapters.recording.entry import Entry
from agentcell.agents.agent import Agent
from agentcell.assets.asset import ImageAsset
from agentcell.assets.prepare import at_detail
from agentcell.errors import AuthenticationError, ConnectionFailed, HistoryError, RateLimited
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock, ToolCall
from agentcell.session import Session
from agentcell.testing import FakeModel

TOOL = {
    "name": "price",
    "description": "Look a price up.",
    "parameters": {"type": "object", "properties": {"item": {"type": "string"}}},
}


class Counting(Model):
    """Answers anew each time, with what it was given to say."""

    provider = "counting"

    def __init__(self, *says: Event | Exception) -> None:
        super().__init__("one")
        self.says = says
        self.asked = 0

    def stream(self, *_: Any, **__: Any) -> Iterator[Event]:
        self.asked += 1
        for said in self.says or (TextDelta(f"answer {self.asked}"), Finished(reason="stop")):
            if isinstance(said, Exception):
                raise said
            yield said


def ask(text: str = "How much?") -> list[Message]:
    return [{"role": "user", "content": text}]


def picture(path: Path, pixel: tuple[int, int, int] = (1, 2, 3)) -> ImageAsset:
    image = Image.new("RGB", (8, 8), (200, 200, 200))
    image.putpixel((3, 3), pixel)
    image.save(path)
    return ImageAsset.from_path(path)


def with_picture(asset: ImageAsset) -> list[Message]:
    block = MediaMessageBlock(asset, "receipt", "[receipt_1 Receipt]", "Receipt")
    return [{"role": "user", "content": [TextMessageBlock("What is on it?"), block]}]


def recorded(tmp_path: Path, *says: Event | Exception) -> tuple[Path, Counting]:
    """Record one answer to `ask()`."""
    path, model = tmp_path / "recordings" / "a.jsonl", Counting(*says)
    list(RecordingModel(model, path, "record").stream(ask()))
    return path, model


def test_an_answer_comes_from_the_file_the_second_time(tmp_path: Path) -> None:
    path, model = recorded(tmp_path)
    again = RecordingModel(Counting(), path, "replay")

    assert again.invoke(ask())["content"] == "answer 1"
    assert asyncio.run(again.ainvoke(ask()))["content"] == "answer 1"
    assert model.asked == 1
    assert again.name == "counting/one"


def test_every_event_comes_back_as_it_was(tmp_path: Path) -> None:
    says: tuple[Event, ...] = (
        Retrying(2, 0.5, "too many requests"),
        ThinkingDelta("hm"),
        TextDelta("½ für"),
        Citation(quote="12.40", tag="[receipt_1 Receipt]", page=2),
        ToolCallDelta(0, "c1", "price", '{"item": "tea"}'),
        Usage(input_tokens=7, output_tokens=2, cached_tokens=3),
        Finished(reason="tool_calls", model="one-2026", request_id="r1", opaque=({"seal": "x"},)),
    )
    path, _ = recorded(tmp_path, *says)
    now = list(RecordingModel(Counting(), path, "replay").stream(ask()))

    assert now[:-1] == list(says[:-1])
    assert gather(now) == gather(says)
    assert isinstance(now[-1], Finished)
    assert now[-1].seconds is not None


def test_every_kind_of_event_can_be_kept_but_those_about_this_machine(tmp_path: Path) -> None:
    kept = set(entry._KINDS.values())  # noqa: SLF001 (the table is what is tested)

    assert set(get_args(Event)) - kept == {Waiting}
    path, _ = recorded(tmp_path, Waiting(1.0, "busy"), TextDelta("a"), Finished(reason="stop"))
    assert next(RecordingModel(Counting(), path, "replay").stream(ask())) == TextDelta("a")


def test_replayed_answers_tell_the_recorded_time(tmp_path: Path) -> None:
    path, model = tmp_path / "a.jsonl", Counting()
    first = list(RecordingModel(model, path, "record").stream(ask()))
    again = list(RecordingModel(model, path, "replay").stream(ask()))

    assert first == again


@pytest.mark.parametrize(
    ("mode", "asked", "kept"),
    [("off", 2, 0), ("auto", 2, 0), ("record", 1, 1), ("rerecord", 1, 1)],
)
def test_each_mode_asks_and_keeps_what_it_says(
    tmp_path: Path, mode: str, asked: int, kept: int
) -> None:
    model, recording = Counting(), Recording(tmp_path / "a.jsonl")
    for _ in range(2):
        RecordingModel(model, recording, mode).invoke(ask())  # "rerecord" is a mode of one object
        if mode == "rerecord":
            break
    assert (model.asked, len(recording)) == (asked, kept)


def test_rerecord_asks_once_more_and_then_keeps_to_it(tmp_path: Path) -> None:
    path, _ = recorded(tmp_path)
    model = Counting(TextDelta("newer"), Finished(reason="stop"))
    again = RecordingModel(model, path, "rerecord")

    assert [again.invoke(ask())["content"] for _ in range(3)] == ["newer"] * 3
    assert model.asked == 1
    assert RecordingModel(Counting(), path, "replay").invoke(ask())["content"] == "newer"


def test_auto_replays_what_is_there_and_keeps_nothing_new(tmp_path: Path) -> None:
    path, model = recorded(tmp_path)
    auto = RecordingModel(model, path)
    before = path.read_bytes()

    assert auto.invoke(ask())["content"] == "answer 1"
    assert auto.invoke(ask("And now?"))["content"] == "answer 2"
    assert path.read_bytes() == before


def test_an_unknown_mode_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'play'; one of off, record"):
        RecordingModel(Counting(), tmp_path / "a.jsonl", "play")


def test_a_service_error_to_the_question_is_kept_and_raised_again(tmp_path: Path) -> None:
    error = RateLimited(
        "Too many.", fix="wait 3 s.", provider="counting", status=429, retry_after=3, retryable=True
    )
    path, model = tmp_path / "a.jsonl", Counting(TextDelta("so "), error)
    with pytest.raises(RateLimited):
        list(RecordingModel(model, path, "record").stream(ask()))
    came: list[Event] = []
    with pytest.raises(RateLimited) as found:
        came.extend(RecordingModel(model, path, "replay").stream(ask()))

    assert str(found.value) == str(error)
    assert (found.value.status, found.value.retry_after, found.value.retryable) == (429, 3, True)
    assert model.asked == 1
    with pytest.raises(RateLimited):  # where the model may be asked, it is asked again
        list(RecordingModel(model, path, "record").stream(ask()))
    assert model.asked == 2


@pytest.mark.parametrize(
    "error",
    [AuthenticationError("no", status=401), ConnectionFailed("no"), ValueError("a bug")],
    ids=["key", "connection", "bug"],
)
def test_an_error_that_is_not_about_the_question_is_not_kept(
    tmp_path: Path, error: Exception
) -> None:
    recording = Recording(tmp_path / "a.jsonl")
    with pytest.raises(type(error)):
        list(RecordingModel(Counting(error), recording, "record").stream(ask()))

    assert len(recording) == 0
    assert not recording.path.exists()


def test_a_stopped_answer_stops_again_at_the_same_place(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    says = (TextDelta("one "), TextDelta("two "), TextDelta("three"), Finished(reason="stop"))
    events: Any = RecordingModel(Counting(*says), path, "record").stream(ask())
    assert [next(events), next(events)] == list(says[:2])
    events.close()
    came: list[Event] = []
    with pytest.raises(KeyboardInterrupt):
        came.extend(RecordingModel(Counting(*says), path, "replay").stream(ask()))

    assert came == [TextDelta("one two ")]

    async def replayed() -> None:
        async for _ in RecordingModel(Counting(), path, "replay").astream(ask()):
            pass

    async def cancelled() -> bool:
        task = asyncio.ensure_future(replayed())
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(cancelled())


def test_timing_can_be_replayed(tmp_path: Path) -> None:
    class Slow(Model):
        def stream(self, *_: Any, **__: Any) -> Iterator[Event]:
            yield TextDelta("a")
            time.sleep(0.4)
            yield TextDelta("b")
            yield Finished(reason="stop")

    path = tmp_path / "a.jsonl"
    RecordingModel(Slow("slow"), path, "record").invoke(ask())
    spent = []
    for timing in (False, True):
        began = time.monotonic()
        list(RecordingModel(Slow("slow"), path, "replay", timing=timing).stream(ask()))
        spent.append(time.monotonic() - began)

    assert spent[1] >= 0.3
    assert spent[0] < spent[1]


CHANGES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("a character", {"messages": ask("How much!")}, ["message 1 (user)", "How much?", "How much!"]),
    ("a setting", {"settings": {"temperature": 0.3}}, ["settings, temperature", "nothing", "0.3"]),
    ("no tools", {"tools": []}, ["tools", "price"]),
    (
        "a signature",
        {
            "tools": [
                {**TOOL, "parameters": {"type": "object", "properties": {"item": {"type": "int"}}}}
            ]
        },
        ["tools, price, parameters, properties, item, type", "'string'", "'int'"],
    ),
    ("a turn more", {"messages": [*ask("Hello"), *ask()]}, ["0 earlier messages, this one 1"]),
]


@pytest.mark.parametrize(("change", "says"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_a_miss_names_what_differs(tmp_path: Path, change: dict[str, Any], says: list[str]) -> None:
    path = tmp_path / "a.jsonl"
    asked: dict[str, Any] = {"messages": ask(), "tools": [TOOL], "settings": {}}
    RecordingModel(Counting(), path, "record").invoke(**asked)
    model = RecordingModel(Counting(), path, "replay")
    assert model.invoke(**asked)["content"] == "answer 1"
    with pytest.raises(RecordingMiss) as found:
        model.invoke(**{**asked, **change})

    for words in says:
        assert words in str(found.value)
    assert "%agent record" in found.value.fix


def test_another_model_is_a_miss(tmp_path: Path) -> None:
    path, _ = recorded(tmp_path)
    other = Counting()
    other.model_name = "two"
    with pytest.raises(RecordingMiss, match=r"model.*counting/one.*counting/two"):
        RecordingModel(other, path, "replay").invoke(ask())


def test_an_empty_recording_says_so(tmp_path: Path) -> None:
    with pytest.raises(RecordingMiss, match="holds no answers yet"):
        RecordingModel(Counting(), tmp_path / "a.jsonl", "replay").invoke(ask())


def test_one_pixel_of_an_attachment_is_a_miss_and_its_place_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    asset = picture(tmp_path / "a.png")
    RecordingModel(Counting(), path, "record").invoke(with_picture(asset))
    elsewhere = tmp_path / "b" / "c.png"
    elsewhere.parent.mkdir()
    replay = RecordingModel(Counting(), path, "replay")

    assert replay.invoke(with_picture(picture(elsewhere)))["content"] == "answer 1"
    with pytest.raises(RecordingMiss) as found:
        replay.invoke(with_picture(picture(tmp_path / "d.png", pixel=(1, 2, 4))))
    assert "the attachment [receipt_1 Receipt]" in str(found.value)
    assert asset.fingerprint() in path.read_text(encoding="utf-8")


def test_a_scaled_picture_is_known_by_what_it_was_made_of(tmp_path: Path) -> None:
    Image.effect_noise((2000, 1200), 50).save(tmp_path / "large.png")
    large = ImageAsset.from_path(tmp_path / "large.png")
    small = at_detail(large, "auto")
    asked = canonical("m", with_picture(small), None, None)
    media = asked["messages"][0]["content"][1]["media"]

    assert small.fingerprint() not in json.dumps(asked)
    assert media.startswith(large.fingerprint())
    assert "1568 px" in media


def test_the_order_of_keys_does_not_matter() -> None:
    one = canonical("m", ask(), [TOOL], {"temperature": 0.2, "max_tokens": 9, "seed": None})
    tool = {
        "parameters": {"properties": {"item": {"type": "string"}}, "type": "object"},
        "description": "Look a price up.",
        "name": "price",
    }
    other = canonical("m", ask(), [tool], {"max_tokens": 9, "temperature": 0.2})

    assert key_of(one) == key_of(other)


def test_spellings_of_one_question_are_one() -> None:
    wrapped = [{"type": "function", "function": TOOL}]
    call = ToolCall(id="c", name="price", arguments={"item": "tea"})
    said: list[list[Message]] = [
        [*ask(), {"role": "assistant", "content": "", "tool_calls": [call]}],
        [
            {"role": "user", "content": [TextMessageBlock("How much?")]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [call],
                "opaque": [{"seal": "of its provider"}],
            },
        ],
    ]

    assert key_of(canonical("m", said[0], [TOOL], None)) == key_of(
        canonical("m", said[1], wrapped, {})
    )


def test_content_given_as_a_data_address_is_not_written(tmp_path: Path) -> None:
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUJD" * 400}}
    path = tmp_path / "a.jsonl"
    RecordingModel(Counting(), path, "record").invoke([{"role": "user", "content": [part]}])

    assert "QUJD" not in path.read_text(encoding="utf-8")


def test_the_file_is_sorted_and_does_not_change_by_recording_the_same_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.jsonl"
    questions = [f"Question {number}" for number in range(20)]
    for question in questions:
        RecordingModel(Counting(), path, "record").invoke(ask(question))
    once = path.read_text(encoding="utf-8")
    lines = once.splitlines()
    for question in reversed(questions):
        RecordingModel(Counting(), path, "record").invoke(ask(question))

    assert path.read_text(encoding="utf-8") == once
    assert json.loads(lines[0]) == {"agentcell": "recording", "version": 1}
    assert lines[1:] == sorted(lines[1:])
    assert list(tmp_path.iterdir()) == [path]


def test_what_must_not_be_written_is_taken_out(tmp_path: Path) -> None:
    recording = Recording(
        tmp_path / "a.jsonl", redact=lambda text: text.replace("hunter2", "[key]")
    )
    model = Counting(TextDelta("It is hunter2."), Finished(reason="stop"))
    RecordingModel(model, recording, "record").invoke(ask("Say hunter2"))
    text = recording.path.read_text(encoding="utf-8")

    assert "hunter2" not in text
    assert "It is [key]." in text


def test_unused_entries_are_listed_and_pruned(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for question in ("One?", "Two?", "Three?"):
        RecordingModel(Counting(), path, "record").invoke(ask(question))
    recording = Recording(path)
    RecordingModel(Counting(), recording, "replay").invoke(ask("Two?"))
    unused = {entry.asked["messages"][0]["content"][0]["text"] for entry in recording.unused()}

    assert unused == {"One?", "Three?"}
    assert recording.prune() == 2
    assert len(Recording(path)) == 1
    assert recording.prune() == 0


def test_an_entry_that_another_process_adds_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    mine, theirs = Recording(path), Recording(path)
    RecordingModel(Counting(), mine, "record").invoke(ask("One?"))
    RecordingModel(Counting(), theirs, "record").invoke(ask("Two?"))
    RecordingModel(Counting(), mine, "record").invoke(ask("Three?"))

    assert len(Recording(path)) == 3


def test_many_threads_record_at_once(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "a.jsonl")
    model = RecordingModel(Echo("echo"), recording, "record")

    def run(number: int) -> None:
        for turn in range(5):
            text = f"{number} {turn}"
            assert model.invoke(ask(text))["content"] == text

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    replay = RecordingModel(Echo("echo"), Recording(recording.path), "replay")

    assert len(recording) == 40
    assert replay.invoke(ask("7 4"))["content"] == "7 4"


class Echo(Model):
    def stream(self, messages: list[Message], *_: Any, **__: Any) -> Iterator[Event]:
        for letter in messages[-1]["content"]:
            yield TextDelta(letter)
            time.sleep(0)
        yield Finished(reason="stop")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("not a recording\n", "is no recording"),
        ('{"agentcell":"recording","version":99}\n', "newer agentcell"),
        ("", "is no recording"),
        ("\x00\xff", "is no recording"),
    ],
)
def test_a_file_of_another_kind_is_never_overwritten(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(HistoryError, match=says):
        RecordingModel(Counting(), path, "record").invoke(ask())

    assert path.read_text(encoding="utf-8") == text


def test_a_damaged_line_is_told(tmp_path: Path) -> None:
    path, _ = recorded(tmp_path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text[:-20] + "\n", encoding="utf-8")
    with pytest.raises(HistoryError, match="cannot be read"):
        RecordingModel(Counting(), path, "replay").invoke(ask())


def test_a_folder_that_cannot_be_made_is_told_and_the_answer_came(tmp_path: Path) -> None:
    (tmp_path / "recordings").write_text("a file", encoding="utf-8")
    model = RecordingModel(Counting(), tmp_path / "recordings" / "a.jsonl", "record")
    came: list[Event] = []
    with pytest.raises(HistoryError, match=r"cannot be (written|read)"):
        came.extend(model.stream(ask()))

    assert came[:1] in ([TextDelta("answer 1")], [])


def test_what_is_no_json_cannot_be_recorded(tmp_path: Path) -> None:
    model = RecordingModel(Counting(), tmp_path / "a.jsonl", "record")
    with pytest.raises(Exception, match=r"the request\.settings\.stop\[0\] holds a set"):
        model.invoke(ask(), None, {"stop": [{"a"}]})


def test_a_long_recording_opens_and_is_searched_quickly(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    entries = [
        Entry(
            key=key_of(asked := canonical("m", ask(f"Question {number}"), None, None)),
            asked=asked,
            events=((0.1, TextDelta("word " * 200)), (0.2, Finished(reason="stop"))),
        )
        for number in range(10_000)
    ]
    lines = sorted(entry.line() for entry in entries)
    header = '{"agentcell":"recording","version":1}'
    path.write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    recording = Recording(path)
    found = recording.get(entries[777].key)

    assert len(recording) == 10_000
    assert found is not None
    assert found.asked["messages"][0]["content"] == [{"text": "Question 777"}]


def test_a_replayed_answer_costs_what_it_cost_when_it_was_recorded(tmp_path: Path) -> None:
    says = (
        TextDelta("tea"),
        Usage(input_tokens=1_000_000, output_tokens=0),
        Finished(reason="stop"),
    )
    name = "counting/one"
    set_price(name, input=3, output=15)
    try:
        path, _ = recorded(tmp_path, *says)
        set_price(name, input=99, output=99)
        session = Session(RecordingModel(Counting(), path, "replay"))
        answer = session.ask("How much?")
    finally:
        forget_price(name)

    assert answer.cost == 3
    assert session.cost.usd == 0


def test_a_cost_that_nobody_knew_stays_unknown(tmp_path: Path) -> None:
    path, _ = recorded(tmp_path, TextDelta("tea"), Usage(input_tokens=9), Finished(reason="stop"))
    set_price("counting/one", input=99, output=99)
    try:
        answer = Session(RecordingModel(Counting(), path, "replay")).ask("How much?")
    finally:
        forget_price("counting/one")

    assert answer.cost is None


def test_an_agent_of_ones_own_is_recorded_and_replayed_with_the_session(tmp_path: Path) -> None:
    model = FakeModel("yes")
    session = Session(model)
    session.recorder.use(tmp_path / "r.jsonl", "record")
    first = Agent("helper", model=session.recorded()).step({"question": "really?"})
    session = Session(model)
    session.recorder.use(tmp_path / "r.jsonl", "replay")
    again = Agent("helper", model=session.recorded()).step({"question": "really?"})

    assert first == again == {"answer": "yes"}
    assert len(model.requests) == 1
    assert Session(model).recorded() is model
