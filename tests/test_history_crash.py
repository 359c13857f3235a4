"""A kernel that dies at any moment: what it had kept is there, and what it left is cleaned away."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import agent_kit
from agentcell.assets.asset import ImageAsset
from agentcell.history.attachment_table import clean
from agentcell.history.notebook import NotebookHistory
from agentcell.history.turns import Turn
from agentcell.messages import MediaMessageBlock

KILLS = 100
SIZE = 1_000_000

CHILD = """
import sys
sys.path.insert(0, {tests!r})
from test_history_crash import kill_writers
kill_writers({folder!r}, {kills})
"""


def kill_writers(folder: str, kills: int) -> None:
    """Fork a process that keeps turns, kill it at any moment; so many times. Print what was kept.

    A process of its own does so: it has loaded everything, and it has no threads.
    """
    rng = random.Random(5)  # noqa: S311 (no secret)
    for life in range(kills):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            write_turns(folder, life, writing)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as said:
            assert said.readline() == "ready\n"
            time.sleep(rng.uniform(0, 0.2))
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            print(said.read(), end="", flush=True)  # noqa: T201 (the test reads it)


def write_turns(folder: str, life: int, said: int) -> None:
    """Keep turns with pictures of their own until someone ends this; say each one that is kept."""
    history = NotebookHistory(folder, notebook="a.ipynb")
    history.tags()
    os.write(said, b"ready\n")
    for number in range(10_000):
        name = f"{life}-{number}"
        history.put("main", turn(name, picture(life, number)))
        os.write(said, f"{name}\n".encode())


def picture(life: int, number: int) -> ImageAsset:
    noise = random.Random(f"{life}-{number}").randbytes(1_000) * (SIZE // 1_000)  # noqa: S311
    return ImageAsset.from_bytes(agent_kit.png(1, 2, 3, noise=noise), filename="p.png")


def turn(name: str, asset: ImageAsset) -> Turn:
    block = MediaMessageBlock(asset, "x", f"[x_1 {name}]")
    return Turn(
        id=name,
        cell_id=name,
        messages=({"role": "user", "content": [block]}, {"role": "assistant", "content": "x"}),
        status="complete",
        model="m",
    )


def files(folder: Path) -> Iterator[Path]:
    return (file for file in (folder / ".agentcell/assets").rglob("*") if file.is_file())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_what_was_kept_outlives_a_kill_at_any_of_100_moments(tmp_path: Path) -> None:
    code = CHILD.format(tests=str(Path(__file__).parent), folder=str(tmp_path), kills=KILLS)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    said = ran.stdout.split()
    assert len(said) > KILLS / 5  # the disk decides how many there are

    history = NotebookHistory(tmp_path, notebook="a.ipynb")
    kept = {one.id: one for one in history.turns()}
    assert set(said) <= set(kept)
    assert len(kept) - len(said) <= KILLS  # the last one of each life may have been kept unsaid
    for name, one in list(kept.items())[::10]:
        life, number = map(int, name.split("-"))
        assert one.attachments[0].asset.load_bytes() == picture(life, number).load_bytes()

    store = history._shelf._store  # noqa: SLF001 (the cleaning of an hour later)
    assert store is not None
    clean(store, 0, every=0)
    assert len(list(files(tmp_path))) == len(kept)
    assert not list(tmp_path.rglob("*.part"))


def test_leftovers_are_cleaned_away_when_a_notebook_is_opened(tmp_path: Path) -> None:
    history = NotebookHistory(tmp_path, notebook="a.ipynb")
    history.put("main", turn("one", picture(0, 0)))
    (used,) = files(tmp_path)
    leftovers = [used.parent / ".x.part", used.parent / ("a" * 64)]
    long_ago = time.time() - 7_200
    for file in (used, *leftovers):
        file.touch()
        os.utime(file, (long_ago, long_ago))
    young = used.parent / ".y.part"
    young.touch()
    history.close()
    history.turns()
    assert len(list(files(tmp_path))) == 4  # it was cleaned a moment ago

    store = history._shelf._store  # noqa: SLF001
    assert store is not None
    store.database.write("UPDATE counter SET value = 0 WHERE name = 'cleaned'")
    history.close()
    history.turns()
    assert sorted(files(tmp_path)) == sorted([used, young])


INTERRUPTED = """
import random, signal, sys
sys.path.insert(0, {tests!r})
from test_history_crash import turn, picture
from agentcell.history.notebook import NotebookHistory

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
history = NotebookHistory({folder!r}, notebook="a.ipynb")
history.put("main", turn("first", picture(0, 0)))
rng, stopped = random.Random(3), 0
for number in range(300):
    new = turn(f"t{{number}}", picture(0, number % 3))
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.00005, 0.004))
        try:
            history.put("main", new)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        stopped += 1
        history.put("main", new)
print(stopped, history.count(), len({{one.id for one in history.turns()}}))
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
def test_an_interrupt_at_any_moment_neither_loses_nor_doubles_a_turn(tmp_path: Path) -> None:
    code = INTERRUPTED.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stderr
    stopped, counted, different = map(int, ran.stdout.split())
    assert stopped > 30
    assert counted == different == 301
    assert NotebookHistory(tmp_path, notebook="a.ipynb").count() == 301


CROWD = """
import sys
sys.path.insert(0, {tests!r})
from test_history_crash import turn, picture
from agentcell.history.notebook import NotebookHistory
told = []
history = NotebookHistory({folder!r}, notebook="a.ipynb", tell=told.append)
sys.stdin.readline()
for number in range(40):
    history.put("main", turn(f"{kernel}-{{number}}", picture(0, number)))
print(told)
"""


def test_many_kernels_that_begin_at_once_lose_nothing(tmp_path: Path) -> None:
    tests, folder = str(Path(__file__).parent), str(tmp_path)
    kernels = [
        subprocess.Popen(
            [sys.executable, "-c", CROWD.format(tests=tests, folder=folder, kernel=kernel)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for kernel in range(4)
    ]
    time.sleep(1)
    for kernel in kernels:
        assert kernel.stdin is not None
        kernel.stdin.write("go\n")
        kernel.stdin.flush()
    said = [kernel.communicate()[0] for kernel in kernels]

    assert said == ["[]\n"] * 4
    assert NotebookHistory(tmp_path, notebook="a.ipynb").count() == 160
    assert len(list(files(tmp_path))) == 40
