"""One job from plan to files: order, ledger, budget, interrupts, kills, recordings, names."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agentcell.adapters.pricing import forget_price, set_price
from agentcell.assets.asset import ImageAsset
from agentcell.budget import Budget, CostQuestion
from agentcell.errors import (
    AttachmentError,
    BudgetExceeded,
    FieldError,
    GenerationError,
    GenerationFailed,
    NoBackend,
    NotResumable,
    RateLimited,
    Stopped,
)
from agentcell.imaging import provenance
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.backends.gemini import GeminiMedia
from agentcell.imaging.backends.openai_images import OpenAIImages
from agentcell.imaging.backends.watching import Patience
from agentcell.imaging.events import (
    Accepted,
    BackendEvent,
    Ended,
    Generated,
    GenerationEvent,
    Made,
    NotSaved,
    Planned,
    Saved,
)
from agentcell.imaging.generation import Generation
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.wish import GenerationWish
from agentcell.session import Session
from agentcell.testing import GeminiMediaServer, MediaServer, OpenAIImagesServer, Reply
from agentcell.testing.image_servers import CLIP
from drawn import noise, picture

KEY = "sk-test-0123456789abcdef0123456789"
FOX = GenerationWish(prompt="a fox", model="scripted")


class ScriptedBackend(ImageBackend):
    """Makes what it is told to, and notes what it was asked."""

    name = "scripted"
    can_resume: ClassVar[bool] = True

    def __init__(self, *events: BackendEvent | Exception, cost: Decimal | None = None) -> None:
        self.events = events or (
            Accepted("req-1"),
            Made(kind="image", data=picture()),
            Ended(model="painter", cost=Decimal("0.04"), seed=9),
        )
        self.asked: list[GenerationWish] = []
        self.keys: list[str] = []
        self.resumed: list[str] = []
        self.cost = cost
        self.holding = asyncio.Event()
        self.is_holding = False

    def price(self, wish: GenerationWish) -> Decimal | None:
        return self.cost if super().price(wish) is None else super().price(wish)

    async def run(self, wish: GenerationWish, *, key: str) -> AsyncGenerator[BackendEvent]:
        self.asked.append(wish)
        self.keys.append(key)
        async for event in self._said():
            yield event

    async def resume(self, request_id: str, wish: GenerationWish) -> AsyncGenerator[BackendEvent]:
        del wish
        self.resumed.append(request_id)
        async for event in self._said():
            yield event

    async def cancel(self, request_id: str) -> bool:
        return request_id == "req-1"

    async def _said(self) -> AsyncGenerator[BackendEvent]:
        for event in self.events:
            if isinstance(event, Exception):
                raise event
            yield event


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session("local", history=tmp_path)


def using(session: Session, backend: ImageBackend) -> Session:
    session.generator.backends.add(backend)
    return session


def events_of(session: Session, wish: GenerationWish, **options: Any) -> list[GenerationEvent]:
    async def all_of_it() -> list[GenerationEvent]:
        return [event async for event in session.generator.stream(wish, **options)]

    return asyncio.run(all_of_it())


def resumed(session: Session, name: str) -> Generation:
    async def all_of_it() -> list[GenerationEvent]:
        return [event async for event in session.generator.resume(name)]

    last = asyncio.run(all_of_it())[-1]
    assert isinstance(last, Generated)
    return last.generation


def generated(session: Session, wish: GenerationWish = FOX, **options: Any) -> Generation:
    last = events_of(session, wish, **options)[-1]
    assert isinstance(last, Generated)
    return last.generation


def lines(session: Session) -> list[dict[str, Any]]:
    path = session.generator.ledger.path
    assert path is not None
    return [json.loads(line) for line in path.read_text().splitlines()]


# -- the order of things --------------------------------------------------------------------------


def test_a_job_is_written_down_before_it_is_sent_and_step_by_step_after(session: Session) -> None:
    seen: list[list[str]] = []

    class Looking(ScriptedBackend):
        async def _said(self) -> AsyncGenerator[BackendEvent]:
            seen.append([line.get("state", "") for line in lines(session)])
            async for event in super()._said():
                yield event

    using(session, Looking())
    events = events_of(session, FOX)

    assert seen == [["planned", "submitted"]]
    states = [line["state"] for line in lines(session) if line.get("state")]
    assert states == ["planned", "submitted", "accepted", "saving", "saving", "done"]
    assert [type(event) for event in events] == [Planned, Accepted, Saved, Generated]


def test_what_came_of_it_says_how_it_was_made(session: Session, tmp_path: Path) -> None:
    backend = ScriptedBackend()
    generation = generated(
        using(session, backend), GenerationWish(prompt="a fox", model="scripted/x")
    )

    assert backend.asked[0].model == "x"
    assert (generation.model, generation.backend, generation.seed) == ("painter", "scripted", 9)
    assert (generation.cost, generation.request_id) == (Decimal("0.04"), "req-1")
    (path,) = generation.paths
    assert path == tmp_path / "generated-media" / "req-1-0.png"
    (made,) = generation.artifacts
    assert (made.width, made.height, made.alt) == (40, 30, "a fox")
    assert made.digest == ImageAsset.from_path(path).identity.removeprefix("sha256:")
    assert session.generator.generations == (generation,)
    job = session.generator.jobs()[0]
    assert (job.state, job.files, job.cost) == ("done", (path,), Decimal("0.04"))


def test_what_was_made_here_may_be_used_by_a_model_afterwards(session: Session) -> None:
    (path,) = generated(using(session, ScriptedBackend())).paths

    assert session.access.image(path, asked_by="model").width == 40


def test_answers_are_on_disk_as_they_came_before_anything_is_done_with_them(
    session: Session, tmp_path: Path
) -> None:
    held: list[list[str]] = []

    class Looking(ScriptedBackend):
        async def _said(self) -> AsyncGenerator[BackendEvent]:
            yield Made(kind="image", data=picture("red"))
            held.extend(line["held"] for line in lines(session) if line.get("held"))
            yield Ended()

    using(session, Looking())
    generated(session)

    assert len(held) == 1
    assert held[0][0].startswith("generated-media/.job-")
    assert list((tmp_path / "generated-media").glob(".*")) == [], "and gone at the end"


def test_the_ledger_and_the_files_hold_no_key_and_no_signed_address(
    session: Session, tmp_path: Path
) -> None:
    os.environ["SCRIPTED_API_KEY"] = KEY
    try:
        wish = GenerationWish(
            prompt=f"a fox {KEY} https://a.example/x?sig=s3cr3t", model="scripted"
        )
        generated(using(session, ScriptedBackend()), wish)
    finally:
        del os.environ["SCRIPTED_API_KEY"]

    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in written
    assert b"s3cr3t" not in written


# -- names, formats, places -----------------------------------------------------------------------


@pytest.mark.parametrize(("form", "ending"), [("png", "png"), ("webp", "webp"), ("jpeg", "jpg")])
@pytest.mark.parametrize("sent", ["PNG", "JPEG", "WEBP"])
def test_a_picture_is_of_the_type_that_was_asked_for_whatever_was_sent(
    session: Session, form: str, ending: str, sent: str
) -> None:
    backend = ScriptedBackend(Made(kind="image", data=picture(kind=sent)), Ended())
    wish = GenerationWish(prompt="a fox", model="scripted", format=form)  # type: ignore[arg-type]
    (path,) = generated(using(session, backend), wish).paths

    assert path.suffix == f".{ending}"
    assert ImageAsset.from_path(path).mime_type == f"image/{form}"
    found = provenance.read(path)
    assert found is not None
    assert found.prompt == "a fox"


def test_what_shines_through_becomes_white_in_a_jpeg(session: Session) -> None:
    backend = ScriptedBackend(Made(kind="image", data=picture((255, 0, 0, 0))), Ended())
    wish = GenerationWish(prompt="a fox", model="scripted", format="jpeg")
    (path,) = generated(using(session, backend), wish).paths

    from PIL import Image

    with Image.open(path) as opened:
        assert opened.convert("RGB").getpixel((5, 5)) == (255, 255, 255)


def test_a_file_stays_as_it_came_where_that_is_asked_for(session: Session) -> None:
    data = picture(kind="JPEG")
    backend = ScriptedBackend(Made(kind="image", data=data), Ended())
    (path,) = generated(using(session, backend), as_made=True).paths

    assert path.read_bytes() == data
    assert path.suffix == ".jpg"


def test_an_output_is_written_where_it_was_asked_for(session: Session, tmp_path: Path) -> None:
    using(session, ScriptedBackend())

    assert generated(session, output="art/fox.png").paths == (tmp_path / "art" / "fox.png",)
    assert generated(session, output="art/bare").paths == (tmp_path / "art" / "bare.png",)


def test_several_outputs_get_numbers(session: Session, tmp_path: Path) -> None:
    made = [Made(kind="image", data=picture(colour)) for colour in ("red", "blue")]
    using(session, ScriptedBackend(*made, Ended()))
    wish = GenerationWish(prompt="a fox", model="scripted", count=2)

    paths = generated(session, wish, output="fox.png").paths

    assert paths == (tmp_path / "fox-0.png", tmp_path / "fox-1.png")


def test_nothing_is_written_over_a_file_and_nothing_is_paid_to_find_that_out(
    session: Session, tmp_path: Path
) -> None:
    backend = ScriptedBackend()
    using(session, backend)
    (tmp_path / "fox.png").write_bytes(b"mine")

    with pytest.raises(GenerationError, match=r"fox\.png is there already"):
        generated(session, output="fox.png")

    assert backend.asked == []
    assert (tmp_path / "fox.png").read_bytes() == b"mine"


def test_a_file_that_came_meanwhile_is_not_written_over(session: Session, tmp_path: Path) -> None:
    class Late(ScriptedBackend):
        async def _said(self) -> AsyncGenerator[BackendEvent]:
            (tmp_path / "fox.png").write_bytes(b"mine")
            async for event in super()._said():
                yield event

    (path,) = generated(using(session, Late()), output="fox.png").paths

    assert path == tmp_path / "fox-2.png"
    assert (tmp_path / "fox.png").read_bytes() == b"mine"


@pytest.mark.parametrize("output", ["fox.jpg", "fox.gif", "fox.mp4"])
def test_an_output_of_another_type_than_the_format_is_refused(
    session: Session, output: str
) -> None:
    backend = ScriptedBackend()
    with pytest.raises(GenerationError, match="the format is png"):
        generated(using(session, backend), output=output)

    assert backend.asked == []


@pytest.mark.parametrize("output", ["../fox.png", "/etc/fox.png", ".hidden/fox.png"])
def test_a_model_writes_into_approved_folders_alone(session: Session, output: str) -> None:
    backend = ScriptedBackend()
    with pytest.raises(AttachmentError):
        generated(using(session, backend), output=output, asked_by="model")

    assert backend.asked == []


def test_a_hostile_request_id_becomes_a_harmless_name(session: Session, tmp_path: Path) -> None:
    hostile = "../../etc/<script>é"
    backend = ScriptedBackend(Accepted(hostile), Made(kind="image", data=picture()), Ended())
    (path,) = generated(using(session, backend)).paths

    assert path.parent == tmp_path / "generated-media"
    assert path.name == "______etc__script__-0.png"


def test_a_clip_is_kept_as_it_came(session: Session) -> None:
    class Films(ScriptedBackend):
        kinds = frozenset({"video"})

    backend = Films(Accepted("clip-1"), Made(kind="video", data=CLIP), Ended())
    generation = generated(
        using(session, backend), GenerationWish(prompt="waves", kind="video", model="scripted")
    )

    (made,) = generation.artifacts
    assert made.path.read_bytes() == CLIP
    assert (made.path.name, made.mime_type, made.kind) == ("clip-1-0.mp4", "video/mp4", "video")


# -- what goes wrong ------------------------------------------------------------------------------


def test_one_of_two_that_is_no_picture_costs_only_itself(session: Session) -> None:
    backend = ScriptedBackend(
        Made(kind="image", data=b"<html>no picture</html>"),
        Made(kind="image", data=picture()),
        Ended(),
    )
    wish = GenerationWish(prompt="a fox", model="scripted", count=2)
    events = events_of(using(session, backend), wish)

    (lost,) = [event for event in events if isinstance(event, NotSaved)]
    assert lost.index == 0
    last = events[-1]
    assert isinstance(last, Generated)
    assert len(last.generation.artifacts) == 1
    assert "web page" in last.generation.missing[0]


def test_an_error_after_the_first_of_two_keeps_the_first(session: Session) -> None:
    failure = GenerationFailed("it broke", is_billed=None)
    backend = ScriptedBackend(Made(kind="image", data=picture()), failure)
    wish = GenerationWish(prompt="a fox", model="scripted", count=2)

    generation = generated(using(session, backend), wish)

    assert len(generation.paths) == 1
    assert generation.missing == ("it broke",)


def test_an_answer_that_is_no_picture_was_paid_for_and_is_over(
    session: Session, tmp_path: Path
) -> None:
    backend = ScriptedBackend(Accepted(""), Made(kind="image", data=b"%PDF-1.4 no"), Ended())
    with pytest.raises(GenerationFailed) as caught:
        generated(using(session, backend))

    assert (caught.value.is_billed, caught.value.is_over) == (True, True)
    assert session.generator.jobs()[0].state == "failed"
    assert list((tmp_path / "generated-media").iterdir()) == []


def test_nothing_made_is_no_success(session: Session) -> None:
    with pytest.raises(GenerationFailed, match="sent no image") as caught:
        generated(using(session, ScriptedBackend(Accepted("r"), Ended())))

    assert caught.value.job_id.startswith("job-")


@pytest.mark.parametrize(
    ("error", "state", "unknown"),
    [
        (RateLimited("no", status=429), "failed", 0),
        (GenerationFailed("paid", is_billed=True), "failed", 1),
        (GenerationFailed("who knows", is_billed=None), "unknown", 1),
        (GenerationFailed("free", is_billed=False), "failed", 0),
        (GenerationFailed("later", is_billed=True, is_over=False), "unknown", 0),
        (GenerationError("not sent"), "failed", 0),
    ],
)
def test_an_error_is_written_down_with_what_it_cost(
    session: Session, error: Exception, state: str, unknown: int
) -> None:
    with pytest.raises(type(error)):
        generated(using(session, ScriptedBackend(error)))

    assert session.generator.jobs()[0].state == state
    assert session.cost.unknown == unknown


def test_a_job_that_may_still_run_stays_accepted_and_can_be_asked_for(session: Session) -> None:
    late = GenerationFailed("not yet", is_billed=True, is_over=False)
    backend = ScriptedBackend(Accepted("req-1"), late)
    using(session, backend)
    with pytest.raises(GenerationFailed) as caught:
        generated(session)
    assert session.generator.jobs()[0].state == "accepted"
    backend.events = ScriptedBackend().events

    generation = resumed(session, caught.value.job_id)

    assert backend.resumed == ["req-1"]
    assert len(backend.asked) == 1, "no second submit"
    assert generation.cost == Decimal("0.04")
    assert session.cost.usd == Decimal("0.04")
    assert session.generator.jobs()[0].state == "done"


def test_a_fault_of_the_backends_own_is_raised_as_it_is_and_written_down(session: Session) -> None:
    with pytest.raises(ZeroDivisionError):
        generated(using(session, ScriptedBackend(ZeroDivisionError("oh"))))

    job = session.generator.jobs()[0]
    assert job.state == "unknown"
    assert "ZeroDivisionError" in job.problem


def test_a_folder_that_takes_no_file_loses_no_paid_job(session: Session, tmp_path: Path) -> None:
    (tmp_path / "generated-media").write_text("a file in the folder's place")
    backend = ScriptedBackend()
    using(session, backend)
    with pytest.raises(GenerationFailed, match="nothing could be saved") as caught:
        generated(session)
    assert (caught.value.is_billed, caught.value.is_over) == (True, False)
    (tmp_path / "generated-media").unlink()

    generation = resumed(session, caught.value.job_id)

    assert generation.paths[0].is_file()
    assert len(backend.asked) == 1


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ((Accepted("req-1"), Accepted("req-1")), "accepted"),
        ((Accepted(""), Accepted("")), "unknown"),
    ],
    ids=["resumable", "not resumable"],
)
def test_stopping_early_says_what_becomes_of_the_job(
    session: Session, events: tuple[BackendEvent, ...], state: str
) -> None:
    using(session, ScriptedBackend(*events))

    async def stopped() -> None:
        async with aclosing(session.generator.stream(FOX)) as stream:
            async for event in stream:
                if isinstance(event, Accepted):
                    return

    asyncio.run(stopped())

    job = session.generator.jobs()[0]
    assert job.state == state
    assert "stopped" in job.problem


def test_stopping_before_it_is_sent_costs_nothing(session: Session) -> None:
    backend = ScriptedBackend()
    using(session, backend)

    async def stopped() -> None:
        async with aclosing(session.generator.stream(FOX)) as stream:
            async for _ in stream:
                return

    asyncio.run(stopped())

    assert backend.asked == []
    assert session.generator.jobs()[0].state == "cancelled"
    assert session.cost.unknown == 0


def test_a_job_is_cancelled_at_its_service(session: Session) -> None:
    late = GenerationFailed("not yet", is_billed=True, is_over=False)
    using(session, ScriptedBackend(Accepted("req-1"), late))
    with pytest.raises(GenerationFailed):
        generated(session)

    assert asyncio.run(session.generator.cancel("req-1")) is True

    assert session.generator.jobs()[0].state == "cancelled"
    with pytest.raises(NotResumable, match="is cancelled"):
        resumed(session, "req-1")
    with pytest.raises(NotResumable, match="nothing of it is under way"):
        asyncio.run(session.generator.cancel("req-1"))


def test_a_job_that_is_done_is_shown_again_without_asking_anyone(session: Session) -> None:
    backend = ScriptedBackend()
    first = generated(using(session, backend))

    again = resumed(session, first.job_id)

    assert again.paths == first.paths
    assert (len(backend.asked), backend.resumed) == (1, [])
    first.paths[0].unlink()
    with pytest.raises(NotResumable, match="its files are gone"):
        resumed(session, first.job_id)


def test_a_service_that_keeps_keys_is_sent_the_same_key_again_if_a_person_asks(
    session: Session,
) -> None:
    class KeepsKeys(ScriptedBackend):
        keeps_keys = True

    backend = KeepsKeys(GenerationFailed("reset", is_billed=None, is_over=False))
    using(session, backend)
    with pytest.raises(GenerationFailed) as caught:
        generated(session)
    backend.events = ScriptedBackend().events

    resumed(session, caught.value.job_id)

    assert len(backend.keys) == 2
    assert len(set(backend.keys)) == 1


# -- a kill ---------------------------------------------------------------------------------------


def killed(code: str, folder: Path, when: Callable[[], bool], **environment: str) -> None:
    """Run `code` in a process of its own in `folder`, and kill it as soon as `when` says so."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=folder,
        env={**os.environ, **environment},
    )
    try:
        for _ in range(2_000):
            if when() or process.poll() is not None:
                break
            try:
                process.wait(0.02)
            except subprocess.TimeoutExpired:
                continue
        assert process.poll() is None, "it ended before it could be killed"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_a_clip_survives_that_its_kernel_is_killed_and_is_paid_for_once(tmp_path: Path) -> None:
    with GeminiMediaServer(states=("in_progress",)) as server:
        killed(
            f"""
            from agentcell import Session
            from agentcell.imaging.backends.gemini import GeminiMedia
            session = Session(history={str(tmp_path)!r})
            session.generator.backends.add(GeminiMedia({KEY!r}, {server.url!r}))
            session.generate("waves", kind="video", model="gemini")
            """,
            tmp_path,
            lambda: (
                any(one.method == "GET" for one in server.requests)
                or '"accepted"' in _text(tmp_path / ".agentcell" / "jobs.jsonl")
            ),
        )
        server.states = ["completed"]
        session = Session(history=tmp_path)
        quick = Patience(total=20, interval=0.01, longest=0.02)
        using(session, GeminiMedia(KEY, server.url, patience=quick))
        (job,) = session.generator.ledger.unfinished()

        generation = resumed(session, job.id)

    assert generation.paths[0].read_bytes() == CLIP
    assert generation.prompt == "waves"
    assert len(server.submits) == 1
    assert session.generator.ledger.unfinished() == ()


def _text(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def test_a_picture_that_came_before_the_kill_is_saved_after_it_without_asking_anyone(
    tmp_path: Path,
) -> None:
    data = picture("purple")
    killed(
        f"""
        import asyncio, base64
        from agentcell import Session
        from agentcell.imaging.backend import ImageBackend
        from agentcell.imaging.events import Accepted, Made
        class Slow(ImageBackend):
            name = "slow"
            async def run(self, wish, *, key):
                yield Accepted("")
                yield Made(kind="image", data=base64.b64decode({base64.b64encode(data)!r}))
                await asyncio.sleep(600)
        session = Session(history={str(tmp_path)!r})
        session.generator.backends.add(Slow())
        session.generate("a fox", model="slow")
        """,
        tmp_path,
        lambda: '"files"' in _text(tmp_path / ".agentcell" / "jobs.jsonl"),
    )

    class Slow(ScriptedBackend):
        name = "slow"

    backend = Slow()
    session = using(Session(history=tmp_path), backend)
    (job,) = session.generator.ledger.unfinished()

    generation = resumed(session, job.id)

    assert (backend.asked, backend.resumed) == ([], [])
    assert ImageAsset.from_path(generation.paths[0]).width == 40
    assert list((tmp_path / "generated-media").glob(".*.held")) == []


def test_a_picture_whose_answer_was_lost_is_not_asked_for_again_by_itself(tmp_path: Path) -> None:
    with OpenAIImagesServer() as server:
        server.stall(after=None)
        killed(
            f"""
            from agentcell import Session
            from agentcell.imaging.backends.openai_images import OpenAIImages
            session = Session(history={str(tmp_path)!r})
            session.generator.backends.add(OpenAIImages({KEY!r}, {server.url!r}))
            session.generate("a fox", model="openai")
            """,
            tmp_path,
            server.asked.is_set,
        )
        session = using(Session(history=tmp_path), OpenAIImages(KEY, server.url))
        (job,) = session.generator.ledger.unfinished()
        assert job.state == "submitted"

        with pytest.raises(NotResumable, match="nothing is sent again by itself"):
            resumed(session, job.id)

        assert len(server.requests) == 1
    assert session.generator.jobs()[0].state == "failed"
    assert "charged" in session.generator.jobs()[0].problem


# -- who makes it ---------------------------------------------------------------------------------


def test_nobody_set_up_says_how_to_set_somebody_up(session: Session) -> None:
    with pytest.raises(NoBackend) as caught:
        session.generator.plan(GenerationWish(prompt="a fox"))

    for way in ("OPENAI_API_KEY", "GEMINI_API_KEY", "AGENTCELL_MEDIA_URL", "procedural"):
        assert way in caught.value.fix
    with pytest.raises(NoBackend) as caught:
        session.generator.plan(GenerationWish(prompt="waves", kind="video"))
    assert "procedural" not in caught.value.fix


@pytest.mark.parametrize(
    ("variables", "kind", "name"),
    [
        ({"OPENAI_API_KEY": KEY}, "image", "openai"),
        ({"GEMINI_API_KEY": KEY}, "image", "gemini"),
        ({"GEMINI_API_KEY": KEY, "OPENAI_API_KEY": KEY}, "image", "openai"),
        ({"OPENAI_API_KEY": KEY, "GOOGLE_API_KEY": KEY}, "video", "gemini"),
        ({"OPENAI_API_KEY": KEY, "AGENTCELL_IMAGE_MODEL": "procedural"}, "image", "procedural"),
    ],
)
def test_whoever_is_set_up_is_asked_where_nobody_is_named(
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    kind: Any,
    name: str,
) -> None:
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)

    assert session.generator.backend_for(GenerationWish(prompt="x", kind=kind)).name == name


@pytest.mark.parametrize(
    ("model", "name", "own"),
    [
        ("openai/gpt-image-2", "openai", "gpt-image-2"),
        ("gpt-image-2", "openai", "gpt-image-2"),
        ("gemini-3-pro-image", "gemini", "gemini-3-pro-image"),
        ("openai", "openai", ""),
        ("hosted/a/b", "hosted", "a/b"),
        ("seedream-4-0-250828", "hosted", "seedream-4-0-250828"),
        ("procedural", "procedural", ""),
    ],
)
def test_a_model_names_its_maker(session: Session, model: str, name: str, own: str) -> None:
    wish = GenerationWish(prompt="x", model=model)
    backend, chosen = session.generator.backends.chosen(wish)

    assert (backend.name, chosen.model) == (name, own)


def test_a_maker_that_is_not_known_is_told_with_those_that_are(session: Session) -> None:
    with pytest.raises(GenerationError, match="'dall-e-3'") as caught:
        session.generator.plan(GenerationWish(prompt="x", model="dall-e-3"))

    assert "openai" in caught.value.fix


def test_another_packages_maker_is_found_by_its_entry_point(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site"
    (package / "painters-1.dist-info").mkdir(parents=True)
    (package / "painters-1.dist-info" / "METADATA").write_text("Name: painters\nVersion: 1\n")
    (package / "painters-1.dist-info" / "entry_points.txt").write_text(
        "[agentcell.image_backends]\nbrush = painters_for_tests:Brush\nrust = nowhere:Rust\n"
    )
    (package / "painters_for_tests.py").write_text(
        textwrap.dedent(
            """
            from agentcell.imaging.backend import ImageBackend
            from agentcell.imaging.events import Ended, Made
            from drawn import picture
            class Brush(ImageBackend):
                is_free = True
                async def run(self, wish, *, key):
                    yield Made(kind="image", data=picture("green"))
                    yield Ended(model=wish.model)
            """
        )
    )
    monkeypatch.syspath_prepend(str(package))

    generation = generated(session, GenerationWish(prompt="a fox", model="brush/thin"))

    assert (generation.backend, generation.model, generation.cost) == ("brush", "thin", Decimal(0))
    with pytest.raises(GenerationError, match="'rust'"):
        session.generator.plan(GenerationWish(prompt="x", model="rust"))


# -- what it costs --------------------------------------------------------------------------------


def test_what_a_job_cost_is_part_of_what_the_session_spent(session: Session) -> None:
    generated(using(session, ScriptedBackend()))
    generated(using(session, ScriptedBackend()))

    assert session.cost.usd == Decimal("0.08")
    assert Session(history=session.history).cost.usd == Decimal("0.08")


def test_a_job_of_unknown_cost_is_counted_as_one(session: Session) -> None:
    generation = generated(
        using(session, ScriptedBackend(Made(kind="image", data=picture()), Ended()))
    )

    assert generation.cost is None
    assert session.cost.unknown == 1


def test_a_job_that_would_pass_the_budget_is_not_sent(session: Session) -> None:
    backend = ScriptedBackend(cost=Decimal(3))
    using(session, backend)
    session.budget = Budget(usd=2)

    with pytest.raises(BudgetExceeded) as caught:
        generated(session)

    assert backend.asked == []
    assert session.generator.jobs() == ()
    assert "%agent budget 3.00 usd" in caught.value.fix
    assert "procedural" in caught.value.fix


def test_a_job_of_unknown_price_needs_a_person_where_there_is_a_budget(session: Session) -> None:
    backend = ScriptedBackend()
    using(session, backend)
    session.budget = Budget(usd=2)

    with pytest.raises(BudgetExceeded, match="not known") as caught:
        generated(session)
    assert 'set_price("scripted", per_image=…)' in caught.value.fix
    with pytest.raises(Stopped):
        generated(session, confirm=lambda _: False)
    assert backend.asked == []

    asked: list[CostQuestion] = []

    def yes(question: CostQuestion) -> bool:
        asked.append(question)
        return True

    generated(session, confirm=yes)

    assert asked[0].why == "unknown"
    assert asked[0].model == "scripted"
    assert len(backend.asked) == 1


def test_a_price_by_the_picture_that_a_person_gave_holds(session: Session) -> None:
    set_price("scripted/x", per_image="0.5")
    try:
        made = [Made(kind="image", data=picture(colour)) for colour in ("red", "blue")]
        using(session, ScriptedBackend(*made, Ended()))
        wish = GenerationWish(prompt="a fox", model="scripted/x", count=2)
        assert session.generator.plan(wish).price == Decimal(1)
        session.budget = Budget(usd=2, ask_above=1)

        assert generated(session, wish).cost == Decimal(1)
        assert session.cost.usd == Decimal(1)
        generated(session, wish)
        with pytest.raises(BudgetExceeded):
            generated(session, wish)
    finally:
        forget_price("scripted/x")


def test_a_price_that_is_asked_about_is_told_as_about_so_much(session: Session) -> None:
    using(session, ScriptedBackend(cost=Decimal("0.5")))
    session.budget = Budget(usd=2, ask_above="0.1")
    asked: list[str] = []

    def no(question: CostQuestion) -> bool:
        asked.append(str(question))
        return False

    with pytest.raises(Stopped):
        generated(session, confirm=no)

    assert asked == ["it costs about $0.50, with $2.00 of $2.00 left"]


def test_two_jobs_at_once_know_of_each_others_price(session: Session) -> None:
    backend = ScriptedBackend(cost=Decimal("1.5"))
    using(session, backend)
    session.budget = Budget(usd=2, ask_above=2)

    async def both() -> Any:
        first = session.generator.stream(FOX)
        await anext(first)  # it is paid for, and not done
        second = session.generator.stream(FOX)
        outcomes = await asyncio.gather(anext(second), return_exceptions=True)
        await first.aclose()
        await second.aclose()
        return outcomes

    (outcome,) = asyncio.run(both())

    assert isinstance(outcome, BudgetExceeded)


# -- recordings -----------------------------------------------------------------------------------


def recording(session: Session, tmp_path: Path, mode: str) -> Session:
    session.recorder.use(tmp_path / "recordings" / "book.jsonl", mode)
    return session


def test_a_generation_is_replayed_from_its_recording_byte_for_byte(tmp_path: Path) -> None:
    wish = GenerationWish(
        prompt="a fox",
        model="scripted",
        format="webp",
        references=(ImageAsset.from_bytes(picture("blue")),),
    )
    (tmp_path / "one").mkdir()
    first = Session(history=tmp_path / "one")
    recording(using(first, ScriptedBackend()), tmp_path, "record")
    before = generated(first, wish)
    (tmp_path / "two").mkdir()
    second = recording(Session(history=tmp_path / "two"), tmp_path, "replay")  # no such backend

    after = generated(second, wish)

    assert after.paths[0] == tmp_path / "two" / "generated-media" / before.paths[0].name
    assert after.paths[0].read_bytes() == before.paths[0].read_bytes()
    assert (after.cost, after.seed, after.job_id) == (before.cost, before.seed, before.job_id)
    assert after.parents == before.parents
    assert second.cost.usd == 0, "nobody was paid"
    assert second.generator.ledger.jobs() == ()
    line = (tmp_path / "recordings" / "book.jsonl").read_text()
    assert base64.b64encode(before.paths[0].read_bytes()).decode()[:60] not in line
    assert len(list((tmp_path / "recordings" / "book.files").iterdir())) == 1
    assert generated(second, wish).paths == after.paths, "and again, over the same file"


def test_what_is_not_in_the_recording_is_not_asked_for(tmp_path: Path) -> None:
    from agentcell.adapters.recording.miss import RecordingMiss

    backend = ScriptedBackend()
    session = recording(using(Session(history=tmp_path), backend), tmp_path, "replay")

    with pytest.raises(RecordingMiss):
        generated(session)

    assert backend.asked == []


def test_a_wish_that_cannot_be_is_refused_in_a_replay_as_it_was(tmp_path: Path) -> None:
    session = recording(Session(history=tmp_path), tmp_path, "replay")

    with pytest.raises(GenerationError, match="procedural draws"):
        generated(session, GenerationWish(prompt="a fox", model="procedural", size="9x9"))


def test_recording_asks_only_what_the_file_does_not_hold(tmp_path: Path) -> None:
    backend = ScriptedBackend()
    session = recording(using(Session(history=tmp_path), backend), tmp_path, "record")
    generated(session)
    generated(session)
    assert len(backend.asked) == 1
    assert session.generator.plan(FOX).is_replayed

    recording(session, tmp_path, "rerecord")
    generated(session)

    assert len(backend.asked) == 2


def test_a_job_that_was_not_over_and_its_resume_are_replayed(tmp_path: Path) -> None:
    late = GenerationFailed("not yet", is_billed=True, is_over=False, fix="resume it.")
    backend = ScriptedBackend(Accepted("req-1"), late)
    first = recording(using(Session(history=tmp_path), backend), tmp_path, "record")
    with pytest.raises(GenerationFailed):
        generated(first)
    backend.events = ScriptedBackend().events
    before = resumed(first, "req-1")
    (tmp_path / "two").mkdir()
    second = recording(Session(history=tmp_path / "two"), tmp_path, "replay")

    with pytest.raises(GenerationFailed) as caught:
        generated(second)
    (job,) = second.generator.jobs()
    after = resumed(second, "req-1")

    assert (caught.value.problem, caught.value.is_billed, caught.value.is_over) == (
        "not yet",
        True,
        False,
    )
    assert (job.request_id, job.state) == ("req-1", "accepted")
    assert after.paths[0].read_bytes() == before.paths[0].read_bytes()
    assert after.prompt == "a fox"


def test_a_clip_of_a_media_service_comes_with_its_poster_also_in_a_replay(tmp_path: Path) -> None:
    wish = GenerationWish(prompt="waves", kind="video", model="hosted")
    with MediaServer(token=KEY) as server:
        clip = server.file("a.mp4", CLIP, content_type="video/mp4")
        still = server.file("a.png", picture(), content_type="image/png")
        server.job("success", kind="video", files=[clip], thumbnails=[still])
        first = recording(Session(history=tmp_path), tmp_path, "record")
        using(first, HostedMediaBackend(server.url, KEY))
        before = generated(first, wish)
    (tmp_path / "two").mkdir()
    second = recording(Session(history=tmp_path / "two"), tmp_path, "replay")

    after = generated(second, wish)

    for generation in (before, after):
        (made,) = generation.artifacts
        assert made.mime_type == "video/mp4"
        assert made.path.read_bytes() == CLIP
        assert made.poster is not None
        assert made.poster.name == f"{made.path.stem}-poster.png"
        assert made.poster.read_bytes() == picture()
    assert resumed(first, before.job_id).artifacts == before.artifacts


def test_a_picture_of_a_media_service_is_of_the_type_that_was_asked_for(session: Session) -> None:
    with MediaServer(token=KEY) as server:
        server.job("success", files=[server.file("a.jpg", picture(kind="JPEG"))])
        using(session, HostedMediaBackend(server.url, KEY))
        (path,) = generated(session, GenerationWish(prompt="a fox", model="hosted")).paths

    assert ImageAsset.from_path(path).mime_type == "image/png"
    found = provenance.read(path)
    assert found is not None
    assert found.backend == "hosted"


# -- what stands in a question, and what is shown -------------------------------------------------


def test_a_generation_stands_in_a_question_as_its_pictures(session: Session) -> None:
    made = [Made(kind="image", data=picture(colour)) for colour in ("red", "blue")]
    using(session, ScriptedBackend(*made, Ended()))
    wish = GenerationWish(prompt="a fox", model="scripted", count=2)
    foxes = generated(session, wish)

    request = session.prepare("Which is red? {foxes}", values={"foxes": foxes})

    assert [block.tag for block in request.question.blocks] == [
        "[foxes_1 foxes]",
        "[foxes_2 foxes]",
    ]


def test_a_clip_in_a_question_is_told_to_be_one(session: Session) -> None:
    class Films(ScriptedBackend):
        kinds = frozenset({"video"})

    using(session, Films(Made(kind="video", data=CLIP), Ended()))
    waves = generated(session, GenerationWish(prompt="waves", kind="video", model="scripted"))

    with pytest.raises(FieldError, match="is a clip"):
        session.prepare("What is {waves}?", values={"waves": waves})


def test_eight_pictures_of_four_megabytes_show_small(session: Session) -> None:
    data = noise((1400, 1200))
    assert len(data) > 4_000_000
    using(session, ScriptedBackend(*[Made(kind="image", data=data)] * 8, Ended()))
    generation = generated(
        session, GenerationWish(prompt="noise", model="scripted", count=8), as_made=True
    )

    bundle, metadata = generation._repr_mimebundle_()

    assert set(bundle) == {"text/plain", "image/jpeg"}
    assert sum(map(len, bundle.values())) < 200_000
    assert metadata["image/jpeg"]["alt"] == "8 pictures: noise"


def test_the_whole_way_in_one_call(session: Session, tmp_path: Path) -> None:
    boat = session.generate("a blue boat", model="procedural", size="300x200")
    red = session.generate(
        "a red boat", model="procedural", references=boat, format="jpeg", output="red.jpg"
    )

    assert red.paths == (tmp_path / "red.jpg",)
    assert red.parents == (f"sha256:{boat.artifacts[0].digest}",)
    assert session.generator.ledger.jobs() == (), "what is free and made here needs no ledger"
    with pytest.raises(GenerationError, match="no option 'sise'"):
        session.generate("a boat", model="procedural", sise="3x3")


@pytest.mark.parametrize(
    "options",
    [
        {"model": 5},
        {"size": 1024},
        {"aspect": (16, 9)},
        {"negative": b"x"},
        {"references": "a path that is none.png"},
        {"references": [3]},
        {"references": {"a": 1}},
        {"mask": "x.png"},
        {"mask": ["a", "b"]},
        {"count": True},
        {"seed": 2**63},
        {"seed": 1.5},
        {"quality": "best"},
        {"format": "gif"},
        {"kind": "sound"},
        {"seconds": 5},
        {"prompt": "half a character \ud83d"},
        {"negative": "half a character \ud83d"},
        {"model": "procedural\0"},
        {"parents": "sha256:one text"},
        {"prompt": "nothing \0"},
        {"prompt": " \n "},
    ],
)
def test_what_means_nothing_is_an_error_with_words_and_nothing_is_sent(
    session: Session, options: dict[str, Any]
) -> None:
    backend = ScriptedBackend()
    using(session, backend)
    wanted = {"prompt": "a fox", "model": "scripted", **options}

    with pytest.raises((GenerationError, AttachmentError, FieldError)):
        session.generate(**wanted)

    assert backend.asked == []
    assert session.generator.jobs() == ()


def test_what_is_left_out_may_be_none(session: Session) -> None:
    using(session, ScriptedBackend())

    assert session.generate("a fox", model="scripted", references=None, mask=None, seed=None)


def test_openai_through_the_session(session: Session) -> None:
    with OpenAIImagesServer(pictures=(picture("green"),)) as server:
        server.plan(Reply(usage=(10, 4160)))
        using(session, OpenAIImages(KEY, server.url))

        generation = session.generate("a fox", model="openai")

    assert generation.model == "gpt-image-2.5-flare"
    job = session.generator.jobs()[0]
    assert generation.paths[0].name == f"{job.id}-0.png"
