"""Jobs and their file: on disk before they go on, found again, without secrets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from agentcell.assets.asset import ImageAsset
from agentcell.errors import AttachmentError, GenerationError, JobsWarning, NotResumable
from agentcell.imaging.jobs import FILE, JobLedger
from agentcell.imaging.wish import GenerationWish
from agentcell.testing.media_files import PIXEL as PNG

WISH = GenerationWish(prompt="a fox", count=2, seed=-7, size="1024x1024")


@pytest.fixture
def ledger(tmp_path: Path) -> JobLedger:
    return JobLedger(tmp_path / ".agentcell" / FILE)


def lines(ledger: JobLedger) -> list[dict[str, object]]:
    assert ledger.path is not None
    return [json.loads(line) for line in ledger.path.read_text(encoding="utf-8").splitlines()]


def test_a_planned_job_is_on_disk_before_plan_returns(ledger: JobLedger) -> None:
    job = ledger.plan(WISH, "hosted", cell="cell-1")

    (line,) = lines(ledger)
    assert line["job"] == job.id
    assert line["key"] == job.key
    assert line["wish"] == {
        "prompt": "a fox",
        "kind": "image",
        "count": 2,
        "size": "1024x1024",
        "format": "png",
        "seed": -7,
    }
    assert (job.state, job.backend, job.cell) == ("planned", "hosted", "cell-1")


def test_what_is_new_of_a_job_is_told_by_the_next_life_of_the_kernel(
    ledger: JobLedger, tmp_path: Path
) -> None:
    job = ledger.plan(WISH, "hosted")
    job = ledger.update(job, state="submitted")
    job = ledger.update(job, state="accepted", request_id="req-1")
    made = tmp_path / "generated-media" / "req-1-0.png"
    now = ledger.update(
        job, state="done", files=[made], cost=Decimal("0.039"), model="seedream", problem="one less"
    )

    (again,) = JobLedger(ledger.path).jobs()
    assert again == now
    assert again.files == (made,)
    assert again.cost == Decimal("0.039")
    assert again.created <= again.updated
    assert again.created.tzinfo is not None
    assert again.prompt == "a fox"


def test_the_whole_folder_may_be_moved(ledger: JobLedger, tmp_path: Path) -> None:
    job = ledger.plan(WISH, "hosted")
    ledger.update(job, state="done", files=[tmp_path / "generated-media" / "a.png"])

    moved = tmp_path.parent / "moved"
    tmp_path.rename(moved)

    (again,) = JobLedger(moved / ".agentcell" / FILE).jobs()
    assert again.files == (moved / "generated-media" / "a.png",)


def test_a_file_elsewhere_keeps_its_whole_path(ledger: JobLedger, tmp_path: Path) -> None:
    elsewhere = tmp_path.parent / "elsewhere.png"

    job = ledger.update(ledger.plan(WISH, "hosted"), files=[elsewhere])

    assert job.files == (elsewhere,)
    assert ledger.jobs()[0].files == (elsewhere,)


@pytest.mark.parametrize(
    ("state", "is_unfinished"),
    [
        ("planned", False),
        ("submitted", True),
        ("accepted", True),
        ("saving", True),
        ("unknown", True),
        ("done", False),
        ("failed", False),
        ("cancelled", False),
    ],
)
def test_unfinished_is_what_may_be_paid_for_and_is_not_on_disk(
    ledger: JobLedger, state: str, is_unfinished: bool
) -> None:
    job = ledger.update(ledger.plan(WISH, "hosted"), state=state)  # type: ignore[arg-type]

    assert job.is_unfinished is is_unfinished
    assert [one.id for one in ledger.unfinished()] == ([job.id] if is_unfinished else [])


def test_a_job_is_found_by_its_id_its_request_id_and_the_beginning_of_one(
    ledger: JobLedger,
) -> None:
    job = ledger.plan(WISH, "hosted")
    other = ledger.plan(WISH, "hosted")
    job = ledger.update(job, request_id="req-one")
    ledger.update(other, request_id="req-two")

    for name in (job.id, job.id[:-1], job.id.removeprefix("job-"), "req-one", "req-o", " req-o "):
        assert ledger.find(name).id == job.id


@pytest.mark.parametrize("name", ["", "job-", "req", "nothing", "*", "x" * 1000])
def test_a_name_that_is_none_or_several_is_told(ledger: JobLedger, name: str) -> None:
    for number in range(2):
        ledger.update(ledger.plan(WISH, "hosted"), request_id=f"req-{number}")

    with pytest.raises(NotResumable) as caught:
        ledger.find(name)

    assert len(str(caught.value)) < 400


def test_a_damaged_last_line_costs_nothing_else(ledger: JobLedger) -> None:
    first = ledger.plan(WISH, "hosted")
    second = ledger.plan(WISH, "hosted")
    assert ledger.path is not None
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole[:-30])  # the power went while the second was written

    third = ledger.plan(WISH, "hosted")

    assert [job.id for job in JobLedger(ledger.path).jobs()] == [first.id, third.id]
    assert second.id not in [job.id for job in ledger.jobs()]


@pytest.mark.parametrize(
    "junk",
    [
        b"\xff\xfe\x00\n",
        b"[]\n",
        b"null\n",
        b'{"job": 3}\n',
        b'{"job": "job-x", "state": "accepted"}\n',
        b'{"job": "job-y", "key": 1, "backend": [], "wish": 5}\n',
        b"\n\n\n",
        b"[" * 100_000 + b"\n",
    ],
)
def test_lines_that_are_no_jobs_are_passed_over(ledger: JobLedger, junk: bytes) -> None:
    assert ledger.path is not None
    ledger.path.parent.mkdir()
    ledger.path.write_bytes(junk)

    job = ledger.plan(WISH, "hosted")

    assert [one.id for one in ledger.jobs()] == [job.id]


def test_a_state_of_a_later_version_counts_as_unknown(ledger: JobLedger) -> None:
    job = ledger.plan(WISH, "hosted")
    assert ledger.path is not None
    with ledger.path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"job": job.id, "state": "teleported", "cost": "NaN"}) + "\n")

    (again,) = ledger.jobs()

    assert (again.state, again.cost) == ("unknown", None)


def test_a_state_that_is_none_is_an_error_of_the_caller(ledger: JobLedger) -> None:
    job = ledger.plan(WISH, "hosted")

    with pytest.raises(ValueError, match="state is 'ready'"):
        ledger.update(job, state="ready")  # type: ignore[arg-type]


_WORK = """
import sys
from pathlib import Path
from agentcell.imaging.jobs import JobLedger
from agentcell.imaging.wish import GenerationWish

ledger, number = JobLedger(Path(sys.argv[1])), sys.argv[2]
for index in range(20):
    job = ledger.plan(GenerationWish(prompt="a fox"), f"process-{number}")
    ledger.update(job, state="accepted", request_id=f"req-{number}-{index}")
"""


def test_several_processes_write_at_once_and_lose_nothing(ledger: JobLedger) -> None:
    workers = [
        subprocess.Popen([sys.executable, "-c", _WORK, str(ledger.path), str(number)])
        for number in range(3)
    ]
    codes = [worker.wait() for worker in workers]

    jobs = ledger.jobs()
    assert codes == [0, 0, 0]
    assert len(lines(ledger)) == 120
    assert {job.request_id for job in jobs} == {f"req-{n}-{i}" for n in range(3) for i in range(20)}


def test_threads_share_a_ledger(ledger: JobLedger) -> None:
    threads = [
        threading.Thread(target=lambda: [ledger.plan(WISH, "hosted") for _ in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(ledger.jobs()) == 80


# -- where it cannot be written


def test_without_a_file_jobs_are_kept_in_memory_in_silence() -> None:
    ledger = JobLedger()

    job = ledger.update(ledger.plan(WISH, "hosted"), state="accepted", request_id="r")

    assert ledger.jobs() == (job,)


def test_a_folder_that_cannot_be_written_costs_one_warning_and_no_job(tmp_path: Path) -> None:
    (tmp_path / ".agentcell").write_text("a file, where a folder was expected")
    ledger = JobLedger(tmp_path / ".agentcell" / FILE)

    with pytest.warns(JobsWarning, match="kept in memory") as caught:
        job = ledger.plan(WISH, "hosted")
    job = ledger.update(job, state="accepted", request_id="req-1")  # warnings are errors here

    assert len(caught) == 1
    assert ledger.jobs() == (job,)


def test_a_notebook_folder_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    told: list[str] = []
    ledger = JobLedger(tmp_path / "gone" / ".agentcell" / FILE, tell=told.append)

    ledger.plan(WISH, "hosted")

    assert len(told) == 1
    assert not (tmp_path / "gone").exists()


def test_what_was_kept_in_memory_goes_to_the_file_when_it_can_be_written_again(
    tmp_path: Path,
) -> None:
    block = tmp_path / ".agentcell"
    block.write_text("in the way")
    told: list[str] = []
    ledger = JobLedger(block / FILE, tell=told.append)
    job = ledger.plan(WISH, "hosted")

    block.unlink()
    ledger.update(job, state="accepted", request_id="req-1")

    assert [one.request_id for one in JobLedger(ledger.path).jobs()] == ["req-1"]
    assert len(told) == 1


@pytest.mark.skipif(os.name != "posix", reason="limits of a file's size are POSIX's")
def test_a_full_disk_costs_one_warning_and_no_job(ledger: JobLedger) -> None:
    import resource

    first = ledger.plan(WISH, "hosted")
    assert ledger.path is not None
    whole = ledger.path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 20, hard))
    try:
        with pytest.warns(JobsWarning, match="cannot be written"):
            second = ledger.plan(WISH, "hosted")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert ledger.path.read_bytes() == whole  # no half of a line
    assert [job.id for job in ledger.jobs()] == [first.id, second.id]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a system without /dev/zero")
def test_a_link_in_the_place_of_the_file_is_neither_read_nor_written(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("mine")
    for number, target in enumerate(("/dev/zero", str(other))):
        path = tmp_path / f"{number}.jsonl"
        path.symlink_to(target)
        told: list[str] = []
        ledger = JobLedger(path, tell=told.append)

        job = ledger.plan(WISH, "hosted")

        assert [one.id for one in ledger.jobs()] == [job.id]
        assert len(told) == 1
    assert other.read_text() == "mine"


def test_the_folder_ignores_itself_in_git_and_the_file_is_the_person_s_own(
    ledger: JobLedger,
) -> None:
    ledger.plan(WISH, "hosted")

    assert ledger.path is not None
    assert (ledger.path.parent / ".gitignore").read_text() == "*\n"
    if os.name == "posix":
        assert ledger.path.stat().st_mode & 0o077 == 0


# -- what it holds


def test_no_key_no_signed_query_and_no_bytes_reach_the_file(
    ledger: JobLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "Zq7xW3mN9pL2vK8t"  # noqa: S105 (made up)
    monkeypatch.setenv("AGENTCELL_MEDIA_TOKEN", secret)
    signed = "https://files.example.org/a.png?X-Amz-Signature=f00dfeedf00dfeed&u=1"
    picture = ImageAsset.from_bytes(PNG)
    wish = GenerationWish(
        prompt=f"like {signed} with {secret} and data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==",
        model=f"model?{secret}",
        references=(picture, ImageAsset.from_url(signed)),
        mask=picture,
    )

    job = ledger.plan(wish, "hosted")
    job = ledger.update(
        job,
        state="failed",
        request_id=f"req-{secret}",
        problem=f"GET {signed} answered 403; https://user:pass@h.example/ {secret}",
    )

    assert ledger.path is not None
    for text in (ledger.path.read_text(encoding="utf-8"), repr(job), repr(ledger.jobs())):
        for hidden in (secret, "f00dfeed", "u=1", "iVBORw0KGgo", "user:pass"):
            assert hidden not in text
    assert picture.identity in ledger.path.read_text(encoding="utf-8")


def test_half_a_character_is_no_trouble(ledger: JobLedger) -> None:
    job = ledger.plan(GenerationWish(prompt="fox\u2028"), "hosted")
    ledger.update(job, state="failed", problem="the service said \ud800", model="\udfff")

    assert [(one.id, one.prompt) for one in ledger.jobs()] == [(job.id, "fox\u2028")]


def test_a_long_problem_is_cut(ledger: JobLedger) -> None:
    job = ledger.update(ledger.plan(WISH, "hosted"), problem="no " * 10_000)

    assert len(job.problem) == 500


def test_a_wish_comes_back_with_the_pictures_that_are_still_there(
    ledger: JobLedger, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    wish = GenerationWish(
        kind="image",
        prompt="its twin",
        references=(
            ImageAsset.from_path(tmp_path / "a.png"),
            ImageAsset.from_url("https://files.example.org/b.png"),
        ),
        mask=ImageAsset.from_path(tmp_path / "a.png"),
        parents=("d1",),
        quality="high",
    )

    ledger.plan(wish, "hosted")

    assert ledger.jobs()[0].wish_again() == wish


@pytest.mark.parametrize("fate", ["gone", "another"])
def test_a_wish_without_its_picture_is_not_sent_again(
    ledger: JobLedger, tmp_path: Path, fate: str
) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    wish = GenerationWish(prompt="its twin", references=(ImageAsset.from_path(path),))
    job = ledger.plan(wish, "hosted")
    path.unlink() if fate == "gone" else path.write_bytes(PNG + b"\0")

    with pytest.raises(GenerationError, match="gone or was changed"):
        job.wish_again()
    assert job.wish_again(is_whole=False) == GenerationWish(prompt="its twin")


def test_a_clip_comes_back_too(ledger: JobLedger) -> None:
    wish = GenerationWish(
        prompt="waves", kind="video", seconds=6, aspect="16:9", negative="blur", seed=2**62
    )
    ledger.plan(wish, "hosted")

    assert ledger.jobs()[0].wish_again() == wish


def test_a_picture_at_another_service_keeps_its_id(ledger: JobLedger) -> None:
    wish = GenerationWish(prompt="x", references=(ImageAsset.from_file_id("file-1"),))

    assert ledger.plan(wish, "openai").wish_again() == wish


def test_a_signed_address_is_not_sent_again_from_the_file(ledger: JobLedger) -> None:
    signed = ImageAsset.from_url("https://files.example.org/a.png?sig=1")
    job = ledger.plan(GenerationWish(prompt="x", references=(signed,)), "hosted")

    with pytest.raises((GenerationError, AttachmentError)):
        job.wish_again()


def test_a_request_id_stays_what_it_is_whatever_it_looks_like(ledger: JobLedger) -> None:
    name = "req-sk-abcdef1234567890?x=1"  # by nothing else can a paid job be found again
    ledger.update(ledger.plan(WISH, "hosted"), state="accepted", request_id=name)

    assert ledger.find(name).request_id == name


def test_a_wish_that_was_shortened_is_not_sent_again(ledger: JobLedger) -> None:
    wish = GenerationWish(prompt="like https://files.example.org/a.png?sig=1")
    job = ledger.plan(wish, "hosted")

    with pytest.raises(GenerationError, match="cannot be sent again as it was"):
        job.wish_again()
    assert job.wish_again(is_whole=False).prompt == "like https://files.example.org/a.png"


@pytest.mark.parametrize(
    "record",
    [{}, {"prompt": 5}, {"prompt": "x", "references": [5]}, {"prompt": "x", "mask": None}],
)
def test_a_wish_that_cannot_be_read_is_told(ledger: JobLedger, record: object) -> None:
    assert ledger.path is not None
    ledger.path.parent.mkdir()
    line = {"job": "job-1", "key": "k", "backend": "b", "state": "accepted", "wish": record}
    ledger.path.write_text(json.dumps(line) + "\n", encoding="utf-8")

    (job,) = ledger.jobs()
    with pytest.raises(GenerationError):
        job.wish_again(is_whole=False)
