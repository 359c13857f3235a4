"""Memories and what is sent of them: what a peer does is matched, or bettered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_kit import Replies, blue, media, png, red, shown
from agentcell.agents.agent import Agent
from agentcell.assets.asset import ImageAsset
from agentcell.history.memory import HistoryMemory
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock
from oracle_kit import CASES, covers, tagged


def filled(count: int, **options: Any) -> HistoryMemory:
    memory = HistoryMemory(**options)
    for at in range(count):
        memory.insert("user" if at % 2 == 0 else "assistant", f"m{at}")
    return memory


@covers("MF041", "MF042", "MF043", "MF044")
def test_a_memory_gives_and_removes_alike() -> None:
    three = filled(4).get_messages(top_k=3)
    small = filled(7, memory_size=4)
    shorter = filled(4)
    shorter.delete("user")

    assert [message["role"] for message in three] == CASES["MF041"]["observed"]
    assert [one["content"] for one in small.get_messages()] == CASES["MF042"]["observed"]
    assert [one["content"] for one in shorter.get_messages()] == CASES["MF043"]["observed"]
    assert len(filled(4, top_k=-1).get_messages()) == CASES["MF044"]["observed"]


def merging(*, merge: bool, top_k: int) -> list[Message]:
    def block(tag: str, asset: ImageAsset) -> MediaMessageBlock:
        return MediaMessageBlock(asset, tag[1:2], tag, "d")

    same = red()
    memory = HistoryMemory(top_k, merge_historical_media=merge)
    for intro, tag, number in (("intro", "[x_1 d]", 1), ("intro2", "[x_2 d]", 2)):
        texts = TextMessageBlock(intro), TextMessageBlock(f"q{number}")
        memory.insert("user", [texts[0], block(tag, same), texts[1]])
        memory.insert("assistant", f"a{number}")
    memory.insert(
        "user", [block("[y_1 d]", same), block("[y_2 d]", same), block("[y_3 d]", blue())]
    )
    return [shown(message) for message in memory.get_messages()]


@covers("MF045", "MF046", "MF047")
def test_repeated_media_are_merged_alike() -> None:
    assert merging(merge=True, top_k=0) == CASES["MF045"]["observed"]
    assert merging(merge=False, top_k=0) == CASES["MF046"]["observed"]
    assert merging(merge=True, top_k=3) == CASES["MF047"]["observed"]


CONVERSATIONS = {
    "MF050": ((red(), red(), red()), False, True),
    "MF051": ((red(), red(), red()), False, False),
    "MF052": ((red(), blue(), red()), True, True),
}


@covers(*CONVERSATIONS)
@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("outputs", [{}, {"answer": "答案"}])
def test_three_turns_send_the_same_messages(name: str, outputs: dict[str, str]) -> None:
    pictures, reuse, merge = CONVERSATIONS[name]
    model = Replies(*[f'{{"answer": "r{at}"}}' for at in range(3)])
    agent = Agent(
        "a",
        "S",
        model=model,
        prompt_template="{q} {x}",
        pull_keys={"x": "IMAGE:d"},
        push_keys=outputs,
        memories=[HistoryMemory(merge_historical_media=merge)],
        reuse_attachment_tags=reuse,
    )
    for at, picture in enumerate(pictures):
        agent.step({"q": f"q{at}", "x": picture})

    got = [shown(message) for message in model.requests[-1]]

    for one, expected in zip(got, CASES[name]["observed"], strict=True):
        assert one["role"] == expected["role"]
        assert _texts(one) == [_plain(text) for text in _texts(expected)]


def _texts(message: Message) -> list[str]:
    content = message["content"]
    if isinstance(content, str):
        return [_clean(content)]
    return [_clean(block.get("text") or f"media {block['media_tag']}") for block in content]


def _clean(text: str) -> str:
    """Leave out what the data leaves out: the rules for the answer's form, our own sentences."""
    text = text.split("\nRESPONSE FORMAT REQUIREMENTS", maxsplit=1)[0]
    if text.startswith("Attached "):
        return "announced " + text[text.index("[") : text.index("]") + 1]
    return text


def _plain(text: str) -> str:
    if text.startswith("<ANNOUNCE"):
        return "announced " + text[text.index("[") : text.index("]") + 1]
    return text


@covers("MF054")
def test_equal_turns_are_all_sent() -> None:
    model = Replies('{"answer":"same"}')
    agent = Agent("a", "S", model=model, prompt_template="{q}", memories=[HistoryMemory()])
    for text in ("yes", "no", "yes", "next"):
        agent.step({"q": text})

    assert [message["role"] for message in model.requests[-1]] == [
        "system",
        *["user", "assistant"] * 3,
        "user",
    ]


@covers("MF055", "MF056")
def test_an_agent_takes_one_history_however_it_comes() -> None:
    with pytest.raises(ValueError, match="at most one HistoryProvider"):
        Agent("a", model=Replies("x"), memories=[HistoryMemory(), HistoryMemory()])
    agent = Agent("a", model=Replies("x"), memories=[HistoryMemory()])
    with pytest.raises(ValueError, match="at most one HistoryProvider"):
        agent.add_memory(HistoryMemory())
    late = HistoryMemory()
    model = Replies("r")
    used = Agent("a", model=model).add_memory(late)
    used.step({"q": "1"})
    used.step({"q": "2"})
    assert len(model.requests[1]) == 3


@covers("MF095", "MF096")
@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("then", ["deleted", "overwritten"])
def test_a_path_in_the_history_stays_what_it_was(tmp_path: Path, merge: bool, then: str) -> None:
    file = tmp_path / "x.png"
    file.write_bytes(png(255, 0, 0))
    model = Replies("r")
    memory = HistoryMemory(merge_historical_media=merge)
    agent = Agent("a", "S", model=model, prompt_template="{q}", memories=[memory])
    agent.step({"q": "t1", "x": ImageAsset.from_path(file)})

    if then == "deleted":
        file.unlink()
    else:
        file.write_bytes(png(0, 0, 255))
    agent.step({"q": "t2"})
    agent.step({"q": "t3"})

    assert len(model.requests[2]) == 6
    assert media(model.requests[2][1])[0].asset.load_bytes() == png(255, 0, 0)


@covers("MF097")
def test_the_tag_in_the_prompt_is_the_one_announced_also_with_wide_letters_and_quotes() -> None:
    for description in ("票据", 'the "blue" one', "a\\b"):
        for value in (red(), [red()], {"deep": [red(), "票据"]}):
            tags, prompt, message = tagged(
                {"x": value}, pull_keys={"x": f"ANY:{description}"}, prompt_template="问 {x}"
            )
            assert tags[0] in prompt
            assert "\\u" not in prompt
            assert tags[0] in message["content"][0].text
