"""`%generate` with hostile texts and with secrets: nothing runs, and none is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from IPython.core.interactiveshell import InteractiveShell
from markdown_it import MarkdownIt

from agentcell.imaging.generation import Artifact, Generation
from agentcell.testing.media_server import SIGNATURE, MediaServer
from agentcell_magics import generate_cards
from generate_kit import BASE64, TOKEN, Cell, Painter, added_painter, added_service
from harmless import UNSEEN, faults_of_html
from hostile import HOSTILE
from media import png


@pytest.fixture
def painter(shell: InteractiveShell) -> Painter:  # noqa: ARG001 (it loads the magics)
    return added_painter()


@pytest.fixture
def service(shell: InteractiveShell) -> Iterator[MediaServer]:  # noqa: ARG001
    with added_service() as server:
        yield server


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_prompt_file_name_and_model_run_nothing(text: str, tmp_path: Path) -> None:
    name = "".join("_" if char in "/\0" else char for char in text)[:50]
    name = name.encode("utf-8", "replace").decode()[:60]
    path = tmp_path / "generated-media" / f"{name}.png"
    generation = Generation(
        artifacts=(
            Artifact(
                path=path, kind="image", mime_type="image/png", digest="", size_bytes=1, alt=text
            ),
            Artifact(
                path=path.with_suffix(".mp4"),
                kind="video",
                mime_type="video/mp4",
                digest="",
                size_bytes=1,
                alt=text,
            ),
        ),
        prompt=text,
        model=text,
        backend="painter",
        revised_prompt=text,
        missing=(text,),
    )
    card, _ = generate_cards.result(generation, tmp_path)
    said = generate_cards.progress([text], text, 0.5, 3.0)

    for bundle in (card, said):
        pages = [bundle["text/html"]]
        pages += [
            MarkdownIt(preset, {"html": True, "linkify": False}).render(bundle["text/markdown"])
            for preset in ("commonmark", "gfm-like")
        ]
        found = [fault for page in pages for fault in faults_of_html(page) if not _is_ours(fault)]
        assert found == []
        assert not UNSEEN.search("".join(bundle.values()))


def _is_ours(fault: str) -> bool:
    """Whether it is a player, a bar, or a link that leads to the file that it names."""
    if re.match(r"<(video|progress)( (controls|preload|src|value|max|style))?>$", fault):
        return True
    href, _, shown = fault.partition(" is shown as ")
    return href.startswith("generated-media/") and " ".join(unquote(href).split()) == shown


def test_no_signature_no_token_no_base64_in_any_output(
    shell: InteractiveShell, service: MediaServer, tmp_path: Path
) -> None:
    service.job("success", files=[service.file("a.png", png("red", (900, 700)))])
    service.job("success", files=[service.file("b.html", b"<html>")])
    cells = [
        Cell(shell, "%generate a fox -m hosted -o fox"),
        Cell(shell, "%generate b -m hosted"),
        Cell(shell, "fox"),
        Cell(shell, "%generate jobs --all"),
        Cell(shell, "repr(fox)"),
    ]
    kept = "".join(path.read_text("utf-8", "replace") for path in tmp_path.rglob("*.jsonl"))

    for cell in cells:
        texts = [{k: v for k, v in out.items() if "image/" not in k} for out in cell.outputs]
        written = json.dumps([texts, cell.metadata, cell.stdout])
        assert SIGNATURE.partition("=")[2] not in written + kept
        assert TOKEN not in written + kept
        assert not BASE64.search(written)
    assert cells[1].error is not None
