"""The media tools: what they give back, and what goes wrong."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcell import GenerationWish, build_media_tools, media_resume
from agentcell.agents import calls
from agentcell.errors import AgentcellError, GenerationFailed, NotResumable
from agentcell.imaging.events import BackendEvent
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.hosted.states import Patience
from agentcell.imaging.jobs import FILE, JobLedger
from agentcell.messages import ToolCall
from agentcell.testing import MediaServer, Reply
from agentcell.testing.media_files import PIXEL as PNG
from agentcell.testing.media_server import SIGNATURE
from media import png
from media_tools_kit import MP4, NAMES, TOKEN, files, image, service_at, tools, use

SECRET = SIGNATURE.partition("=")[2]


@pytest.fixture
def server() -> Iterator[MediaServer]:
    with MediaServer(token=TOKEN) as running:
        yield running


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def fails(server: MediaServer, root: Path, **times: float) -> GenerationFailed:
    with pytest.raises(GenerationFailed) as caught:
        use(tools(server, root, **times)[NAMES[0]], prompt="a fox")
    return caught.value


def ledger(root: Path) -> JobLedger:
    return JobLedger(root / ".agentcell" / FILE)


# -- results


def test_a_picture_is_saved_byte_for_byte_and_reported(server: MediaServer, root: Path) -> None:
    # case 37
    url = server.file("a.png", PNG)
    server.job("success", files=[url], thumbnails=[url], request_id="req-1", model="seedream")

    result = image(server, root)

    path = root / "generated-media" / "req-1-0.png"
    assert path.read_bytes() == PNG
    assert files(root) == ["req-1-0.png"]
    assert server.polls == []
    plain = url.partition("?")[0]
    assert result.payload == {
        "request_id": "req-1",
        "model": "seedream",
        "cost_usd": 0.039,
        "artifacts": [
            {"type": "image", "path": str(path), "source_url": plain, "thumbnail_url": plain}
        ],
    }
    assert result == (
        "1 file made (request req-1, model seedream):\n\n"
        f"- image → generated-media/req-1-0.png\n  - thumbnail: {plain}\n\nCost: $0.0390"
    )


def test_a_folder_that_is_not_there_yet_is_made_before_the_job_is_written_down(
    server: MediaServer, root: Path
) -> None:
    folder, seen = root / "a" / "new one", list[str]()

    class Looking(HostedMediaBackend):
        async def run(self, wish: GenerationWish, *, key: str) -> AsyncGenerator[BackendEvent]:
            seen.extend(job.state for job in ledger(folder).jobs())
            async for event in super().run(wish, key=key):
                yield event

    patience = Patience(interval=0.01)
    tool = build_media_tools(Looking(server.url, TOKEN, patience=patience), folder)[0]
    use(tool, prompt="a fox")

    assert seen == ["submitted"]
    assert files(folder) == ["req-1-0.png"]


def test_a_picture_that_came_damaged_is_never_there_under_a_name(
    server: MediaServer, root: Path
) -> None:
    server.job("success", files=[server.file("a.png", PNG[:-20])], request_id="req-1")

    with pytest.raises(GenerationFailed, match=r"made req-1, but nothing could be saved") as caught:
        image(server, root)

    assert "req-1-0.png is a damaged PNG image" in caught.value.problem
    assert caught.value.request_id == "req-1"
    assert files(root) == []


def test_a_model_reads_the_markdown(server: MediaServer, root: Path) -> None:
    call = ToolCall(id="c", name=NAMES[0], arguments={"prompt": "a fox"})

    read = calls.call(tools(server, root)[NAMES[0]], call)

    assert isinstance(read, str)
    assert "req-1-0.png" in read
    assert read.endswith("Cost: $0.0390")


def test_a_result_can_be_copied_and_pickled(server: MediaServer, root: Path) -> None:
    result = image(server, root)

    for other in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):  # noqa: S301
        assert other == result
        assert other.payload == result.payload


def test_a_cost_that_is_not_told_is_not_zero(server: MediaServer, root: Path) -> None:
    server.job("success", files=[server.file("a", PNG)], cost=None)

    result = image(server, root)

    assert result.payload["cost_usd"] is None
    assert "Cost: not told by the service" in result


def test_several_files_are_numbered_from_zero(server: MediaServer, root: Path) -> None:
    # case 56
    pictures = [png(color) for color in ("red", "green", "blue")]
    urls = [server.file(f"{n}", data) for n, data in enumerate(pictures)]
    server.job("queued", "success", files=urls)

    image(server, root, n=3)

    assert files(root) == ["req-1-0.png", "req-1-1.png", "req-1-2.png"]
    made = [(root / "generated-media" / name).read_bytes() for name in files(root)]
    assert made == pictures


def test_one_file_of_three_that_cannot_be_had_does_not_cost_the_others(
    server: MediaServer, root: Path
) -> None:
    # case 57
    urls = [server.file(f"{n}", png(color)) for n, color in enumerate(("red", "green", "blue"))]
    server.file("1", b"", status=404)
    server.job("success", files=urls)

    result = image(server, root, n=3)

    assert files(root) == ["req-1-0.png", "req-1-2.png"]
    assert len(result.payload["artifacts"]) == 2
    (missing,) = result.payload["missing"]
    assert "404" in missing
    assert f"- not saved: {missing}" in result
    assert SECRET not in result + json.dumps(result.payload)
    (job,) = ledger(root).jobs()
    assert job.state == "done"
    assert "404" in job.problem


def test_fewer_files_than_were_asked_for_are_noticed(server: MediaServer, root: Path) -> None:
    server.job("success", files=[server.file("a", PNG)])

    result = image(server, root, n=4)

    assert result.payload["missing"] == ["4 were asked for, and the service made 1."]


def test_what_cannot_be_had_at_all_is_an_error_that_says_that_it_is_paid(
    server: MediaServer, root: Path
) -> None:
    server.job("success", files=[server.file("a", b"<html>expired</html>")])

    failure = fails(server, root)

    assert failure.is_billed
    assert SECRET not in str(failure)
    assert files(root) == []


def test_a_strange_request_id_becomes_a_harmless_file_name(server: MediaServer, root: Path) -> None:
    # case 55
    server.job("success", files=[server.file("a", PNG)], request_id="../a b.c_1é")

    image(server, root)

    assert files(root) == ["___a_b_c_1_-0.png"]


def test_files_of_another_job_of_that_name_stay(server: MediaServer, root: Path) -> None:
    server.job("success", files=[server.file("a", PNG)], request_id="a b")
    server.job("success", files=[server.file("b", png("blue"))], request_id="a.b")

    image(server, root)
    image(server, root)

    assert files(root) == ["a_b-0-2.png", "a_b-0.png"]
    assert (root / "generated-media" / "a_b-0.png").read_bytes() == PNG


def test_the_type_is_that_of_the_content_whatever_was_asked(
    server: MediaServer, root: Path
) -> None:
    server.job("success", files=[server.file("a.png", png(kind="WEBP"))])

    image(server, root)

    assert files(root) == ["req-1-0.webp"]


def test_a_clip_keeps_its_still_picture_beside_it(server: MediaServer, root: Path) -> None:
    server.job(
        "success",
        files=[server.file("v.mp4", MP4)],
        thumbnails=[server.file("t.jpg", png(kind="JPEG"))],
    )

    result = use(tools(server, root)[NAMES[1]], prompt="waves")

    assert "req-1-0.mp4" in files(root)
    assert result.payload["artifacts"][0]["type"] == "video"
    assert result.payload["artifacts"][0]["thumbnail_url"].endswith("/files/t.jpg")


def test_models_are_listed_without_signatures(server: MediaServer, root: Path) -> None:
    # case 52
    server.catalogue["docs"] = [f"https://docs.example/a?{SIGNATURE}"]
    listing = tools(server, root)[NAMES[2]]

    plain = use(listing)
    with_upstream = use(listing, include_upstream=True)

    assert plain["curated"][0]["id"] == "seedream-4-0-250828"
    assert plain["docs"] == ["https://docs.example/a"]
    assert "upstream" in with_upstream
    paths = [request.path.rpartition("/")[2] for request in server.requests]
    assert paths == ["models", "models?includeUpstream=true"]
    assert server.charged == 0


# -- what goes wrong


@pytest.mark.parametrize("states", [("failed",), ("queued", "cancelled"), ("success",)])
def test_a_job_without_files_is_an_error_that_names_it_and_makes_no_folder(
    states: tuple[str, ...], server: MediaServer, root: Path
) -> None:
    # cases 40, 41, 46
    server.job(*states, request_id="req-3")

    failure = fails(server, root)

    assert "req-3" in str(failure)
    assert not (root / "generated-media").exists()
    assert ledger(root).unfinished() == ()


def test_a_refusal_is_told_and_not_repeated(server: MediaServer, root: Path) -> None:
    # case 49
    refusal = Reply(raw='{"success":false,"error":"Insufficient balance"}')
    server.fault("submit", refusal)

    failure = fails(server, root)

    assert "Insufficient balance" in str(failure)
    assert failure.is_billed is False
    assert len(server.posts) == 1
    assert ledger(root).jobs()[0].state == "failed"


def test_a_job_is_in_the_ledger_before_it_is_submitted(server: MediaServer, root: Path) -> None:
    seen: list[tuple[str, str]] = []

    def note(request: Any) -> Reply:
        (job,) = ledger(root).jobs()
        seen.append((job.state, job.key))
        assert request.headers["idempotency-key"] == job.key
        return Reply(status=402, raw="{}")

    server.fault("submit", note)
    with pytest.raises(AgentcellError):
        image(server, root)

    assert [state for state, _ in seen] == ["submitted"]


def test_a_job_that_takes_too_long_is_fetched_later_without_a_second_submit(
    server: MediaServer, root: Path
) -> None:
    # cases 42 and 47
    server.job("queued", request_id="req-7", files=[server.file("a", PNG)])
    failure = fails(server, root, image=0)
    assert files(root) == []
    assert (failure.is_billed, failure.is_over) == (True, False)
    (job,) = ledger(root).unfinished()
    assert (job.request_id, job.state) == ("req-7", "accepted")

    server.jobs[0].states = ["success"]
    result = asyncio.run(media_resume("req-7", service_at(server), root))

    assert files(root) == ["req-7-0.png"]
    assert result.payload["request_id"] == "req-7"
    assert (len(server.posts), server.charged) == (1, 1)
    assert ledger(root).unfinished() == ()


def test_a_job_whose_answer_was_lost_is_fetched_later_and_charged_once(
    server: MediaServer, root: Path
) -> None:
    # case 48
    server.lose_answer()
    failure = fails(server, root)
    assert "not known" in str(failure)
    (job,) = ledger(root).unfinished()
    assert job.state == "unknown"

    asyncio.run(media_resume(job.id, service_at(server), root))

    assert files(root) == ["req-1-0.png"]
    assert server.keys == [job.key, job.key]
    assert server.charged == 1


def test_a_job_that_nobody_knows_cannot_be_fetched(server: MediaServer, root: Path) -> None:
    with pytest.raises(NotResumable, match="No job is called 'req-9'"):
        asyncio.run(media_resume("req-9", service_at(server), root))

    assert server.requests == []


_ASK = """
import asyncio, sys
from agentcell import MediaService, build_media_tools

service = MediaService(base_url=sys.argv[1], token=sys.argv[2])
tool = build_media_tools(service, sys.argv[3])[0]
asyncio.run(tool.function(prompt="a fox"))
"""


@pytest.mark.parametrize("when", ["waiting", "fetching"])
def test_a_process_that_is_killed_loses_no_job(when: str, server: MediaServer, root: Path) -> None:
    stalled = server.file("a.png", PNG + bytes(500_000), stall=400_000)
    server.job("queued" if when == "waiting" else "success", files=[stalled], request_id="req-k")
    command = [sys.executable, "-c", _ASK, server.url, TOKEN, str(root)]

    with subprocess.Popen(command) as asking:
        is_so = {
            "waiting": lambda: any(job.request_id for job in ledger(root).unfinished()),
            "fetching": lambda: bool(list((root / "generated-media").glob(".*"))),
        }[when]
        while not is_so() and asking.poll() is None:
            time.sleep(0.02)
        asking.kill()

    assert files(root) == []  # nothing under a name of its own
    (job,) = ledger(root).unfinished()
    assert job.request_id == "req-k"
    server.file("a.png", PNG)
    server.jobs[0].states = ["success"]
    asyncio.run(media_resume(job.id, service_at(server), root))
    assert (root / "generated-media" / "req-k-0.png").read_bytes() == PNG
    assert (len(server.posts), server.charged) == (1, 1)


def test_nothing_that_is_written_or_said_holds_a_token_or_a_signature(
    server: MediaServer, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # case 59
    caplog.set_level("DEBUG")
    (root / "a.png").write_bytes(PNG)
    made = image(server, root, input_images=["a.png"])
    said = [made, json.dumps(made.payload)]
    server.job("success", files=[server.file("b", b"", status=403)], request_id="req-b")
    said.append(str(fails(server, root)))
    server.job("failed", fields={"error": f"see https://h.example/x?{SIGNATURE} {TOKEN}"})
    said.append(str(fails(server, root)))

    own = [line.getMessage() for line in caplog.records if line.name.startswith("agentcell")]
    kept = (root / ".agentcell" / FILE).read_text(encoding="utf-8")
    for text in (*said, *own, kept):
        assert SECRET not in text
        assert TOKEN not in text
        assert "iVBORw0KGgo" not in text
