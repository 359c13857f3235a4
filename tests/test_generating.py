"""One job from plan to files: order, ledger, names, formats, what goes wrong, interrupts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentcell.assets.asset import ImageAsset
from agentcell.errors import (
    AttachmentError,
    FieldError,
    GenerationError,
    GenerationFailed,
    NotResumable,
    RateLimited,
)
from agentcell.imaging import provenance
from agentcell.imaging.backends.openai_images import OpenAIImages
from agentcell.imaging.events import (
    Accepted,
    BackendEvent,
    Ended,
    Generated,
    Made,
    NotSaved,
    Planned,
    Saved,
)
from agentcell.imaging.wish import GenerationWish
from agentcell.session import Session
from agentcell.testing import OpenAIImagesServer, Reply
from agentcell.testing.image_servers import CLIP
from drawn import noise, picture
from generating_kit import FOX, KEY, ScriptedBackend, events_of, generated, lines, resumed, using


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session("local", history=tmp_path)


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


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (1, "1 was asked for, and the service made 2."),
        (2, None),
        (5, "5 were asked for, and the service made 2."),
    ],
)
def test_another_number_than_was_asked_for_is_noticed(
    session: Session, asked: int, said: str | None
) -> None:
    class Two(ScriptedBackend):
        async def _said(self) -> AsyncGenerator[BackendEvent]:
            yield Made(kind="image", data=picture("red"))
            yield Made(kind="image", data=picture("blue"))
            yield Ended()

    wish = GenerationWish(prompt="a fox", model="scripted", count=asked)
    generation = generated(using(session, Two()), wish)

    assert generation.missing == (() if said is None else (said,))
    assert not generation.can_be_completed, "there is nothing more to be had"
    assert session.generator.jobs()[0].problem == ""


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


def test_a_process_that_ends_around_a_job_loses_none_that_can_be_asked_for(
    session: Session,
) -> None:
    # what to_thread raises while the interpreter goes down
    gone = RuntimeError("cannot schedule new futures after shutdown")
    backend = ScriptedBackend(Accepted("req-9"), gone)
    with pytest.raises(RuntimeError):
        generated(using(session, backend))

    (job,) = session.generator.jobs()

    assert (job.state, job.request_id) == ("accepted", "req-9")
    assert job.is_unfinished


class Blocking(ScriptedBackend):
    """Puts a file in the place of the folder, once the wish was sent."""

    def __init__(self, root: Path, *events: BackendEvent) -> None:
        super().__init__(*events)
        self.root = root

    async def run(self, wish: GenerationWish, *, key: str) -> AsyncGenerator[BackendEvent]:
        (self.root / "generated-media").write_text("a file in the folder's place")
        async for event in super().run(wish, key=key):
            yield event


@pytest.mark.parametrize("output", [None, "generated-media/a.png", "generated-media/b/a.png"])
def test_a_place_that_takes_no_file_is_found_out_before_anything_is_paid_for(
    session: Session, tmp_path: Path, output: str | None
) -> None:
    (tmp_path / "generated-media").write_text("a file in the folder's place")
    backend = ScriptedBackend()

    with pytest.raises((GenerationError, AttachmentError)):
        generated(using(session, backend), output=output)

    assert backend.asked == []
    assert session.generator.jobs() == ()


def test_finding_out_leaves_nothing_behind(session: Session, tmp_path: Path) -> None:
    with pytest.raises(GenerationFailed):
        generated(using(session, ScriptedBackend(GenerationFailed("no", is_billed=False))))

    assert [path.name for path in tmp_path.iterdir()] == [".agentcell"]


@pytest.mark.parametrize(
    ("is_free", "said"), [(True, "run the cell again."), (False, "run the cell again: it is paid")]
)
def test_a_disk_that_takes_nothing_is_not_blamed_on_the_prompt(
    session: Session, tmp_path: Path, *, is_free: bool, said: str
) -> None:
    backend = Blocking(tmp_path, Made(kind="image", data=picture()), Ended())
    backend.is_free, backend.can_resume = is_free, False  # type: ignore[misc]  # of this one
    with pytest.raises(GenerationFailed) as caught:
        generated(using(session, backend))

    assert "make room" in caught.value.fix
    assert said in caught.value.fix
    assert str(tmp_path) not in str(caught.value)


def test_a_folder_that_takes_no_file_loses_no_paid_job(session: Session, tmp_path: Path) -> None:
    backend = Blocking(tmp_path)
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
