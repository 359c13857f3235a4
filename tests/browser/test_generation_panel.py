"""The generation panel as a person uses it: wishes, prices, masks, jobs, results."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from axe import violations
from labkit import SCREENSHOTS, Notebook, OpenNotebook, use_theme

SETUP = """import asyncio, io
from decimal import Decimal
from PIL import Image
from agentcell import Session
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.events import Accepted, Ended, Made, PartialImage, Progressed
from agentcell.widgets import GenerationPanel
def png(color, size=(120, 80)):
    file = io.BytesIO(); Image.new('RGB', size, color).save(file, 'PNG'); return file.getvalue()
class Slow(ImageBackend):
    name, can_resume, wishes, go = 'slow', True, [], asyncio.Event()
    def price(self, wish):
        return Decimal('0.04')
    async def run(self, wish, *, key):
        self.wishes.append(wish)
        yield Accepted('req-1')
        yield Progressed('painting', 0.25)
        yield PartialImage(png('royalblue'), 0)
        await self.go.wait()
        yield Made(kind='image', data=png('tomato'))
        yield Ended(model='slow-1', cost=Decimal('0.04'), seed=7)
    async def resume(self, request_id, wish):
        yield Made(kind='image', data=png('seagreen'))
        yield Ended(model='slow-1', cost=Decimal('0.04'))
slow = Slow()
session = Session(history='.')
session.generator.backends.add(slow)
panel = GenerationPanel(session)
panel"""

MASK = """wish = slow.wishes[-1]
mask = Image.open(io.BytesIO(wish.mask.load_bytes()))
clear = [mask.getpixel(place)[3] for place in ((60, 40), (2, 2))]
print(mask.size, clear, wish.references[0].filename)"""
WAITING = "print([block.tag for block in session.waiting])"
WORK = "import time; time.sleep(300)"  # longer than all that is done meanwhile

WIDER = """e => [...e.querySelectorAll('*'), e].filter(n => !n.closest('.agentcell-unseen') &&
    n.getBoundingClientRect().right > e.getBoundingClientRect().right + 1).length"""


def region(notebook: Notebook) -> Locator:
    return notebook.output(0).get_by_role("region", name="Pictures and clips")


def part(notebook: Notebook, name: str) -> Locator:
    return region(notebook).get_by_role("region", name=name)


def ask(notebook: Notebook, prompt: str, maker: str) -> None:
    region(notebook).get_by_label("What is to be seen").fill(prompt)
    region(notebook).get_by_label("Maker").fill(maker)
    region(notebook).get_by_label("What is to be seen").press("Enter")


def png(color: str) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (120, 80), color).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def notebook(open_notebook: OpenNotebook) -> Notebook:
    notebook = open_notebook([SETUP, MASK, WAITING, WORK])
    notebook.run(0)
    expect(region(notebook)).to_contain_text("No results yet.")
    return notebook


def test_a_free_wish_becomes_a_picture_that_goes_to_the_chat(
    notebook: Notebook, external: list[str]
) -> None:
    region(notebook).get_by_label("Size").fill("256x256")
    region(notebook).get_by_label("Count").fill("2")
    ask(notebook, "a lighthouse at dusk", "procedural")
    results = part(notebook, "Results").get_by_role("listitem")
    expect(results).to_have_count(2)
    expect(results.first.get_by_role("img", name="a lighthouse at dusk")).to_be_visible()
    expect(results.first).to_contain_text("256 × 256")
    expect(results.first).to_contain_text("free")
    notebook.screenshot("generation-panel")

    results.first.get_by_role("button", name="Enlarge").click()
    dialog = notebook.page.get_by_role("dialog")
    expect(dialog.get_by_role("img")).to_be_visible()
    notebook.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    results.first.get_by_role("button", name="to the chat").click()
    expect(region(notebook)).to_contain_text("goes with the next question.")
    notebook.run(2)
    expect(notebook.output(2)).to_contain_text("[generated_1 a lighthouse at dusk]")
    assert external == []


def test_a_price_is_agreed_to_progress_is_shown_and_stop_works_while_a_cell_runs(
    notebook: Notebook,
) -> None:
    notebook.run(3, wait=False)
    ask(notebook, "a fox at a price", "slow")
    question = region(notebook).get_by_text("slow makes this for about $0.04.")
    expect(question).to_be_visible()
    notebook.page.keyboard.press("Enter")  # the focus is on the button that agrees

    run = part(notebook, "On the way").get_by_role("listitem")
    expect(run).to_contain_text("painting")
    expect(run.get_by_role("progressbar")).to_have_attribute("value", "0.25")
    expect(run.get_by_role("img", name="preview of a fox at a price")).to_be_visible()
    notebook.screenshot("generation-panel-running")
    run.get_by_role("button", name="Stop a fox at a price").click()
    expect(run).to_contain_text("stopped")
    expect(notebook.cell(3).locator(".jp-InputPrompt")).to_contain_text("[*]")

    job = part(notebook, "Unfinished").get_by_role("listitem").filter(has_text="at a price")
    job.get_by_role("button", name="Resume a fox at a price").click()
    expect(part(notebook, "Results").get_by_role("listitem")).to_have_count(1)
    expect(job).to_have_count(0)  # other tests may have left some of theirs


def test_declining_a_price_sends_nothing(notebook: Notebook) -> None:
    ask(notebook, "a fox", "slow")
    region(notebook).get_by_role("button", name="Not now").click()

    expect(region(notebook).get_by_text("for about $0.04")).to_be_hidden()
    expect(part(notebook, "On the way")).to_be_hidden()


@pytest.mark.parametrize("way", ["mouse", "keyboard"])
def test_a_mask_is_painted_on_a_picture(notebook: Notebook, way: str) -> None:
    region(notebook).locator("input[type=file]").set_input_files(
        {"name": "sea.png", "mimeType": "image/png", "buffer": png("navy")}
    )
    region(notebook).get_by_role("button", name="Paint what may change").click()
    canvas = notebook.page.get_by_role("application", name="Paint what may change")
    expect(canvas).to_be_focused()
    if way == "mouse":
        box = canvas.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        notebook.page.mouse.move(x - 10, y)
        notebook.page.mouse.down()
        notebook.page.mouse.move(x + 10, y, steps=4)
        notebook.page.mouse.up()
        notebook.screenshot("generation-panel-mask")
    else:
        notebook.page.keyboard.press("Space")  # the brush begins in the middle
    notebook.page.get_by_role("button", name="Use this mask").click()
    expect(region(notebook)).to_contain_text("A mask is painted on sea.png.")
    expect(region(notebook).get_by_role("button", name="Remove the mask")).to_be_visible()

    ask(notebook, "a ship", "slow")
    region(notebook).get_by_role("button", name="Generate for $0.04").click()
    expect(part(notebook, "On the way").get_by_role("listitem")).to_contain_text("painting")
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text("(120, 80) [0, 255] sea.png")


def test_a_wrong_wish_is_told_in_the_panel(notebook: Notebook) -> None:
    region(notebook).get_by_label("Size").fill("huge")
    ask(notebook, "a fox", "procedural")

    status = region(notebook).get_by_role("status").last
    expect(status).to_contain_text("WIDTHxHEIGHT")


def test_what_a_clip_needs_is_asked_for_a_clip_alone(notebook: Notebook) -> None:
    panel = region(notebook)
    expect(panel.get_by_label("Seconds")).to_be_hidden()

    panel.get_by_label("Kind").select_option("video")

    expect(panel.get_by_label("Seconds")).to_be_visible()
    expect(panel.get_by_label("Count")).to_be_hidden()


def test_it_fits_and_axe_finds_nothing_serious_in_both_themes_at_400_and_1600_pixels(
    notebook: Notebook,
) -> None:
    region(notebook).get_by_label("Size").fill("128x128")
    for prompt in ("a lighthouse at dusk", "a harbour"):
        ask(notebook, prompt, "procedural")
        expect(part(notebook, "Results").get_by_role("img", name=prompt)).to_be_visible()
    region(notebook).locator("input[type=file]").set_input_files(
        {"name": "a photo with a long name.png", "mimeType": "image/png", "buffer": png("navy")}
    )
    ask(notebook, "a fox", "slow")
    region(notebook).get_by_role("button", name="Generate for $0.04").click()
    expect(part(notebook, "On the way").get_by_role("listitem")).to_contain_text("painting")
    ask(notebook, "a hare", "slow")
    expect(region(notebook).get_by_role("button", name="Generate for $0.04")).to_be_visible()

    for theme in ("light", "dark"):
        use_theme(notebook.page, theme)
        for width in (400, 1600):
            notebook.page.set_viewport_size({"width": 2100, "height": 1000})
            region(notebook).evaluate(f"e => {{ e.parentElement.style.width = '{width}px' }}")
            assert region(notebook).evaluate(WIDER) == 0
            picture = SCREENSHOTS / f"generation-panel-{theme}-{width}.png"
            region(notebook).screenshot(path=picture)
        assert violations(notebook.page, ".agentcell-generation") == []
    use_theme(notebook.page, "light")
    notebook.page.set_viewport_size({"width": 1280, "height": 900})


CLIP = """
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.events import Ended, Made
class Film(ImageBackend):
    name, kinds = 'film', frozenset({{'video'}})
    async def run(self, wish, *, key):
        yield Made(kind='video', data=open({clip!r}, 'rb').read())
        yield Ended(model='film-1')
session.generator.backends.add(Film())
session.generate('waves that break', model='film', kind='video')
GenerationPanel(session)
"""


def test_a_clip_plays_in_the_panel(open_notebook: OpenNotebook) -> None:
    clip = str(Path(__file__).parent.parent / "data" / "tiny.webm")
    again = open_notebook([SETUP, CLIP.format(clip=clip)])
    again.run_all()
    panel = again.output(1).get_by_role("region", name="Pictures and clips")
    panel.get_by_role("button", name="Enlarge").first.click()
    shown = panel.get_by_role("dialog").locator("video")
    expect(shown).to_be_visible()

    assert shown.evaluate("e => [e.videoWidth, e.readyState > 0]") == [8, True]
    assert "/files/generated-media/" in str(shown.evaluate("e => e.src"))
    again.page.keyboard.press("Escape")
    expect(shown).to_have_count(0)


def test_a_reopened_notebook_shows_the_results_without_a_kernel(
    notebook: Notebook, open_notebook: OpenNotebook
) -> None:
    region(notebook).get_by_label("Size").fill("128x128")
    ask(notebook, "a lighthouse at dusk", "procedural")
    expect(part(notebook, "Results").get_by_role("listitem")).to_have_count(1)
    hidden = notebook.output(0).locator(".agentcell-static")
    expect(hidden).to_contain_text("a lighthouse at dusk")
    saved = notebook.save()
    notebook.close()

    assert len(json.dumps(saved["cells"][0]["outputs"])) < 50_000
    again = open_notebook(name=notebook.name, kernel=False)
    picture = again.output(0).get_by_role("img", name="a lighthouse at dusk")
    expect(picture).to_be_visible()
    assert picture.evaluate("e => e.decode().then(() => e.naturalWidth)") == 128
    again.screenshot("generation-panel-reopened")
