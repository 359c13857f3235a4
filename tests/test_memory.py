"""The memory of a conversation, and what of it is sent again."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest

from agent_kit import blue, media, page, png, red, shown
from agentcell.assets.asset import ImageAsset
from agentcell.errors import HistoryError
from agentcell.history.memory import HistoryMemory, merge_media
from agentcell.history.merge import estimated_tokens
from agentcell.history.provider import HistoryProvider
from agentcell.history.records import MissingAttachmentWarning
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock, ToolCall
from agentcell.prompts.tags import announcement


def filled(count: int, **options: Any) -> HistoryMemory:
    memory = HistoryMemory(**options)
    for at in range(count):
        memory.insert("user" if at % 2 == 0 else "assistant", f"m{at}")
    return memory


def said(messages: list[Message]) -> list[Any]:
    return [message["content"] for message in messages]


@pytest.mark.parametrize(
    ("options", "top_k", "expected"),
    [
        ({}, -1, list(range(15, 25))),
        ({}, 0, list(range(25))),
        ({}, 3, [22, 23, 24]),
        ({}, 99, list(range(25))),
        ({}, -2, []),
        ({"top_k": 0}, -1, list(range(25))),
        ({"top_k": -1}, -1, []),
        ({"top_k": -1}, 2, [23, 24]),
        ({"memory_size": 4}, 0, [21, 22, 23, 24]),
        ({"memory_size": 0}, 0, list(range(25))),
        ({"memory_size": -1}, 0, list(range(25))),
        ({"unit": "turns", "top_k": 2}, -1, [22, 23, 24]),
        ({"unit": "turns"}, 1, [24]),
    ],
)
def test_the_window_is_the_last_messages_or_turns(
    options: dict[str, Any], top_k: int, expected: list[int]
) -> None:
    memory = filled(25, **options)

    got = memory.get_messages("anything", top_k=top_k)

    assert said(got) == [f"m{at}" for at in expected]


def test_equal_turns_are_all_kept() -> None:
    memory = HistoryMemory()
    for text in ("yes", "no", "yes"):
        memory.insert("user", text)
        memory.insert("assistant", "same")

    assert said(memory.get_messages()) == ["yes", "same", "no", "same", "yes", "same"]


def test_messages_can_be_replaced_and_removed() -> None:
    memory = filled(4)

    memory.delete("user")
    assert said(memory.get_messages()) == ["m0", "m1", "m3"]
    memory.delete("anything", 1)
    assert said(memory.get_messages()) == ["m0", "m3"]
    memory.update("assistant", "new")
    assert said(memory.get_messages()) == ["m0", "new"]
    memory.delete("system")
    memory.delete()
    assert said(memory.get_messages()) == ["m0"]
    with pytest.raises(IndexError):
        memory.delete("user", 7)
    with pytest.raises(HistoryError, match="no message of the role 'system'"):
        memory.update("system", "x")
    memory.reset()
    assert memory.get_messages(top_k=0) == []


def test_what_comes_out_is_a_copy_and_so_is_what_goes_in() -> None:
    memory = HistoryMemory()
    content: list[Any] = [TextMessageBlock("a")]
    memory.insert("user", content)
    content.append(TextMessageBlock("b"))

    got = memory.get_messages()
    got[0]["content"].append(TextMessageBlock("c"))
    got[0]["role"] = "system"

    assert shown(memory.get_messages()[0]) == {"role": "user", "content": [{"text": "a"}]}


def test_a_tool_result_without_its_call_is_left_out() -> None:
    memory = HistoryMemory(top_k=2)
    memory.insert("user", "q")
    memory.insert("assistant", "", tool_calls=[ToolCall("1", "f", {})])
    memory.insert("tool", "result", tool_call_id="1", name="f")
    memory.insert("assistant", "done")

    assert said(memory.get_messages()) == ["done"]
    assert [m["role"] for m in memory.get_messages(top_k=3)] == ["assistant", "tool", "assistant"]


def test_a_token_budget_drops_the_oldest_turns_and_never_the_last() -> None:
    memory = HistoryMemory(token_budget=60)
    for text in ("a" * 80, "b" * 80, "c" * 80):
        memory.insert("user", text)
        memory.insert("assistant", "ok")

    assert [text[0] for text in said(memory.get_messages())] == ["b", "o", "c", "o"]
    memory.insert("user", "d" * 4_000)
    assert [text[0] for text in said(memory.get_messages())] == ["d"]


def test_tokens_are_estimated_from_text_and_attachments() -> None:
    block = MediaMessageBlock(red(), "x", "[x_1 d]")

    assert estimated_tokens({"role": "user", "content": "a" * 40}) == 14
    assert estimated_tokens({"role": "user", "content": "票" * 40}) == 44
    assert estimated_tokens({"role": "user", "content": [block]}) > 800


def turn(tag: str, asset: Any, text: str) -> list[Any]:
    block = MediaMessageBlock(asset, "x", tag, "d")
    return [TextMessageBlock(announcement(block)), block, TextMessageBlock(text)]


def test_a_repeated_attachment_is_named_and_its_second_tag_explained() -> None:
    memory = HistoryMemory()
    memory.insert("user", turn("[x_1 d]", red(), "q1 [x_1 d]"))
    memory.insert("assistant", "a1")
    memory.insert("user", turn("[x_2 d]", red(), "q2 [x_2 d]"))
    memory.insert("user", turn("[x_3 d]", blue(), "q3 [x_3 d]"))

    first, _, second, third = memory.get_messages()

    assert [block.tag for block in media(first)] == ["[x_1 d]"]
    assert [block.tag for block in media(third)] == ["[x_3 d]"]
    assert shown(second)["content"] == [
        {"text": "Attached image [x_2 d], the same as:"},
        {"text": "[x_1 d]"},
        {"text": "q2 [x_2 d]"},
    ]
    assert len(media(memory.get_messages()[0])) == 1, "the stored messages are unchanged"


def test_a_second_tag_that_nothing_explains_becomes_the_first_one_everywhere() -> None:
    one, two = (MediaMessageBlock(red(), "x", tag) for tag in ("[x_1 d]", "[x_2 d]"))
    messages: list[Message] = [
        {"role": "user", "content": [one, TextMessageBlock("q")]},
        {"role": "user", "content": [two, TextMessageBlock("On [x_2 d]?")]},
        {"role": "assistant", "content": "[x_2 d] is red."},
    ]

    merged = merge_media(messages)

    assert [shown(message)["content"] for message in merged] == [
        [{"media_tag": "[x_1 d]"}, {"text": "q"}],
        [{"text": "[x_1 d]"}, {"text": "On [x_1 d]?"}],
        "[x_1 d] is red.",
    ]
    assert messages[2]["content"] == "[x_2 d] is red."


def test_unmerged_history_keeps_every_block() -> None:
    memory = HistoryMemory(merge_historical_media=False)
    memory.insert("user", turn("[x_1 d]", red(), "q1"))
    memory.insert("user", turn("[x_2 d]", red(), "q2"))

    assert [len(media(message)) for message in memory.get_messages()] == [1, 1]


@pytest.mark.parametrize("by", ["asset", "tag", "fingerprint"])
def test_an_attachment_can_be_forgotten(by: str) -> None:
    memory = HistoryMemory()
    memory.insert("user", turn("[x_1 d]", red(), "q1 [x_1 d]"))
    memory.insert("user", turn("[x_2 d]", blue(), "q2"))
    what: Any = {"asset": red(), "tag": "[x_1 d]", "fingerprint": red().fingerprint()}[by]

    count = memory.forget(what)

    first, second = memory.get_messages()
    assert count == 1
    assert media(first) == []
    assert "[x_1 d] was removed" in shown(first)["content"][1]["text"]
    assert len(media(second)) == 1
    assert memory.forget(what) == 0


def test_former_tags_are_known_beyond_the_window() -> None:
    memory = HistoryMemory(top_k=1)
    memory.insert("user", turn("[x_1 d]", red(), "q1"))
    memory.insert("user", turn("[x_2 d]", red(), "q2"))

    assert memory.former_tags() == {red().fingerprint(): ["[x_1 d]", "[x_2 d]"]}


def test_threads_add_whole_turns() -> None:
    memory = HistoryMemory(top_k=0, memory_size=0)

    def work(name: str) -> None:
        for at in range(50):
            memory.extend(
                [{"role": "user", "content": f"{name}{at}"}, {"role": "assistant", "content": name}]
            )

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    texts = said(memory.get_messages())
    assert len(texts) == 800
    assert all(a[0] == b for a, b in zip(texts[::2], texts[1::2], strict=True))


def test_a_memory_is_a_provider_and_copies_whole() -> None:
    memory = filled(2)
    twin = copy.deepcopy(memory)
    twin.insert("user", "only here")

    assert isinstance(memory, HistoryProvider)
    assert len(memory) == 2
    assert len(twin) == 3
    assert len(repr(filled(1000))) < 300
    with pytest.raises(HistoryError, match="'messages' or 'turns'"):
        HistoryMemory(unit="tokens")  # type: ignore[arg-type]


def test_a_conversation_is_kept_in_a_folder_and_read_again(tmp_path: Path) -> None:
    memory = HistoryMemory()
    memory.insert("user", turn("[x_1 票据]", red(), "q1 \ud800 é"))
    memory.insert("user", turn("[x_2 d]", red(), "q2"))
    memory.insert("user", turn("[x_3 d]", page(), "q3"))
    web = ImageAsset.from_url("https://example.org/a.png")
    memory.insert("user", [MediaMessageBlock(web, "x", "[x_4 d]"), {"type": "custom", "n": 1}])
    memory.insert(
        "assistant", "", tool_calls=[ToolCall("1", "f", {"a": [1]})], opaque=[{"id": "r"}]
    )
    memory.insert("tool", "7", tool_call_id="1", name="f")

    memory.save(tmp_path / "talk")
    memory.save(tmp_path / "talk")
    again = HistoryMemory.load(tmp_path / "talk", top_k=3)

    assert again.get_messages(top_k=0) == memory.get_messages(top_k=0)
    assert len(again.get_messages()) == 3
    kept = [file for file in (tmp_path / "talk" / "assets").rglob("*") if file.is_file()]
    assert len(kept) == 2, "each content is kept once"
    assert b"iVBOR" not in (tmp_path / "talk" / "messages.json").read_bytes()


@pytest.mark.parametrize("harm", ["removed", "changed"])
def test_an_attachment_that_is_gone_is_said_and_the_turn_stays(tmp_path: Path, harm: str) -> None:
    memory = HistoryMemory()
    memory.insert("user", turn("[x_1 d]", red(), "q1"))
    memory.save(tmp_path)
    [file] = [file for file in (tmp_path / "assets").rglob("*") if file.is_file()]
    if harm == "removed":
        file.unlink()
    else:
        file.write_bytes(png(0, 0, 255))

    with pytest.warns(MissingAttachmentWarning, match=r"\[x_1 d\]"):
        again = HistoryMemory.load(tmp_path)

    assert shown(again.get_messages()[0])["content"] == [
        {"text": "Attached image [x_1 d]:"},
        {"text": "(The attachment [x_1 d] is no longer here.)"},
        {"text": "q1"},
    ]


@pytest.mark.parametrize("text", [None, "", "[]", '{"messages": 5}', '{"messages": [{"role": 1}]}'])
def test_what_is_no_kept_conversation_is_told(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "messages.json").write_text(text)

    with pytest.raises(HistoryError):
        HistoryMemory.load(tmp_path)


def test_a_message_that_is_no_json_is_told(tmp_path: Path) -> None:
    memory = HistoryMemory()
    memory.insert("assistant", "x", opaque=[object()])

    with pytest.raises(HistoryError, match="cannot be kept"):
        memory.save(tmp_path)
    assert not (tmp_path / "messages.json").exists()


class Noted(HistoryMemory):
    """A memory of somebody's own, with more in it."""

    note = ""


@pytest.mark.parametrize("way", ["deepcopy", "copy", "pickle"])
def test_a_copy_is_of_its_own_kind_and_shares_nothing(way: str) -> None:
    memory = Noted(top_k=7, unit="turns", token_budget=90_000)
    memory.note = "mine"
    memory.insert("user", [MediaMessageBlock(red(), "x", "[x_1 d]")])

    twin = {
        "deepcopy": copy.deepcopy,
        "copy": copy.copy,
        "pickle": lambda one: pickle.loads(pickle.dumps(one)),  # noqa: S301 (our own)
    }[way](memory)
    twin.insert("assistant", "only here")

    assert type(twin) is Noted
    assert (twin.note, twin.top_k, twin.unit, twin.token_budget) == ("mine", 7, "turns", 90_000)
    assert (len(memory), len(twin)) == (1, 2)
    assert list(media(twin.get_messages()[0])) == list(media(memory.get_messages()[0]))


def test_a_conversation_of_a_later_version_is_not_misread(tmp_path: Path) -> None:
    filled(2).save(tmp_path)
    kept = (tmp_path / "messages.json").read_text()
    (tmp_path / "messages.json").write_text(kept.replace('"version": 1', '"version": 2'))

    with pytest.raises(HistoryError, match="no conversation that can be read"):
        HistoryMemory.load(tmp_path)
