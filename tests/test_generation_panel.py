"""The generation panel without a browser: wishes, prices, jobs on the way, results."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentcell import Session
from agentcell.errors import NotResumable, ServiceError
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.events import Accepted, BackendEvent, Ended, Made, PartialImage, Progressed
from agentcell.imaging.wish import GenerationWish
from agentcell.loop import LOOP
from agentcell.safe_text import unsendable
from agentcell_widgets.generation import GenerationPanel
from hostile import HOSTILE
from panels import Page

AGREED = "slow makes this for about $0.04."
"""What the person says yes to."""

FREE = {"prompt": "a red fox", "model": "procedural", "size": "64x64"}


def picture(color: str = "red", size: tuple[int, int] = (40, 30), *, clear: bool = False) -> bytes:
    made = Image.new("RGBA", size, color)
    if clear:
        made.paste((0, 0, 0, 0), (5, 5, 20, 20))
    sink = io.BytesIO()
    made.save(sink, "PNG")
    return sink.getvalue()


class Slow(ImageBackend):
    """Waits after each step until it is let go; costs four cents."""

    name = "slow"
    kinds = frozenset({"image", "video"})
    can_resume = True

    def __init__(self) -> None:
        self.wishes: list[GenerationWish] = []
        self.submitted = 0
        self.resumed: list[str] = []
        self.fails = self.bug = False
        self.each = Decimal("0.04")
        self.cancels: asyncio.Event | None = None
        self.go = asyncio.Event()

    def price(self, wish: GenerationWish) -> Decimal | None:
        return None if wish.model == "unpriced" else self.each

    async def run(self, wish: GenerationWish, *, key: str) -> AsyncIterator[BackendEvent]:
        del key
        self.wishes.append(wish)
        self.submitted += 1
        yield Accepted("req-1")
        yield Progressed("painting", 0.25)
        yield PartialImage(picture("blue"), 0)
        if self.bug:
            raise ValueError("no paint")
        if self.fails:
            raise ServiceError("The brush broke.", fix="ask again.")
        await self.go.wait()
        yield Made(kind="image", data=picture())
        yield Ended(model="slow-1", cost=Decimal("0.04"), seed=7)

    async def resume(self, request_id: str, wish: GenerationWish) -> AsyncIterator[BackendEvent]:
        del wish
        self.resumed.append(request_id)
        yield Made(kind="image", data=picture("green"))
        yield Ended(model="slow-1", cost=Decimal("0.04"))

    async def cancel(self, request_id: str) -> bool:
        if self.cancels is not None:
            await self.cancels.wait()
        return request_id == "req-1"


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    return Session(history=tmp_path)


@pytest.fixture
def slow(session: Session) -> Slow:
    slow = Slow()
    session.generator.backends.add(slow)
    return slow


@pytest.fixture
def panel(session: Session) -> Iterator[GenerationPanel]:
    panel = GenerationPanel(session)
    yield panel
    panel.close()


@pytest.fixture
def page(panel: GenerationPanel) -> Page:
    return Page(panel)


async def _all(events: AsyncIterator[object]) -> list[object]:
    return [event async for event in events]


def state_with(page: Page, **lengths: int) -> dict[str, Any]:
    """Return the first state told in which the lists named are that long."""

    def is_so(content: dict[str, Any]) -> bool:
        told = content.get("payload", {})
        return content["kind"] == "state" and all(
            len(told[name]) == length for name, length in lengths.items()
        )

    payload: dict[str, Any] = page.wait(is_so)["payload"]
    return payload


def run_with(page: Page, state: str) -> dict[str, Any]:
    """Return the first wish on its way that was told to be in that state."""
    found = page.wait(
        lambda sent: (
            sent["kind"] == "state" and any(r["state"] == state for r in sent["payload"]["runs"])
        )
    )
    run: dict[str, Any] = next(r for r in found["payload"]["runs"] if r["state"] == state)
    return run


def test_a_free_wish_is_made_at_once_and_its_result_is_shown(session: Session, page: Page) -> None:
    page.ask("generate", {**FREE, "seed": "3", "count": 2})
    result = state_with(page, runs=0, results=2)["results"][0]

    assert result["facts"] == "rules · 64 × 64 · seed 3 · free"
    assert result["prompt"] == "a red fox"
    reply = page.ask("picture", {"of": "result", "id": result["id"], "side": 64})
    with Image.open(io.BytesIO(page.buffers_of(reply)[0])) as shown:
        assert shown.size == (64, 64)
    assert len(session.generator.generations[0].paths) == 2


def test_what_costs_money_is_asked_about_with_its_price(slow: Slow, page: Page) -> None:
    asked = page.ask("generate", {"prompt": "a fox", "model": "slow/slow-1"})
    unpriced = page.ask("generate", {"prompt": "a fox", "model": "slow/unpriced"})

    assert (asked["price"], asked["question"]) == (
        "$0.04",
        "slow/slow-1 makes this for about $0.04.",
    )
    assert (unpriced["price"], unpriced["question"]) == (
        "",
        "slow/unpriced makes this; what it costs is not known.",
    )
    assert slow.submitted == 0

    page.ask("generate", {"prompt": "a fox", "model": "slow/slow-1", "agreed": asked["question"]})
    slow.go.set()
    result = state_with(page, runs=0, results=1)["results"][0]
    assert "seed 7 · $0.04" in result["facts"]
    assert slow.submitted == 1


def test_what_was_agreed_to_is_that_price_and_no_other(slow: Slow, page: Page) -> None:
    slow.each = Decimal("0.40")
    asked = page.ask("generate", {"prompt": "a fox", "model": "slow", "agreed": AGREED})

    assert asked["question"] == "slow makes this for about $0.40."
    assert slow.submitted == 0


def test_while_a_service_takes_its_time_to_cancel_the_panel_answers(slow: Slow, page: Page) -> None:
    page.ask("generate", {"prompt": "a fox", "model": "slow", "agreed": AGREED})
    run = state_with(page, runs=1)["runs"][0]
    page.wait(lambda content: "painting" in str(content))
    page.ask("stop", {"run": run["id"]})
    job = state_with(page, jobs=1)["jobs"][0]
    slow.cancels = asyncio.Event()
    page.post("cancel", {"job": job["id"]}, name="late")

    page.ask("hello")  # not after it

    LOOP.loop().call_soon_threadsafe(slow.cancels.set)
    page.wait(lambda content: content.get("id") == "late")


def test_progress_and_unfinished_pictures_are_told(slow: Slow, page: Page) -> None:
    page.ask("generate", {"prompt": "a fox", "model": "slow", "agreed": AGREED})
    run = run_with(page, "painting")

    assert (run["part"], run["isOver"], run["prompt"]) == (0.25, False, "a fox")
    assert page.ask("hello")["jobs"] == []  # it is followed, so it is not offered to be resumed
    page.wait(lambda s: s["kind"] == "state" and any(r["previews"] for r in s["payload"]["runs"]))
    reply = page.ask("picture", {"of": "run", "id": run["id"], "side": 40})
    with Image.open(io.BytesIO(page.buffers_of(reply)[0])) as shown:
        assert shown.convert("RGB").getpixel((1, 1)) == (0, 0, 255)
    slow.go.set()


def test_a_stopped_wish_is_kept_as_a_job_and_resumed_without_a_second_submit(
    session: Session, slow: Slow, page: Page
) -> None:
    page.ask("generate", {"prompt": "a fox", "model": "slow", "agreed": AGREED})
    run = run_with(page, "painting")

    page.ask("stop", {"run": run["id"]})
    assert run_with(page, "stopped")["isOver"]
    job = state_with(page, jobs=1)["jobs"][0]
    page.ask("dismiss", {"run": run["id"]})
    page.ask("resume", {"job": job["id"]})
    state_with(page, runs=0, jobs=0, results=1)

    assert (slow.submitted, slow.resumed) == (1, ["req-1"])
    assert len(session.generator.generations) == 1


def test_what_another_panel_waits_for_is_neither_unfinished_nor_asked_for_twice(
    session: Session, slow: Slow, page: Page
) -> None:
    other = GenerationPanel(session)
    seen = Page(other)
    page.ask("generate", {"prompt": "a fox", "model": "slow", "agreed": AGREED})
    run_with(page, "painting")
    (job,) = session.generator.ledger.unfinished()

    assert seen.ask("hello")["jobs"] == []
    assert "already" in seen.refusal("resume", {"job": job.id})
    with pytest.raises(NotResumable, match="already"):
        asyncio.run(_all(session.generator.resume(job.id)))

    page.ask("stop", {"run": "run-1"})
    assert state_with(seen, jobs=1)["jobs"][0]["id"] == job.id
    assert slow.resumed == []
    other.close()


def test_a_fault_of_a_maker_of_one_s_own_is_shown_in_words(slow: Slow, page: Page) -> None:
    slow.bug = True
    page.ask("generate", {"prompt": "a fox", "model": "slow", "agreed": AGREED})

    assert run_with(page, "failed")["problem"] == "ValueError while it was made: no paint"


@pytest.mark.usefixtures("slow")
def test_a_job_is_cancelled_at_the_service(page: Page) -> None:
    page.ask("generate", {"prompt": "a fox", "model": "slow", "agreed": AGREED})
    run = run_with(page, "painting")
    page.ask("stop", {"run": run["id"]})
    job = state_with(page, jobs=1)["jobs"][0]

    said = page.ask("cancel", {"job": job["id"]})["notice"]

    assert said == f"{job['id']} is cancelled."
    assert page.ask("hello")["jobs"] == []


def test_a_failure_stays_in_the_panel_until_it_is_dismissed(slow: Slow, page: Page) -> None:
    slow.fails = True
    page.ask("generate", {"prompt": "a fox", "model": "slow", "agreed": AGREED})
    run = run_with(page, "failed")

    assert "The brush broke." in run["problem"]
    page.ask("dismiss", {"run": run["id"]})
    assert page.ask("hello")["runs"] == []


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"prompt": "  "}, "A prompt is required."),
        ({"prompt": "x", "size": "big"}, "WIDTHxHEIGHT"),
        ({"prompt": "x", "count": 9}, "a whole number from 1 to 8"),
        ({"prompt": "x", "seed": "many"}, "a whole number was expected"),
        ({"prompt": "x", "format": "tiff"}, "one of png, webp, jpeg"),
        ({"prompt": "x", "what": "song"}, "one of image, video"),
        ({"prompt": "x", "what": "video", "aspect": "wide"}, "WIDTH:HEIGHT"),
        ({"prompt": "x", "what": "video", "model": "procedural"}, "no videos"),
        ({"prompt": "x", "model": "nobody/x"}, "Nobody here makes"),
        ({"prompt": "x", "model": ""}, "Nobody is set up"),
        ({}, "a text was expected"),
    ],
)
def test_a_wrong_wish_is_refused_before_anything_is_sent(
    slow: Slow, page: Page, wish: dict[str, Any], said: str
) -> None:
    assert said in page.refusal("generate", {"model": "procedural", **wish})
    assert slow.submitted == 0


def test_no_more_than_eight_are_on_the_way(slow: Slow, page: Page) -> None:
    for _ in range(8):
        page.ask("generate", {"prompt": "a fox", "model": "slow", "agreed": AGREED})

    assert "8 are on the way" in page.refusal("generate", FREE)
    slow.go.set()


def test_the_budget_holds_in_the_panel_too(session: Session, slow: Slow, page: Page) -> None:
    from agentcell import Budget

    session.budget = Budget(usd="0.01")
    page.ask("generate", {"prompt": "a fox", "model": "slow", "agreed": AGREED})
    run = run_with(page, "failed")

    assert "$0.01" in run["problem"]
    assert slow.submitted == 0


# -- pictures to start from


def test_a_picture_and_its_mask_go_with_the_wish(slow: Slow, page: Page) -> None:
    added = page.upload(picture("blue"), "sea.png")["payload"]
    assert added["notice"] == "sea.png is added: 40 × 30 pixels."
    mask = page.upload(
        picture("black", clear=True), "mask.png", role="mask", reference=added["reference"]
    )["payload"]
    assert mask["notice"] == "A mask is painted on sea.png."

    page.ask("generate", {"prompt": "a ship", "model": "slow", "agreed": AGREED})
    slow.go.set()
    state_with(page, runs=0, results=1)

    (wish,) = slow.wishes
    assert [one.filename for one in wish.references] == ["sea.png"]
    assert wish.mask is not None
    assert wish.mask.load_bytes() == picture("black", clear=True)


def test_a_mask_of_another_size_or_picture_is_refused(page: Page) -> None:
    first = page.upload(picture(), "a.png")["payload"]["reference"]
    second = page.upload(picture(), "b.png")["payload"]["reference"]

    other = page.upload(picture(size=(9, 9)), "m.png", role="mask", reference=first)
    later = page.upload(picture(), "m.png", role="mask", reference=second)

    assert "The mask is 9 × 9 pixels; the 40 × 30 of a.png" in other["problem"]
    assert "b.png is not" in later["problem"]


def test_removing_a_picture_takes_its_mask_along(panel: GenerationPanel, page: Page) -> None:
    first = page.upload(picture(), "a.png")["payload"]["reference"]
    page.upload(picture(), "m.png", role="mask", reference=first)
    assert page.ask("hello")["mask"] == first

    page.ask("remove", {"reference": first})

    assert page.ask("hello")["mask"] == ""
    assert panel.state()["references"] == []


def test_what_was_removed_comes_back_in_its_place_with_its_mask(
    panel: GenerationPanel, page: Page
) -> None:
    names = [page.upload(picture(), f"{name}.png")["payload"]["reference"] for name in "abc"]
    page.upload(picture(), "m.png", role="mask", reference=names[0])
    put = page.ask("remove", {"reference": names[0]})["put"]
    page.ask("bring-back", {"put": put})

    state = panel.state()
    assert [one["id"] for one in state["references"]] == names
    assert state["mask"] == names[0]

    put = page.ask("unmask")["put"]
    assert panel.state()["mask"] == ""
    page.ask("bring-back", {"put": put})
    assert panel.state()["mask"] == names[0]
    assert "none of what was removed" in page.refusal("bring-back", {"put": put})


def test_a_clip_beside_the_notebook_is_told_with_its_place(session: Session, page: Page) -> None:
    class Film(ImageBackend):
        name, kinds = "film", frozenset({"video"})

        async def run(self, wish: GenerationWish, *, key: str) -> AsyncIterator[BackendEvent]:
            del wish, key
            yield Made(kind="video", data=(Path(__file__).parent / "data/tiny.webm").read_bytes())
            yield Ended(model="film-1")

    session.generator.backends.add(Film())
    session.generate("waves", model="film", kind="video")
    session.generate("a boat", model="procedural", size="64x64")
    still, clip = state_with(page, results=2)["results"]

    assert still["place"] == ""
    assert clip["place"] == f"generated-media/{clip['name']}"
    assert clip["kind"] == "video"


@pytest.mark.parametrize(("data", "said"), [(b"%PDF-1.4\n%%EOF\n", ""), (b"hello", "")])
def test_what_is_no_picture_is_refused(page: Page, data: bytes, said: str) -> None:
    reply = page.upload(data, "thing.png")

    assert not reply["ok"]
    assert "thing.png" in reply["problem"] + said


# -- results


def test_a_result_goes_to_the_chat_and_is_a_picture_to_start_from(
    session: Session, page: Page
) -> None:
    page.ask("generate", FREE)
    result = state_with(page, results=1)["results"][0]

    said = page.ask("attach", {"id": result["id"]})["notice"]
    page.ask("reuse", {"id": result["id"]})

    (waiting,) = session.waiting
    assert said == f"{waiting.tag} goes with the next question."
    assert waiting.asset.load_bytes() == session.generator.generations[0].paths[0].read_bytes()
    assert page.ask("hello")["references"][0]["name"] == result["name"]

    page.ask("generate", {**FREE, "prompt": "the same at night"})
    state_with(page, results=2)
    made, again = session.generator.generations
    assert again.parents == (made.artifacts[0].digest,)


@pytest.mark.parametrize("name", ["0/9", "9/0", "-1/0", "0/-1", "", "x", "0", "0/0/0"])
def test_a_result_that_is_not_there_is_refused(page: Page, name: str) -> None:
    page.ask("generate", FREE)
    state_with(page, results=1)

    assert "no such result" in page.refusal("attach", {"id": name})


def test_what_the_api_makes_is_shown_too(session: Session, page: Page) -> None:
    session.generate("a blue fox", model="procedural", size="64x64")

    assert state_with(page, results=1)["results"][0]["prompt"] == "a blue fox"


def test_the_static_copy_names_pictures_by_their_path_and_holds_no_base64(
    session: Session, panel: GenerationPanel
) -> None:
    assert panel.static().text == "Pictures and clips: No results yet."

    session.generate("a blue fox", model="procedural", size="64x64")
    static = panel.static()

    name = session.generator.generations[0].paths[0].name
    assert f'<img src="generated-media/{name}"' in static.html
    assert f"(generated-media/{name})" in static.markdown
    assert "base64" not in static.html + static.markdown
    assert static.text.startswith(f"{name}: a blue fox (")


@pytest.mark.parametrize(
    "prompt", [one for one in HOSTILE[:60] if one.strip() and not unsendable(one)]
)
def test_a_hostile_prompt_stays_text(session: Session, panel: GenerationPanel, prompt: str) -> None:
    session.generate(prompt, model="procedural", size="64x64")
    static = panel.static()

    tags: list[tuple[str, list[str]]] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attrs: tags.append((tag, [name for name, _ in attrs]))  # type: ignore[method-assign]
    reader.feed(static.html)
    assert tags == [
        *((tag, []) for tag in ("p", "strong", "ul", "li")),
        ("img", ["src", "alt", "width"]),
        ("br", []),
    ]


@pytest.mark.usefixtures("slow")
def test_closing_ends_the_wait_and_loses_no_job(session: Session) -> None:
    panel = GenerationPanel(session)
    page = Page(panel)
    page.ask("generate", {"prompt": "a fox", "model": "slow", "agreed": AGREED})
    run_with(page, "painting")

    panel.close()

    for _ in range(200):
        if session.generator.ledger.unfinished()[0].problem:
            break
        asyncio.run(asyncio.sleep(0.02))
    (job,) = session.generator.ledger.unfinished()
    assert (job.state, job.request_id) == ("accepted", "req-1")
