"""Snapshots: read once, small ones in memory, large ones in a private file that does not stay."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentcell.assets import ImageAsset
from agentcell.assets.content import MEMORY_BYTES, Content
from agentcell.assets.preview import preview
from agentcell.errors import AttachmentError
from asset_files import encoded, image_file

LARGE = image_file("JPEG") + b"x" * (MEMORY_BYTES + 1)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.jpg"
    path.write_bytes(LARGE)
    return path


def test_a_large_file_is_kept_outside_of_memory_and_goes_with_its_asset(large: Path) -> None:
    asset = ImageAsset.from_path(large)
    file = Path(asset.content.file)

    assert file.read_bytes() == LARGE
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0
    del asset
    gc.collect()
    assert not file.exists()


def test_large_bytes_are_kept_outside_of_memory_too() -> None:
    asset = ImageAsset.from_bytes(LARGE)

    assert asset.content.file
    assert asset.load_bytes() == LARGE


def test_a_large_file_may_change_or_go_later(large: Path) -> None:
    asset = ImageAsset.from_path(large)
    large.write_bytes(b"changed")
    large.unlink()

    assert asset.load_bytes() == LARGE
    with asset.open() as stream:
        assert stream.read(3) == b"\xff\xd8\xff"
    assert preview(asset) is not None


def test_a_large_asset_travels_whole(large: Path) -> None:
    again = pickle.loads(pickle.dumps(ImageAsset.from_path(large)))  # noqa: S301 (its own)

    assert again.load_bytes() == LARGE
    assert again == ImageAsset.from_path(large)


@pytest.mark.parametrize("size", [1000, MEMORY_BYTES + 1])
def test_a_file_is_opened_once_and_every_byte_read_once(size: int, tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(image_file("JPEG") + b"x" * size)
    opened: list[Any] = []
    watching = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event == "open" and str(arguments[0]) == str(path):
            opened.append(arguments)

    sys.addaudithook(watch)
    asset = ImageAsset.from_path(path)
    asset.fingerprint()
    asset.load_bytes()
    preview(asset)
    asset.describe()
    watching = False

    assert len(opened) == 1


def test_a_file_that_grows_while_it_is_read_is_cut_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        assert Content.of_file(descriptor, 99) is None
        os.lseek(descriptor, 0, os.SEEK_SET)
        content = Content.of_file(descriptor, 100)
    finally:
        os.close(descriptor)

    assert content is not None
    assert content.read() == b"x" * 100


def test_a_private_file_that_somebody_removed_is_told(large: Path) -> None:
    asset = ImageAsset.from_path(large)
    Path(asset.content.file).unlink()

    with pytest.raises(AttachmentError, match="is gone from"):
        asset.load_bytes()


def test_without_room_for_a_file_memory_will_do(large: Path) -> None:
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from agentcell import ImageAsset
asset = ImageAsset.from_path({str(large)!r})
print(len(asset.load_bytes()), asset.content.file == "")
print(ImageAsset.from_bytes(asset.load_bytes()) == asset)
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd="/"
    )

    assert ran.stdout.split() == [str(len(LARGE)), "True", "True"], ran.stderr


KEEP = "from agentcell import ImageAsset; import os, sys; a = ImageAsset.from_path(sys.argv[1])"


def run_in(folder: Path, code: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"{KEEP}\n{code}", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(folder)},
    )


def test_nothing_stays_after_the_process_even_if_it_was_killed(large: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()

    run_in(folder, "", large)
    assert list(folder.iterdir()) == []
    run_in(folder, "os.kill(os.getpid(), 9)", large)
    assert len(list(folder.iterdir())) == 1
    run_in(folder, "", large)  # the next one tidies up
    assert list(folder.iterdir()) == []


def test_the_folder_of_a_process_that_lives_is_left_alone(large: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    other = subprocess.Popen(
        [sys.executable, "-c", f"{KEEP}\nprint('ready', flush=True)\ninput()", str(large)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        run_in(folder, "", large)
        left = [file.stat().st_size for file in folder.glob("*/tmp*")]
        other.communicate("\n")

    assert left == [len(LARGE)]


def test_a_forked_child_does_not_remove_its_parents_files(large: Path, tmp_path: Path) -> None:
    code = """
import gc
child = os.fork()
if not child:
    del a
    gc.collect()
    b = ImageAsset.from_path(sys.argv[1])
    b.load_bytes()
    os._exit(0)
os.waitpid(child, 0)
print(len(a.load_bytes()))
"""
    ran = run_in(tmp_path, code, large)

    assert ran.stdout.split() == [str(len(LARGE))], ran.stderr


def test_many_threads_share_assets_without_mixing_them() -> None:
    pictures = [
        encoded(Image.new("RGB", (40 + n, 30), (n, 2 * n, 3 * n)), "PNG") for n in range(40)
    ]
    start = threading.Barrier(16)

    def work(seed: int) -> int:
        start.wait()
        wrong = 0
        for at in range(len(pictures)):
            data = pictures[(at * 7 + seed) % len(pictures)]
            asset = ImageAsset.from_bytes(data)
            shown = preview(asset)
            wrong += asset.load_bytes() != data or shown is None or shown.width != asset.width
        return wrong

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(work, range(16))) == 0
