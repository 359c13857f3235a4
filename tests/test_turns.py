from __future__ import annotations

from dataclasses import replace

import pytest

from agentcell.history.conversations import Conversation
from agentcell.history.notebook import NotebookHistory
from agentcell.history.turns import STOPPED_MARK, Turn, past_messages
from agentcell.messages import Message, ToolCall


def turn(name: str, cell: str | None = None, part: int = 1, *, fresh: bool = False) -> Turn:
    return Turn(
        id=name,
        cell_id=cell,
        part=part,
        messages=({"role": "user", "content": name}, {"role": "assistant", "content": "x"}),
        status="complete",
        model="m",
        fresh=fresh,
    )


def conversation(*turns: Turn) -> Conversation:
    made = NotebookHistory().conversation()
    for each in turns:
        made.put(each)
    return made


def names(turns: list[Turn]) -> str:
    return " ".join(each.id for each in turns)


def test_a_cell_s_turn_is_replaced_where_it_stands() -> None:
    made = conversation(turn("a1", "a"), turn("b1", "b"), turn("c1", "c"), turn("b2", "b"))

    assert names(made.turns) == "a1 b2 c1"
    assert names(made.before("b")) == "a1"
    assert names(made.before("new")) == "a1 b2 c1"


def test_turns_without_a_cell_follow_each_other() -> None:
    made = conversation(turn("1"), turn("2"), turn("3"))

    assert names(made.turns) == "1 2 3"
    assert names(made.before(None)) == "1 2 3"


def test_a_loop_s_questions_follow_each_other_in_their_cell() -> None:
    made = conversation(
        turn("a", "a"), turn("l1", "loop"), turn("l2", "loop", 2), turn("l3", "loop", 3)
    )
    made.put(turn("z", "z"))

    assert names(made.turns) == "a l1 l2 l3 z"
    assert names(made.before("loop", 3)) == "a l1 l2"


def test_a_loop_that_runs_again_replaces_all_of_its_questions_in_place() -> None:
    made = conversation(
        turn("l1", "loop"), turn("l2", "loop", 2), turn("l3", "loop", 3), turn("z", "z")
    )
    made.put(turn("m1", "loop"))
    seen_by_second = names(made.before("loop", 2))
    made.put(turn("m2", "loop", 2))

    assert seen_by_second == "m1"
    assert names(made.turns) == "m1 m2 z"


def test_putting_a_turn_twice_is_putting_it_once() -> None:
    made = conversation(turn("a"), turn("b", "b"))
    made.put(turn("a"))
    made.put(turn("b", "b"))

    assert names(made.turns) == "a b"


def test_a_fresh_start_hides_what_stands_before_it() -> None:
    made = conversation(turn("a", "a"), turn("b", "b", fresh=True), turn("c", "c"))

    assert names(made.before("b")) == "a"
    assert names(made.before("c")) == "b"
    assert names(made.before("d")) == "b c"


def test_a_cell_that_asks_in_another_conversation_leaves_the_first() -> None:
    history = NotebookHistory()
    made = history.conversation()
    for each in (turn("a", "a"), turn("b", "b"), turn("c")):
        made.put(each)
    history.put("side", turn("new", "b"))
    history.put("side", turn("other"))

    assert names(made.turns) == "a c"
    assert names(history.turns("side")) == "new other"
    assert history.conversations == ("main", "side")


def test_who_reads_the_turns_keeps_what_they_read() -> None:
    made = conversation(turn("a", "a"))
    read = made.turns
    made.put(turn("b", "b"))
    made.put(replace(turn("a2", "a"), status="failed"))

    assert names(read) == "a"


CALL: Message = {"role": "assistant", "content": "", "tool_calls": [ToolCall("1", "look", {})]}
RESULT: Message = {"role": "tool", "tool_call_id": "1", "name": "look", "content": "seen"}
QUESTION: Message = {"role": "user", "content": "q"}
ANSWER: Message = {"role": "assistant", "content": "half"}
MARK = f"assistant: {STOPPED_MARK}"


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ([], []),
        ([ANSWER], ["user: q", f"assistant: half\n\n{STOPPED_MARK}"]),
        ([CALL], ["user: q", "assistant: ", "tool: The call was stopped", MARK]),
        ([CALL, RESULT], ["user: q", "assistant: ", "tool: seen", MARK]),
        (
            [CALL, RESULT, CALL],
            ["user: q", "assistant: ", "tool: seen", "assistant: ", "tool: The call was", MARK],
        ),
        ([RESULT, ANSWER], ["user: q", f"assistant: half\n\n{STOPPED_MARK}"]),
    ],
)
def test_a_turn_that_was_stopped_anywhere_is_sent_so_that_providers_take_it(
    said: list[Message], sent: list[str]
) -> None:
    stopped = replace(turn("t"), messages=(QUESTION, *said), status="interrupted")
    messages = past_messages([stopped])
    shown = [f"{message['role']}: {message['content']}" for message in messages]
    assert len(shown) == len(sent)
    assert all(one.startswith(other) for one, other in zip(shown, sent, strict=True))


def test_nothing_of_a_failed_turn_is_sent() -> None:
    failed = replace(turn("t"), messages=(QUESTION, CALL), status="failed")

    assert past_messages([failed]) == []
