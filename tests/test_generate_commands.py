"""`%generate jobs`, `resume`, `cancel` and `models` in a real shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from agentcell.errors import BadRequest, GenerationFailed, NotResumable
from agentcell.imaging.job import JobState
from agentcell.imaging.wish import GenerationWish
from agentcell.testing.media_server import MediaServer
from agentcell.testing.replies import Reply
from agentcell_magics import current_session
from agentcell_magics.generate_commands import became
from generate_kit import MP4, Cell, Painter, added_painter, added_service
from media import png


@pytest.fixture
def painter(shell: InteractiveShell) -> Painter:  # noqa: ARG001 (it loads the magics)
    return added_painter()


@pytest.fixture
def service(shell: InteractiveShell) -> Iterator[MediaServer]:  # noqa: ARG001
    with added_service() as server:
        yield server


def test_jobs_are_listed_with_what_became_of_them(
    shell: InteractiveShell, painter: Painter
) -> None:
    assert painter.asked == []
    assert "No picture or clip was paid for here." in Cell(shell, "%generate jobs").text
    Cell(shell, "%generate a red fox -m painter")
    assert "one job is finished" in Cell(shell, "%generate jobs").text
    assert "one job is finished" in Cell(shell, "%generate").text

    listed = Cell(shell, "%generate jobs --all").text
    assert "a red fox · painter/oil · done · $0.04" in listed


def test_a_job_that_failed_is_resumed_by_its_id_without_a_second_charge(
    shell: InteractiveShell, service: MediaServer
) -> None:
    service.job("queued", "queued", "success", files=[service.file("a.png", png("red"))])
    service.fault("poll", *[_reply(403)])
    cell = Cell(shell, "%generate a fox -m hosted -o fox")
    assert cell.error is not None
    assert "%generate resume" in cell.stdout
    listed = Cell(shell, "%generate jobs").text
    job = re.search(r"job-\w+", listed)
    assert job is not None
    assert "its service has it" in listed

    resumed = Cell(shell, f"%generate resume {job[0]} -o fox")
    assert resumed.error is None
    assert shell.user_ns["fox"].paths[0].read_bytes()[:4] == b"\x89PNG"
    assert service.charged == len(service.posts) == 1
    assert "one job is finished" in Cell(shell, "%generate jobs").text


def test_an_answer_that_is_lost_is_told_with_the_line_that_asks_again(
    shell: InteractiveShell, service: MediaServer
) -> None:
    service.fault("submit", Reply(cut=-1))

    lost = Cell(shell, "%generate a fox -m hosted")

    assert isinstance(lost.error, GenerationFailed)
    line = re.search(r"`(%generate resume job-\w+)`", lost.error.fix)
    assert line, lost.error.fix
    assert Cell(shell, line[1]).error is None
    assert service.charged == 1


@pytest.mark.parametrize(
    ("line", "name", "data", "kind"),
    [
        ("%generate a fox -m hosted", "a.mp4", MP4, "video"),
        ("%generate a fox -m hosted --video", "a.png", png("red"), "image"),
    ],
)
def test_what_is_paid_for_is_kept_though_it_is_of_another_kind(
    line: str,
    name: str,
    data: bytes,
    kind: str,
    shell: InteractiveShell,
    service: MediaServer,
) -> None:
    service.job("success", files=[service.file(name, data)])

    made = Cell(shell, line)

    assert made.error is None
    assert [one.kind for one in made.result.artifacts] == [kind]
    again = Cell(shell, f"%generate resume {made.result.job_id}")
    assert again.error is None
    assert again.result.artifacts == made.result.artifacts
    assert len(service.posts) == 1


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("cancelled", "Nothing was sent"),
        ("done", "was made before that"),
        ("failed", "had failed before that"),
        ("submitted", "Whether hosted took"),
    ],
)
def test_who_stops_is_told_how_the_job_is_by_then(
    shell: InteractiveShell,  # noqa: ARG001 (it loads the magics)
    state: JobState,
    said: str,
) -> None:
    session = current_session()
    ledger = session.generator.ledger
    job = ledger.update(ledger.plan(GenerationWish(prompt="a fox"), "hosted"), state=state)

    assert said in str(became(session, job.id, 1.0))


def test_what_was_missing_of_a_job_that_is_done_is_fetched_later_and_paid_for_once(
    shell: InteractiveShell, service: MediaServer
) -> None:
    urls = [service.file(name, png(color)) for name, color in (("a.png", "red"), ("b.png", "blue"))]
    lost = service.shelf.pop("b.png")
    service.job("success", files=urls)
    made = Cell(shell, "%generate foxes -n 2 -m hosted")
    assert len(made.result.artifacts) == 1
    line = re.search(r"%generate resume job-\w+", made.text)
    assert line, made.text

    again = Cell(shell, line[0])  # not there yet
    assert again.error is not None or len(again.result.artifacts) == 1
    service.shelf["b.png"] = lost
    whole = Cell(shell, line[0])

    assert whole.error is None
    assert len(whole.result.artifacts) == 2
    assert whole.result.artifacts[0] == made.result.artifacts[0]
    assert whole.result.missing == ()
    assert len(service.posts) == 1
    assert current_session().cost.usd == Decimal("0.039")
    polls = len(service.polls)
    assert len(Cell(shell, line[0]).result.artifacts) == 2
    assert len(service.polls) == polls, "nobody is asked for what is here"


def test_an_address_where_no_service_is_names_the_variable_that_holds_it(
    shell: InteractiveShell, service: MediaServer
) -> None:
    service.fault("submit", Reply(status=404, raw=b"not here"))

    cell = Cell(shell, "%generate a fox -m hosted")

    assert isinstance(cell.error, BadRequest)
    assert "AGENTCELL_MEDIA_URL" in cell.error.fix


def test_a_job_is_cancelled_at_its_service(shell: InteractiveShell, service: MediaServer) -> None:
    service.job("queued")
    service.fault("poll", _reply(403))
    Cell(shell, "%generate a fox -m hosted")
    job = current_session().generator.jobs()[0]

    assert f"{job.id} is cancelled at hosted." in Cell(shell, f"%generate cancel {job.id}").text
    assert len(service.cancels) == 1
    again = Cell(shell, f"%generate cancel {job.id}")
    assert isinstance(again.error, NotResumable)


def test_a_service_that_stops_nothing_is_told_of(
    shell: InteractiveShell, service: MediaServer
) -> None:
    service.takes_cancel = False
    service.job("queued")
    service.fault("poll", _reply(403))
    Cell(shell, "%generate a fox -m hosted")
    job = current_session().generator.jobs()[0]

    cell = Cell(shell, f"%generate cancel {job.id}")
    assert isinstance(cell.error, NotResumable)
    assert "may go on, and be charged" in str(cell.error)


def test_makers_and_models_are_listed(shell: InteractiveShell, service: MediaServer) -> None:
    assert service.charged == 0
    backends = Cell(shell, "%generate backends").text
    assert re.search(r"hosted\s+pictures and clips · set up", backends)
    assert "needs OPENAI_API_KEY" in backends
    assert re.search(r"procedural\s+pictures · free; only where it is named", backends)

    models = Cell(shell, "%generate models").text
    assert "hosted/seedream-4-0-250828 pictures" in models
    assert "hosted/seedance-1-0-pro-fast-251015 clips" in models


def _reply(status: int) -> Any:
    return Reply(status=status, raw='{"success": false, "error": "no"}')
