"""Whatever a model, a tool, a service or a file's name says, in every place of an output."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from PIL import Image

from agentcell import ImageAsset, MediaMessageBlock
from agentcell.adapters.events import (
    Citation,
    Finished,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
)
from agentcell.agents.exchange import ToolFinished
from agentcell.answer import Answer
from agentcell.errors import BadRequest
from agentcell.messages import ToolCall
from agentcell.testing import FakeModel
from agentcell_magics import cards, current_session
from agentcell_magics.live import answer_bundle
from agentcell_magics.sent_card import sent
from harmless import faults, faults_of_html
from hostile import EVIL, FILES, HOSTILE, LIES_BESIDE

hostile = pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))


def picture(name: str) -> ImageAsset:
    data = io.BytesIO()
    Image.new("RGB", (30, 20), "white").save(data, "PNG")
    return ImageAsset.from_bytes(data.getvalue(), filename=name or None)


@pytest.mark.parametrize(
    "html",
    [
        "<img src=x>",
        "<div onclick=x>",
        "<!-- x -->",
        "<div style='background:url(x)'>",
        "<a href='https://a.example'>b</a>",
        "<a href='javascript:x'>javascript:x</a>",
        "<svg>",
    ],
)
def test_the_check_itself_finds_what_is_wrong(html: str) -> None:
    assert faults_of_html(html)
    assert faults({"text/html": html})
    assert faults({"text/markdown": html})


@hostile
def test_an_answer_is_harmless(text: str) -> None:
    assert faults(answer_bundle(text, ["[receipt_1 Receipt]"])) == []
    assert faults(Answer(text)._repr_mimebundle_()) == []


@hostile
def test_every_card_is_harmless_whatever_it_tells_of(text: str) -> None:
    block = MediaMessageBlock(
        asset=picture(text.replace("/", "")[:200]), field_name="x", tag=f"[x_1 {text}]"
    )
    call = ToolCall(
        id="1", name=text, arguments={text: text, "n": [text]}, raw_arguments=json.dumps(text)
    )
    answer = Answer(
        text,
        model=text,
        finish_reason=text,
        usage=Usage(input_tokens=5, output_tokens=6),
        citations=(
            Citation(quote=text, tag=text, page=1),
            Citation(quote=text, url=text, title=text),
            Citation(quote=text, url=f"{EVIL}/{text}", title=text),
        ),
    )
    shown = [
        cards.attachments([block], asked=text, notes=[text]),
        cards.line(text),
        cards.footer(answer, thinking=text),
        cards.rows(text, [(text, text)]),
        cards.tool_calls(
            [
                (call, None),
                (call, ToolFinished(call=call, content=text, seconds=1.0, is_error=False)),
                (call, ToolFinished(call=call, content=text, seconds=1.0, is_error=True)),
            ],
            waiting=text,
        ),
        sent(text, text),
    ]
    data, _ = cards.picture(block) or ({}, {})

    assert [faults(bundle) for bundle in [*shown, data]] == [[]] * (len(shown) + 1)


def said(text: str) -> list[Any]:
    """A tool's round and an answer in which everything says `text`."""
    return [
        [
            ThinkingDelta(text or "x"),
            ToolCallDelta(index=0, id="1", name=text or "x", arguments=json.dumps({"a": text})),
            ToolCallDelta(index=1, id="2", name="spy", arguments=json.dumps({"a": text})),
            Finished(reason="tool_calls"),
        ],
        [
            ThinkingDelta(text or "x"),
            TextDelta(text or "x"),
            Citation(quote=text, url=f"{EVIL}/{text}", title=text),
            Finished(reason="stop"),
        ],
    ]


class Cell:
    """What a cell left behind."""

    def __init__(self, shell: InteractiveShell, source: str) -> None:
        with capture_output() as captured:
            self.ran = shell.run_cell(source)
        self.outputs = [dict(output.data) for output in captured.outputs]
        self.printed = captured.stdout + captured.stderr


def test_a_whole_turn_is_harmless(shell: InteractiveShell, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(LIES_BESIDE, encoding="utf-8")
    shell.run_cell("def spy(a):\n    'Repeats it.'\n    return a")
    shell.run_line_magic("config", "AgentMagics.history = 'memory'")
    for text in HOSTILE:
        current_session().model = FakeModel(*said(text), model_name=text.strip()[:80] or "x")
        shell.push({"photo": picture(text.replace("/", "")[:200])})
        cell = Cell(shell, "%%agent --fresh -T spy --approve run -i photo=IMAGE:Photo\nSee {photo}")
        assert cell.ran.success, (text, cell.printed)
        assert len(cell.outputs) >= 4
        assert [faults(output) for output in cell.outputs] == [[]] * len(cell.outputs), text
        assert LIES_BESIDE not in str(cell.outputs)
    for command in ("", "history", "attachments", "-v"):
        listed = Cell(shell, f"%agent {command}")
        assert [faults(output) for output in listed.outputs] == [[]] * len(listed.outputs)


def test_an_error_s_text_is_harmless_and_short(shell: InteractiveShell) -> None:
    shell.run_line_magic("config", "AgentMagics.history = 'memory'")
    for text in HOSTILE:
        current_session().model = FakeModel(BadRequest(f"It said {text}", fix=f"do {text}"))
        cell = Cell(shell, "%%agent --fresh\nask")
        assert not cell.ran.success
        assert [faults(output) for output in cell.outputs] == [[]] * len(cell.outputs), text
        assert faults({"text/plain": cell.printed}) == []
        assert len(cell.printed.splitlines()) <= 15, text
        assert str(cell.ran.error_in_exec).encode()


@pytest.mark.parametrize("text", FILES)
def test_a_text_that_names_a_file_or_an_address_is_shown_as_it_is(
    shell: InteractiveShell, tmp_path: Path, text: str
) -> None:
    (tmp_path / "secret.txt").write_text(LIES_BESIDE, encoding="utf-8")
    (tmp_path / "secret.svg").write_text(f"<svg>{LIES_BESIDE}</svg>", encoding="utf-8")
    current_session().model = FakeModel(text)
    cell = Cell(shell, "%%agent -q\nask")

    assert cell.outputs[-1]["text/plain"] == text
    assert LIES_BESIDE not in str(cell.outputs)
