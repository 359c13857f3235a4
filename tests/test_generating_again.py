"""Jobs whose process was killed, and jobs that were recorded: nothing is paid for twice."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from agentcell.assets.asset import ImageAsset
from agentcell.errors import (
    GenerationError,
    GenerationFailed,
    NotResumable,
)
from agentcell.imaging import provenance
from agentcell.imaging.backends.gemini import GeminiMedia
from agentcell.imaging.backends.openai_images import OpenAIImages
from agentcell.imaging.backends.watching import Patience
from agentcell.imaging.events import (
    Accepted,
)
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.wish import GenerationWish
from agentcell.session import Session
from agentcell.testing import GeminiMediaServer, MediaServer, OpenAIImagesServer
from agentcell.testing.image_servers import CLIP
from drawn import picture
from generating_kit import FOX, KEY, ScriptedBackend, generated, resumed, using


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session("local", history=tmp_path)


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
