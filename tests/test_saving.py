"""An answer kept as it came, until its files have their names: what is left of it, and what not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from decimal import Decimal
from pathlib import Path

import pytest

from agentcell.imaging.events import BackendEvent, Ended, Made
from agentcell.imaging.placing import part_of
from agentcell.imaging.saving import held_path, hold
from agentcell.session import Session
from drawn import picture
from generating_kit import ScriptedBackend, generated, using

_KILLED = """
import resource, signal, sys
from pathlib import Path
from agentcell.imaging.saving import hold

signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
hold(Path(sys.argv[1]), bytes(100_000))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of a process there")
def test_what_a_killed_process_left_of_an_answer_goes_with_a_later_file(tmp_path: Path) -> None:
    place = held_path(tmp_path, "job-1", 0)
    done = subprocess.run([sys.executable, "-c", _KILLED, str(place)], check=False)
    assert done.returncode == -signal.SIGXFSZ
    (left,) = tmp_path.iterdir()
    two_days_ago = time.time() - 2 * 86_400
    os.utime(left, (two_days_ago, two_days_ago))

    part_of(b"another", tmp_path).discard()

    assert list(tmp_path.iterdir()) == []


def test_an_answer_is_kept_whole_under_its_own_name_alone(tmp_path: Path) -> None:
    place = held_path(tmp_path / "new", "job-1", 0)

    hold(place, b"as it came")

    assert place.read_bytes() == b"as it came"
    assert list(place.parent.iterdir()) == [place]


def test_a_place_that_takes_nothing_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    hold(held_path(tmp_path / "file", "job-1", 0), b"as it came")
    taken = held_path(tmp_path, "job-2", 0)
    taken.mkdir()

    hold(taken, b"as it came")

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["file", taken.name])


def test_what_is_made_is_returned_and_booked_although_its_kept_answer_cannot_go(
    tmp_path: Path,
) -> None:
    session = Session("local", history=tmp_path)

    class Stuck(ScriptedBackend):
        async def _said(self) -> AsyncGenerator[BackendEvent]:
            yield Made(kind="image", data=picture("red"))
            (kept,) = (tmp_path / "generated-media").glob(".job-*.held")
            kept.unlink()
            kept.mkdir()  # which no unlink takes away
            yield Ended(cost=Decimal("0.04"))

    generation = generated(using(session, Stuck()))

    assert generation.paths[0].is_file()
    assert session.cost.usd == Decimal("0.04")
