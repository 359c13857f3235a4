from __future__ import annotations

from typing import Any

import pytest

from agentcell.adapters.events import Event, Finished, TextDelta, ToolCallDelta, Usage
from agentcell.errors import BadRequest, ModelError, StreamTruncated
from agentcell.history.turn_record import TurnRecord
from agentcell.history.turns import Turn

ASKED = Turn(
    id="t",
    cell_id=None,
    messages=({"role": "user", "content": "Hi"},),
    status="interrupted",
    model="test/m",
)
END = Finished(reason="stop")
TOKENS = Usage(output_tokens=2)


def play(record: TurnRecord, *events: Any, error: BaseException | None = None) -> None:
    with record:
        for event in events:
            record.take(event)
        if error is not None:
            raise error


def test_a_whole_answer_makes_a_complete_turn() -> None:
    turns: list[Turn] = []
    play(TurnRecord(ASKED, turns.append), TextDelta("Hel"), TextDelta("lo"), TOKENS, END)

    (turn,) = turns
    assert (turn.status, turn.answer, turn.finish_reason) == ("complete", "Hello", "stop")
    assert turn.usage == TOKENS
    assert turn.messages[0] == ASKED.messages[0]
    assert turn.seconds >= 0


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (BadRequest("It said no.", fix="ask better."), "failed", "It said no."),
        (KeyError("bug"), "failed", "KeyError: 'bug'"),
        (KeyboardInterrupt(), "interrupted", ""),
        (SystemExit(3), "interrupted", ""),
        (GeneratorExit(), "interrupted", ""),
    ],
)
def test_however_it_ends_what_came_is_kept_once(
    error: BaseException, status: str, said: str
) -> None:
    turns: list[Turn] = []
    with pytest.raises(type(error)):
        play(TurnRecord(ASKED, turns.append), TextDelta("Hel"), error=error)

    (turn,) = turns
    assert (turn.status, turn.answer, turn.error) == (status, "Hel", said)


def test_nothing_that_came_is_no_message() -> None:
    turns: list[Turn] = []
    with pytest.raises(BadRequest):
        play(TurnRecord(ASKED, turns.append), error=BadRequest("no"))

    assert len(turns[0].messages) == 1


def test_an_answer_without_its_end_failed() -> None:
    turns: list[Turn] = []
    with pytest.raises(StreamTruncated):
        play(TurnRecord(ASKED, turns.append))

    assert [turn.status for turn in turns] == ["failed"]


@pytest.mark.parametrize("rubbish", ["text", None, {"text": "x"}, TextDelta(None)])  # type: ignore[arg-type]
def test_what_is_no_event_is_told(rubbish: Any) -> None:
    record = TurnRecord(ASKED, lambda _: None)

    with pytest.raises(ModelError, match=r"test/m gave .* an event was expected") as caught:
        record.take(rubbish)

    assert "TextDelta" in caught.value.fix


def test_a_call_of_a_tool_that_nobody_offered_is_no_answer() -> None:
    call: Event = ToolCallDelta(0, "1", "search", "{}")
    turns: list[Turn] = []
    with pytest.raises(ModelError, match="'search'"):
        play(TurnRecord(ASKED, turns.append), call, Finished(reason="tool_calls"))

    assert turns[0].status == "failed"
    assert len(turns[0].messages) == 1


def test_halves_of_characters_are_whole_in_the_turn() -> None:
    turns: list[Turn] = []
    play(TurnRecord(ASKED, turns.append), TextDelta("\ud83d"), TextDelta("\ude00\ud800"), END)

    assert turns[0].answer == "😀\ufffd"


def test_an_interrupt_of_the_commit_does_not_lose_the_turn() -> None:
    turns: list[Turn] = []

    def commit(turn: Turn) -> None:
        if not turns:
            turns.append(turn)
            raise KeyboardInterrupt
        turns.append(turn)

    with pytest.raises(KeyboardInterrupt):
        play(TurnRecord(ASKED, commit), TextDelta("x"), END)

    assert [turn.status for turn in turns] == ["complete", "complete"]
    assert turns[0] is turns[1]
