"""`%generate` in a real kernel: stopped, killed, in the background, and what the notebook keeps."""

from __future__ import annotations

import copy
import io
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output, writes
from PIL import Image

import kernels
from agentcell.testing.media_server import MediaServer
from kernels import Kernel, Ran
from media import png

TOKEN = "media-token-q8Zp2WvX9mRt4Ls8"  # noqa: S105 (nobody's)

SETUP = """
%load_ext agentcell
import os, asyncio
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.events import Accepted, Ended, Made, PartialImage, Progressed
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.hosted.states import Patience
from agentcell_magics import current_session
from media import png
session = current_session()
session.generator.backends.add(HostedMediaBackend(patience=Patience(interval=0.05)))

class Slow(ImageBackend):
    name = "slow"
    def __init__(self, seconds):
        self.seconds = seconds
    async def run(self, wish, *, key):
        yield Progressed("painting", 0.25)
        yield PartialImage(png("grey", (64, 64)))
        await asyncio.sleep(self.seconds)
        yield Made(kind="image", data=png("red", (64, 48)))
        yield Ended(model="oil")

session.generator.backends.add(Slow(1.5))
"""


@pytest.fixture(scope="module")
def service() -> Iterator[MediaServer]:
    with MediaServer(token=TOKEN) as server:
        yield server


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory, service: MediaServer) -> Iterator[Kernel]:
    with started(tmp_path_factory.mktemp("notebook"), service) as kernel:
        yield kernel


@contextmanager
def started(folder: Path, service: MediaServer) -> Iterator[Kernel]:
    """Start a kernel in `folder` to which the service is known."""
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    env = {
        "AGENTCELL_MEDIA_URL": service.url,
        "AGENTCELL_MEDIA_TOKEN": TOKEN,
        "PYTHONPATH": os.pathsep.join(paths),
    }
    with kernels.running(folder, env) as kernel:
        ran = kernel.run(SETUP)
        assert ran.status == "ok", ran.text
        yield kernel


def ids(text: str) -> list[str]:
    return re.findall(r"job-\w+", text)


def size(*runs: Ran) -> int:
    """Bytes of the notebook that a front end would save."""
    cells = [new_code_cell("x", outputs=[new_output(**one) for one in run.outputs]) for run in runs]
    book = new_notebook(cells=cells)
    nbformat.validate(book)
    return len(writes(book).encode())


# -- killed --------------------------------------------------------------------------------------


def test_a_killed_kernel_loses_no_job_and_nothing_is_paid_for_twice(tmp_path: Path) -> None:
    with MediaServer(token=TOKEN) as service:
        service.job("queued", "running", request_id="req-7")
        with started(tmp_path, service) as kernel:
            kernel.start("%generate a fox -m hosted")
            assert service.wait_for("poll", 2)
            os.kill(kernel.pid, signal.SIGKILL)
        service.jobs[0].files = [service.file("fox.png", png("red", (90, 60)))]
        service.jobs[0].states = ["success"]

        with started(tmp_path, service) as kernel:
            reminded = kernel.run("%generate a hare -m procedural --size 64x64").text
            assert "One job of before is not finished" in reminded
            assert "of before" not in kernel.run("%generate a hare -m procedural").text
            listed = kernel.run("%generate jobs").text
            assert "a fox · hosted" in listed
            assert "its service has it" in listed
            (job,) = set(ids(listed))
            ran = kernel.run(f"fox = %generate resume {job}")
            assert ran.status == "ok", ran.text
            assert "req-7-0.png" in ran.text
            done = kernel.run("fox.paths[0].read_bytes()[:4], fox.prompt, fox.job_id").text
            assert done == f"(b'\\x89PNG', 'a fox', '{job}')"
            assert "Nothing is under way" in kernel.run("%generate jobs").text

        assert len(service.posts) == service.charged == 1
        names = [one.name for one in (tmp_path / "generated-media").iterdir()]
        assert [name for name in names if "procedural" not in name] == ["req-7-0.png"]


def test_a_kernel_killed_before_the_answer_asks_again_under_the_same_key(tmp_path: Path) -> None:
    with MediaServer(token=TOKEN) as service:
        from agentcell.testing.replies import Reply

        service.fault("submit", Reply(stall=-1))
        with started(tmp_path, service) as kernel:
            kernel.start("%generate a fox -m hosted")
            assert service.wait_for("submit", 1)
            os.kill(kernel.pid, signal.SIGKILL)

        with started(tmp_path, service) as kernel:
            listed = kernel.run("%generate jobs").text
            assert "sent, no answer came" in listed
            ran = kernel.run(f"%generate resume {ids(listed)[0]}")
            assert ran.status == "ok", ran.text

        assert len(set(service.keys)) == 1
        assert service.charged == 1


# -- stopped -------------------------------------------------------------------------------------


def test_stop_ends_the_wait_and_says_where_the_job_is(ready: Kernel, service: MediaServer) -> None:
    before = service.charged
    service.job("queued", "running")
    cell = ready.start("%generate a fox -m hosted")
    polled = len(service.polls)
    assert service.wait_for("poll", polled + 2)
    ready.interrupt()
    ran = ready.finish(cell, 20)

    assert ran.ename == "Stopped"
    (job,) = set(ids(ran.text))
    assert f"hosted goes on with {job}, which may be charged" in ran.text
    assert f"%generate resume {job}" in ran.text
    assert f"%generate cancel {job}" in ran.text
    assert len(ran.traceback.splitlines()) <= 15
    after = len(service.polls)
    time.sleep(0.5)
    assert len(service.polls) == after  # nobody asks after it any more
    assert service.charged == before + 1
    assert "is cancelled at hosted" in ready.run(f"%generate cancel {job}").text


def test_stop_of_what_keeps_no_jobs_says_that_it_may_be_charged(ready: Kernel) -> None:
    ready.run("session.generator.backends.add(Slow(60))")
    cell = ready.start("%generate a fox -m slow")
    time.sleep(1.2)
    ready.interrupt()
    ran = ready.finish(cell, 20)
    ready.run("session.generator.backends.add(Slow(1.5))")

    assert ran.ename == "Stopped"
    assert "slow may have charged" in ran.text
    assert not list(
        (Path(ready.run("print(os.getcwd())").text.strip()) / "generated-media").glob("*.part")
    )


# -- while it is made ----------------------------------------------------------------------------


def test_one_line_tells_how_far_it_is_and_gives_way_to_the_picture(ready: Kernel) -> None:
    cell = ready.start("%generate a fox -m slow")
    told: list[str] = []
    shows = 0
    ran = Ran()
    while True:
        message = ready.client.get_iopub_msg(timeout=30)
        if message["parent_header"].get("msg_id") != cell:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "status" and content["execution_state"] == "idle":
            break
        shows += kind == "display_data"
        ran.take(kind, content)
        if kind in {"display_data", "update_display_data"}:
            told.append(content["data"]["text/plain"])
    ready.client.get_shell_msg(timeout=10)

    assert told[0] == "Making a picture with slow · cost unknown"
    assert "not finished" in told
    assert any("painting · 25 % · 1 s" in one for one in told)
    assert shows == 2
    assert len(told) < 20
    assert [set(out["data"]) & {"image/png", "image/jpeg"} != set() for out in ran.outputs] == [
        True,
        False,
    ]
    assert ran.outputs[0]["data"]["text/plain"] == "a fox"
    assert ran.outputs[1]["data"]["text/plain"].endswith("slow/oil · cost unknown")


# -- in the background ---------------------------------------------------------------------------


def test_in_the_background_the_cell_ends_at_once_and_its_display_follows(ready: Kernel) -> None:
    cell = ready.start("%generate a fox -m slow --async -o h")
    ran = ready.finish(cell)
    assert ran.status == "ok"
    assert "Making a picture with slow" in ran.text
    assert ready.run("h.status").text == "'running'"
    assert re.search(r"h\s+Making a picture with slow", ready.run("%generate jobs").text)
    assert re.search(r"h\s+Making a picture with slow", ready.run("%agent running").text)

    shown = ready.run("fox = await h; type(fox).__name__, h.status")
    assert shown.text.splitlines()[-1] == "('Generation', 'complete')"
    later = ready.run("h")
    assert len(later.outputs) == 2
    assert later.outputs[0]["data"]["text/plain"] == "a fox"
    assert "slow/oil" in later.text


def test_what_runs_in_the_background_has_a_stop(ready: Kernel, service: MediaServer) -> None:
    service.job("queued", "running")
    polled = len(service.polls)
    ready.run("%generate a fox -m hosted --async -o h")
    assert service.wait_for("poll", polled + 2)

    assert "Stopped: h." in ready.run("%generate cancel h").text
    assert ready.run("h.status").text == "'stopped'"
    ran = ready.run("h.result()")
    assert ran.ename == "Stopped"
    assert "hosted goes on with job-" in ran.evalue


# -- where nobody watches ------------------------------------------------------------------------


def test_a_notebook_that_is_run_by_a_tool_keeps_the_end_alone(
    tmp_path: Path, service: MediaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTCELL_MEDIA_URL", service.url)
    monkeypatch.setenv("AGENTCELL_MEDIA_TOKEN", TOKEN)
    here = os.pathsep.join([str(Path(__file__).parent), os.environ["PYTHONPATH"]])
    monkeypatch.setenv("PYTHONPATH", here)
    sources = [SETUP, "%generate a fox -m slow", "%generate a fox -m slow --async -o h", "await h"]
    book = new_notebook(cells=[new_code_cell(source) for source in sources])
    for is_test in (False, True):
        if not is_test:
            monkeypatch.delenv("PYTEST_CURRENT_TEST")
        done = nbclient.NotebookClient(
            copy.deepcopy(book), timeout=60, resources={"metadata": {"path": str(tmp_path)}}
        ).execute()
        monkeypatch.setenv("PYTEST_CURRENT_TEST", "x")

        for cell in done.cells[1:3]:
            texts = [output["data"]["text/plain"] for output in cell.outputs]
            assert texts[0] == "a fox"
            assert texts[1].endswith("slow/oil · cost unknown")
            assert len(texts) == 2
        assert len(done.cells[3].outputs) == 2


# -- by Tab --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("%generate ", ["models", "backends", "jobs", "resume", "cancel", "--model", "--async"]),
        ("%generate a fox's tail --si", ["--size"]),
        ("%generate a fox --format ", ["png", "webp", "jpeg"]),
        ("%generate -m ", ["procedural", "hosted", "openai", "gemini", "slow"]),
        ("%generate a fox in {pic", ["picture"]),
        ("%generate a fox --edit pic", ["picture"]),
        ("%%generate --qual", ["--quality"]),
        ("%%generate -m slow\nA fox in {pic", ["picture"]),
        ("fox = %generate a fox --vi", ["--video"]),
    ],
)
def test_tab_offers_what_may_come(ready: Kernel, line: str, offered: list[str]) -> None:
    ready.run("from PIL import Image; picture = Image.new('RGB', (4, 4))")
    found = ready.complete(line)

    assert [one for one in offered if one not in found] == []


def test_tab_offers_jobs_that_can_be_resumed(ready: Kernel, service: MediaServer) -> None:
    service.job("queued", "running")
    polled = len(service.polls)
    ready.run("%generate a fox -m hosted --async -o h")
    assert service.wait_for("poll", polled + 1)
    job = ready.run("h.job_id").text.strip("'")

    offered = ready.complete("%generate cancel ")
    assert offered[:2] == ["h", job]
    assert all(one.startswith("job-") for one in offered[1:])
    ready.run("%generate cancel h")
    assert job in ready.complete("%generate resume job-")


# -- what the notebook keeps ---------------------------------------------------------------------


def noise(seed: int) -> bytes:
    """A PNG of about four megabytes that nothing makes smaller."""
    pixels = np.random.default_rng(seed).integers(0, 255, (1180, 1180, 3), dtype=np.uint8)
    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, "PNG", compress_level=1)
    return sink.getvalue()


def test_eight_pictures_of_four_megabytes_add_under_400_kb(
    ready: Kernel, service: MediaServer
) -> None:
    pictures = [noise(seed) for seed in range(8)]
    assert all(4_000_000 < len(one) < 5_000_000 for one in pictures)
    addresses = [service.file(f"noise-{n}.png", one) for n, one in enumerate(pictures)]
    service.job("success", files=addresses)
    at_once = ready.run("%generate noise -m hosted -n 8 -o noise", timeout=120)
    assert at_once.status == "ok", at_once.text
    assert ready.run("len(noise.paths)").text == "8"
    assert size(at_once) < 400_000

    runs = []
    for number, address in enumerate(addresses):
        service.job("success", files=[address], request_id=f"one-{number}")
        runs.append(ready.run(f"%generate noise {number} -m hosted", timeout=60))
    assert [run.status for run in runs] == ["ok"] * 8
    assert size(*runs) < 400_000
    assert not re.search(
        r"[A-Za-z0-9+/]{201,}",
        json.dumps(
            [
                {k: v for k, v in out["data"].items() if "image/" not in k}
                for run in [at_once, *runs]
                for out in run.outputs
            ]
        ),
    )
