"""`-v` in a real shell: the request as a real server gets it, folded, with files as digests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from PIL import Image

from agentcell import LegacyOpenAIModel, OpenAIModel
from agentcell.adapters.digests import for_people
from agentcell.testing import ChatServer, Reply, ResponsesServer
from agentcell_magics import current_session
from agentcell_magics.sent_card import LONGEST, sent

KEY = "qk7Zp2WvX9mRt4Ls8Yb3"


@pytest.fixture
def server(shell: InteractiveShell) -> Iterator[ResponsesServer]:  # noqa: ARG001
    with ResponsesServer(Reply("27.95")) as server:
        current_session().model = OpenAIModel("gpt-6-luna", KEY, server.url)
        yield server


@pytest.fixture
def receipt(tmp_path: Path) -> Path:
    path = tmp_path / "receipt.png"
    Image.effect_noise((300, 300), 90).save(path)
    return path


def shown(shell: InteractiveShell, source: str) -> list[dict[str, Any]]:
    with capture_output() as captured:
        assert shell.run_cell(source).success
    return [output.data for output in captured.outputs]


def cards(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [data for data in outputs if "request as sent" in data.get("text/plain", "")]


def body_of(card: dict[str, Any]) -> Any:
    return json.loads(card["text/plain"].partition("\n")[2])


def test_the_request_is_shown_before_the_answer_as_the_server_gets_it(
    shell: InteractiveShell, server: ResponsesServer, receipt: Path
) -> None:
    outputs = shown(shell, f"%%agent -v -a bill={receipt} --max-tokens 50\nThe total on {{bill}}?")

    (card,) = cards(outputs)
    place = outputs.index(card)
    assert any("27.95" in str(data) for data in outputs[place + 1 :])
    told = body_of(card)
    assert told["POST"] == f"{server.url}/responses"
    assert told["body"] == for_people(server.requests[0].body)
    assert told["body"]["max_output_tokens"] == 50
    assert "<image/png" in card["text/plain"]
    assert card["text/html"].startswith("<details")
    assert KEY not in str(outputs)
    assert "iVBORw0KGgo" not in str(card)


def test_without_it_nothing_is_shown_and_the_last_one_can_be_asked_for(
    shell: InteractiveShell, server: ResponsesServer
) -> None:
    assert "Nothing was asked yet" in str(shown(shell, "%agent -v"))
    assert cards(shown(shell, "%%agent\nHello there?")) == []

    (card,) = cards(shown(shell, "%agent --verbose"))

    assert body_of(card)["body"] == for_people(server.requests[0].body)
    assert "Hello there?" in card["text/plain"]


def test_a_dry_run_and_a_quiet_cell_show_it_too(
    shell: InteractiveShell, server: ResponsesServer
) -> None:
    assert len(cards(shown(shell, "%%agent -n -v\nHello?"))) == 1
    assert server.requests == []
    assert len(cards(shown(shell, "%%agent -q -v\nHello?"))) == 1
    assert len(server.requests) == 1


def test_tools_and_the_schema_stand_in_it(shell: InteractiveShell) -> None:
    source = "def weather(city: str) -> str:\n    'Tells the weather.'\n    return 'sunny'\n"
    schema = "wanted = {'type': 'object', 'properties': {'t': {'type': 'string'}}}"
    with ChatServer(Reply('{"t": "sunny"}')) as server:
        current_session().model = LegacyOpenAIModel("gpt-4.1", KEY, server.url)
        shown(shell, f"{source}\n{schema}")

        (card,) = cards(shown(shell, "%%agent -v -T weather --schema wanted\nHow is it in Rome?"))

        assert body_of(card)["body"] == for_people(server.requests[0].body)
    assert "Tells the weather." in card["text/plain"]


def test_what_a_person_wrote_does_nothing_in_the_card(
    shell: InteractiveShell, server: ResponsesServer
) -> None:
    hostile = "</pre><script>alert(1)</script> ```` <img src=x onerror=alert(1)> \x1b[31m"

    (card,) = cards(shown(shell, f"%%agent -v\n{hostile}"))

    assert len(server.requests) == 1
    assert "<script" not in card["text/html"]
    assert "<img" not in card["text/html"]
    assert "\x1b" not in card["text/plain"] + card["text/html"] + card["text/markdown"]
    assert "<script" not in card["text/markdown"]  # not even in a fence: hosts differ
    assert "&lt;script" in card["text/markdown"]


def test_a_long_request_is_cut() -> None:
    card = sent("x" * (LONGEST + 7))

    assert card["text/plain"].endswith("… (7 characters more)")
