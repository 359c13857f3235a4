"""A question that a recording does not know: what differs, in a few lines, and a way out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.events import Event, Finished, TextDelta
from agentcell.adapters.model import Model
from agentcell.adapters.recording import RecordingMiss, RecordingModel
from agentcell.assets.asset import ImageAsset
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock


class Saying(Model):
    provider = "saying"

    def stream(self, *_: Any, **__: Any) -> Iterator[Event]:
        yield from (TextDelta("yes"), Finished(reason="stop"))


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": "", "parameters": {"type": "object", "properties": {}}}


def picture(folder: Path, name: str, color: str = "red") -> ImageAsset:
    Image.new("RGB", (8, 8), color).save(folder / name)
    return ImageAsset.from_path(folder / name)


def seen(asset: ImageAsset, tag: str = "[a_1 Receipt]") -> MediaMessageBlock:
    return MediaMessageBlock(asset, "a", tag, "Receipt")


def ask(*blocks: Any, system: str = "Be brief.", earlier: str = "Hello") -> list[Message]:
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": earlier},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": [TextMessageBlock("What is it?"), *blocks]},
    ]


LONG = "word " * 4_000


def cases(folder: Path) -> dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]]:
    red, blue = picture(folder, "red.png"), picture(folder, "blue.png", "blue")
    two = {"messages": ask(), "tools": [tool("a"), tool("b")]}
    return {
        "an attachment more": ({"messages": ask()}, {"messages": ask(seen(red))}, ["(user)"]),
        "an attachment less": ({"messages": ask(seen(red))}, {"messages": ask()}, ["(user)"]),
        "another attachment": (
            {"messages": ask(seen(red))},
            {"messages": ask(seen(blue))},
            ["attachment [a_1 Receipt]", "sha256"],
        ),
        "another label": (
            {"messages": ask(seen(red))},
            {"messages": ask(seen(red, "[a_1 Bill]"))},
            ["tag", "[a_1 Receipt]", "[a_1 Bill]"],
        ),
        "an earlier turn": (
            {"messages": ask()},
            {"messages": ask(earlier="Hallo")},
            ["message 2 (user)", "'Hello'", "'Hallo'"],
        ),
        "instructions": (
            {"messages": ask()},
            {"messages": ask(system="Be long.")},
            ["message 1 (system)", "'Be brief.'", "'Be long.'"],
        ),
        "the tools' order": (two, {**two, "tools": two["tools"][::-1]}, ["tools"]),
        "a long text": (
            {"messages": ask(earlier=f"{LONG}A{LONG}")},
            {"messages": ask(earlier=f"{LONG}B{LONG}")},
            ["message 2 (user)", "A", "B"],
        ),
        "Chinese": (
            {"messages": ask(earlier="总金额是多少？")},
            {"messages": ask(earlier="总金额是几？")},
            ["总金额是多少？", "总金额是几？"],
        ),
        "lines": (
            {"messages": ask(earlier="a\n" * 90)},
            {"messages": ask(earlier="b\n" * 90)},
            ["message 2 (user)"],
        ),
        "a long name": (
            {"messages": ask(), "settings": {}},
            {"messages": ask(), "settings": {"n" * 4_000 + "\n" * 40: 1}},
            ["settings, nnn"],
        ),
        "an option of the service": (
            {"messages": ask()},
            {"messages": ask(), "extra_body": {"user": "me"}},
            ["extra_body", "me"],
        ),
    }


NAMES = [
    *("an attachment more", "an attachment less", "another attachment", "another label"),
    *("an earlier turn", "instructions", "the tools' order", "a long text", "Chinese", "lines"),
    *("a long name", "an option of the service"),
]


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_difference_is_named_in_a_few_lines(tmp_path: Path, name: str) -> None:
    kinds = cases(tmp_path)
    assert list(kinds) == NAMES
    before, now, says = kinds[name]
    able = ModelCapabilities(image_input=True)
    path = tmp_path / "a.jsonl"
    RecordingModel(Saying("one", capabilities=able), path, "record").invoke(**before)
    with pytest.raises(RecordingMiss) as found:
        RecordingModel(Saying("one", capabilities=able), path, "replay").invoke(**now)

    text = str(found.value)
    for words in says:
        assert words in text
    assert len(text.splitlines()) <= 15
    assert len(text) < 1_000


def test_the_way_out_names_each_door_and_is_the_same_in_every_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixes = set()
    for mode in ("", "replay"):
        monkeypatch.setenv("AGENTCELL_MODE", mode)
        with pytest.raises(RecordingMiss) as found:
            RecordingModel(Saying("one"), tmp_path / "a.jsonl", "replay").invoke(ask())
        fixes.add(found.value.fix)

    (fix,) = fixes
    for door in ("%agent record", "AGENTCELL_MODE", 'mode="record"'):
        assert door in fix


def test_how_a_call_is_made_is_no_part_of_the_question(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    RecordingModel(Saying("one"), path, "record").invoke(ask(), timeout=3)
    replay = RecordingModel(Saying("one"), path, "replay")

    assert replay.invoke(ask(), max_retries=2, extra_headers={"x": "secret"})["content"] == "yes"
    assert "secret" not in path.read_text(encoding="utf-8")


def test_a_live_answer_in_auto_is_not_marked_as_recorded_and_one_from_the_file_is(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.jsonl"
    RecordingModel(Saying("one"), path, "record").invoke(ask())
    auto = RecordingModel(Saying("one"), path, "auto")
    ends = [list(auto.stream(one))[-1] for one in (ask(), ask(earlier="Other"))]

    assert [isinstance(end, Finished) and end.seconds is None for end in ends] == [False, True]


def test_who_leaves_after_the_end_did_not_stop_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    events: Any = RecordingModel(Saying("one"), path, "record").stream(ask())
    while not isinstance(next(events), Finished):
        pass
    events.close()

    assert RecordingModel(Saying("one"), path, "replay").invoke(ask())["content"] == "yes"


def test_a_key_of_the_environment_is_taken_out_also_without_a_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-Zq8vW3nR5tY7uB1x")
    path = tmp_path / "a.jsonl"
    RecordingModel(Saying("one"), path, "record").invoke(
        ask(earlier="my key is sk-proj-Zq8vW3nR5tY7uB1x")
    )

    assert "Zq8vW3nR5tY7uB1x" not in path.read_text(encoding="utf-8")
