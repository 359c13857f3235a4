"""`%generate` as a person sees it in JupyterLab: while it is made, stopped, and what came."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from agentcell.testing.media_server import MediaServer
from labkit import OpenNotebook, use_theme
from media import png

TOKEN = "media-token-q8Zp2WvX9mRt4Ls8"  # noqa: S105 (nobody's)

WEBM = (Path(__file__).parent.parent / "data/tiny.webm").read_bytes()
"""One frame of 8 by 8 pixels: the smallest file of its kind."""

SETUP = """\
import asyncio, sys
from pathlib import Path
goes_on = Path({goes_on!r})
sys.path.insert(0, {tests!r})
%load_ext agentcell
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.events import Ended, Made, PartialImage, Progressed
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.hosted.states import Patience
from agentcell_magics import current_session
from media import png
backends = current_session().generator.backends
backends.add(HostedMediaBackend({url!r}, {token!r}, patience=Patience(interval=0.2)))
class Slow(ImageBackend):
    name = "slow"
    async def run(self, wish, *, key):
        for part in range(1, 40):
            yield Progressed("painting", part / 40)
            if part == 4:
                yield PartialImage(png("grey", (320, 200)))
            while part == 10 and not goes_on.exists():
                yield Progressed("painting", part / 40)
                await asyncio.sleep(0.1)
        yield Made(kind="image", data=png("orange", (640, 400)))
        yield Ended(model="oil")
backends.add(Slow())
"""


@pytest.fixture
def service() -> Iterator[MediaServer]:
    with MediaServer(token=TOKEN) as server:
        yield server


@pytest.fixture
def goes_on(tmp_path: Path) -> Path:
    """A file; once it is there, `slow` goes on after its first quarter."""
    return tmp_path / "goes-on"


def setup(service: MediaServer, goes_on: Path | None = None) -> str:
    tests = str(Path(__file__).parent.parent)
    facts = {"tests": tests, "url": service.url, "token": TOKEN}
    return SETUP.format(**facts, goes_on=str(goes_on or Path(__file__)))


def test_pictures_are_shown_with_links_that_open_them(
    open_notebook: OpenNotebook, service: MediaServer, external: list[str]
) -> None:
    cells = [
        setup(service),
        "%generate a lighthouse at dusk -m procedural --size 800x500 --seed 4 -o light",
        "%generate foxes in a row -m procedural -n 3 --size 400x300",
        "%%generate -m procedural --size 800x500\n{light} in deep snow",
        "%generate jobs",
        "%generate backends",
    ]
    notebook = open_notebook(cells)
    notebook.run_all()

    picture = notebook.output(1).locator("img")
    expect(picture).to_have_count(1)
    assert picture.evaluate("e => e.naturalWidth") > 200
    link = notebook.output(1).locator("a")
    expect(link).to_have_text(re.compile(r"generated-media/procedural-\w+-0\.png"))
    address = str(link.evaluate("e => e.href"))
    assert "/files/generated-media/" in address
    response = notebook.page.request.get(address)
    assert response.ok
    assert response.body()[:4] == b"\x89PNG"
    expect(notebook.output(2).locator("img")).to_have_count(1)
    expect(notebook.output(2).locator("a")).to_have_count(3)
    expect(notebook.output(3)).to_contain_text("Asked: [light_1 light] in deep snow")
    notebook.cell(1).scroll_into_view_if_needed()
    notebook.screenshot("generate-light")
    notebook.cell(5).scroll_into_view_if_needed()
    notebook.screenshot("generate-light-2")
    assert external == []


def test_it_reads_well_in_the_dark_and_on_a_narrow_screen(
    open_notebook: OpenNotebook, service: MediaServer, page: Page
) -> None:
    service.job(
        "success",
        files=[service.file("w.webm", WEBM, content_type="video/webm")],
        thumbnails=[service.file("w.png", png("teal", (640, 360)))],
        cost=0.13,
    )
    notebook = open_notebook(
        [
            setup(service),
            "%generate a lighthouse at dusk -m procedural --size 800x500 --seed 4 -o light",
            "%generate waves that break -m hosted --video",
        ]
    )
    notebook.run_all()
    use_theme(page, "dark")
    try:
        notebook.cell(2).scroll_into_view_if_needed()
        notebook.screenshot("generate-dark")
        page.set_viewport_size({"width": 400, "height": 900})
        notebook.command("application:toggle-left-area")
        wide = notebook.cell(1).evaluate(
            "e => [...e.querySelectorAll('.jp-OutputArea-output')]"
            ".some(one => one.scrollWidth > one.clientWidth + 1)"
        )
        notebook.cell(2).evaluate("e => e.scrollIntoView({block: 'end'})")
        notebook.screenshot("generate-narrow")
        assert not wide
    finally:
        page.set_viewport_size({"width": 1280, "height": 900})
        notebook.command("application:toggle-left-area")
        use_theme(page, "light")


def test_a_clip_plays_where_it_stands(open_notebook: OpenNotebook, service: MediaServer) -> None:
    service.job(
        "queued",
        "success",
        files=[service.file("w.webm", WEBM, content_type="video/webm")],
        thumbnails=[service.file("w.png", png("teal", (640, 360)))],
        cost=0.13,
    )
    notebook = open_notebook(
        [setup(service), "%generate waves that break -m hosted --video --duration 6"]
    )
    notebook.run_all()
    output = notebook.output(1)

    expect(output.locator("img")).to_have_count(1)
    video = output.locator("video")
    expect(video).to_have_count(1)
    notebook.page.wait_for_function(
        "() => [...document.querySelectorAll('video')].some(one => one.videoWidth === 8)"
    )
    assert "/files/generated-media/" in str(video.evaluate("e => e.src"))
    expect(output).to_contain_text("$0.13")
    output.scroll_into_view_if_needed()
    notebook.screenshot("generate-clip")
    saved = notebook.save()
    assert "base64" not in str(saved["cells"][1]["outputs"][1])


def test_one_line_a_bar_and_a_preview_while_it_is_made_and_a_stop_that_works(
    open_notebook: OpenNotebook, service: MediaServer, goes_on: Path
) -> None:
    notebook = open_notebook(
        [setup(service, goes_on), "%generate a fox in oil -m slow", "%generate a fox -m hosted"]
    )
    notebook.run(0)
    notebook.run(1, wait=False)
    output = notebook.output(1)
    expect(output).to_contain_text("Making a picture with slow · cost unknown · painting")
    expect(output.locator("progress")).to_have_count(1)
    expect(output.locator("img")).to_have_count(1)
    expect(output).to_contain_text(re.compile(r"25 % · [1-9]\d* s"))
    notebook.screenshot("generate-while")
    goes_on.touch()
    expect(output.locator("a")).to_have_count(1)
    expect(output.locator("progress")).to_have_count(0)
    notebook.wait_idle()

    service.job("queued", "running")
    notebook.run(2, wait=False)
    expect(notebook.output(2)).to_contain_text("running")
    notebook.command("notebook:interrupt-kernel")
    expect(notebook.output(2)).to_contain_text("hosted goes on with job-")
    expect(notebook.output(2)).to_contain_text("%generate resume job-")
    notebook.output(2).scroll_into_view_if_needed()
    notebook.screenshot("generate-stopped")
    assert service.charged == 1


def test_in_the_background_it_follows_in_its_own_cell(
    open_notebook: OpenNotebook, service: MediaServer, goes_on: Path
) -> None:
    notebook = open_notebook(
        [setup(service, goes_on), "%generate a fox in oil -m slow --async -o fox", "1 + 1"]
    )
    notebook.run(0)
    notebook.run(1)
    notebook.run(2)
    expect(notebook.output(2)).to_contain_text("2")
    output = notebook.output(1)
    expect(output.locator("progress")).to_have_count(1)
    goes_on.touch()
    expect(output.locator("a")).to_have_count(1)
    expect(output.locator("img")).to_have_count(1)
    expect(output.locator("progress")).to_have_count(0)
    expect(notebook.output(2)).not_to_contain_text("fox")
    outputs = notebook.save()["cells"][1]["outputs"]
    told = [output["data"]["text/plain"] for output in outputs]
    assert told[-2] == "a fox in oil"
    assert told[-1].endswith("slow/oil · cost unknown")
    assert len([one for one in told if "of before" not in one]) == 2
