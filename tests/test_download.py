"""What a service made, fetched: that it comes whole, from whom it said, and is what it may be."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hashlib
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from pathlib import Path
from typing import Any, Self, cast

import httpx2
import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from agentcell.imaging import addresses
from agentcell.imaging.download import Downloader
from agentcell.imaging.download_limits import DownloadLimits
from agentcell.imaging.media_type import media_type
from agentcell.imaging.placing import Part, part_of
from agentcell.imaging.web_text import without_queries
from agentcell.loop import LOOP
from agentcell.testing import MediaServer
from agentcell.testing.media_files import PIXEL as PNG
from agentcell.testing.media_server import SIGNATURE
from download_kit import Names, fetch, refused
from media import png
from promptly import cpu_seconds

MP4 = b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41" + b"\0\0\0\x08free" + bytes(100)
WEBM = (
    b"\x1aE\xdf\xa3\x9fB\x86\x81\x01B\xf7\x81\x01B\xf2\x81\x04B\xf3\x81\x08B\x82\x84webm"
    + bytes(99)
)
MATROSKA = WEBM.replace(b"\x84webm", b"\x88matroska")
MOV = b"\0\0\0\x14ftypqt  \0\0\x02\0qt  " + b"\0\0\0\x08wide" + bytes(100)
OLD_MOV = b"\0\0\0\x08wide\0\0\0\x08mdat" + bytes(100)
M4A = b"\0\0\0\x20ftypM4A \0\0\x02\0isomiso2avc1mp41" + bytes(100)
AVIF = b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf" + bytes(100)
HEIC = b"\0\0\0\x18ftypheic\0\0\0\0heicmif1" + bytes(100)


@pytest.fixture
def server() -> Iterator[MediaServer]:
    with MediaServer() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "generated-media"


def files_in(folder: Path) -> list[str]:
    """Return the paths of all files, hidden ones too."""
    return [str(path) for path in folder.iterdir()] if folder.exists() else []


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 (a folder tells nobody)
        await asyncio.sleep(0.005)


# -- https


class SecureServer(MediaServer):
    """The same, by https."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__()
        self._context = context

    def __enter__(self) -> Self:
        super().__enter__()
        self._httpd.socket = self._context.wrap_socket(self._httpd.socket, server_side=True)
        return self


def test_the_certificate_must_be_the_name_s_although_a_number_is_asked(folder: Path) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("files.example").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)

    def transport() -> httpx2.AsyncBaseTransport:
        return httpx2.AsyncHTTPTransport(verify=trusting, trust_env=False)

    with SecureServer(context) as server:
        server.file("a.png", PNG)
        names = Names(["127.0.0.1"])
        good = f"https://files.example:{server.port}/files/a.png"
        part = fetch(good, folder, resolve=names, transport=transport)
        wrong = refused(
            good.replace("files.", "other."), folder, resolve=names, transport=transport
        )
        untrusted = refused(good, folder, resolve=names)

    assert part.path.read_bytes() == PNG
    assert server.file_requests[0].headers["host"] == f"files.example:{server.port}"
    assert "cannot be reached" in wrong.problem
    assert "cannot be reached" in untrusted.problem


def test_a_proxy_of_the_environment_is_not_asked(
    folder: Path, server: MediaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert fetch(server.file("a.png", PNG), folder).path.read_bytes() == PNG


def test_nothing_but_the_wish_for_a_file_is_sent(folder: Path, server: MediaServer) -> None:
    fetch(server.file("a.png", PNG), folder)

    (request,) = server.file_requests
    assert request.headers.keys() <= {
        *("host", "accept", "accept-encoding", "user-agent", "connection")
    }


# -- what comes


@pytest.mark.parametrize(
    ("data", "content_type", "name", "ending", "mime_type"),
    [
        # cases 53 and 54: the content decides, whatever header and name say
        (PNG, "image/png", "y", "png", "image/png"),
        (png(kind="WEBP"), "image/webp", "a.webp", "webp", "image/webp"),
        (png(kind="JPEG"), "image/jpeg", "a.png", "jpg", "image/jpeg"),
        (png(kind="JPEG"), "application/octet-stream", "a.JPEG", "jpg", "image/jpeg"),
        (png(kind="GIF"), "image/gif", "a", "gif", "image/gif"),
        (AVIF, "", "a.png", "avif", "image/avif"),
        (HEIC, "", "a.png", "heic", "image/heic"),
        (MP4, "video/mp4", "clip", "mp4", "video/mp4"),
        (WEBM, "video/webm", "clip.mp4", "webm", "video/webm"),
        (MOV, "video/mp4", "clip.mp4", "mov", "video/quicktime"),
        (OLD_MOV, "video/quicktime", "clip", "mov", "video/quicktime"),
        (PNG, "text/html", "a.html", "png", "image/png"),
        (PNG, "video/mp4", "clip.mp4", "png", "image/png"),
    ],
)
def test_the_type_and_the_ending_are_those_of_the_content(
    data: bytes,
    content_type: str,
    name: str,
    ending: str,
    mime_type: str,
    folder: Path,
    server: MediaServer,
) -> None:
    part = fetch(server.file(name, data, content_type=content_type), folder)

    assert part.media.mime_type == mime_type
    assert part.media.extension == ending
    assert part.digest == hashlib.sha256(data).hexdigest()
    assert part.put("req-1-0") == folder / f"req-1-0.{ending}"
    assert (folder / f"req-1-0.{ending}").read_bytes() == data


@pytest.mark.parametrize(
    "data",
    [
        b"<!doctype html><html><body>gone</body></html>",
        b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script/></svg>',
        b"<svg onload=alert(1)>",
        b"not found",
        b'{"error": "expired"}',
        b"%PDF-1.7\n",
        b"PK\x03\x04" + bytes(200),
        b"\x7fELF" + bytes(200),
        b"MZ" + bytes(200),
        MATROSKA,
        M4A,
        b"RIFF\x24\0\0\0WAVEfmt ",
        b"BM" + bytes(200),
        b"",
        b"\0",
    ],
)
def test_what_is_no_picture_and_no_clip_is_refused(
    data: bytes, folder: Path, server: MediaServer
) -> None:
    # (html is that of case 54)
    error = refused(server.file("a.png", data, content_type="image/png"), folder)

    assert "was expected" in error.problem
    assert not folder.exists()


@pytest.mark.parametrize("has_length", [True, False])
@pytest.mark.parametrize("surplus", [0, 1])
def test_a_picture_over_the_cap_is_refused_and_one_of_just_that_size_is_not(
    has_length: bool, surplus: int, folder: Path, server: MediaServer
) -> None:
    # case 58
    data = PNG + bytes(200_000 - len(PNG) + surplus)
    url = server.file("a.png", data, has_length=has_length)
    limits = DownloadLimits(image_bytes=200_000)

    if surplus:
        assert "larger than 200,000 bytes" in refused(url, folder, limits=limits).problem
        assert list(folder.parent.rglob("*.*")) == []
    else:
        assert fetch(url, folder, limits=limits).size_bytes == 200_000


def test_a_clip_has_a_cap_of_its_own(folder: Path, server: MediaServer) -> None:
    limits = DownloadLimits(image_bytes=100, clip_bytes=1000)

    assert fetch(server.file("a", MP4 + bytes(500)), folder, limits=limits).media.kind == "video"
    refused(server.file("b", MP4 + bytes(1000)), folder, limits=limits)
    refused(server.file("c", PNG + bytes(500)), folder, limits=limits)


def test_a_file_without_end_is_stopped_at_the_cap(folder: Path, server: MediaServer) -> None:
    url = server.file("a.png", PNG + bytes(65_536), is_endless=True)

    error = refused(url, folder, limits=DownloadLimits(image_bytes=1 << 20))

    assert "larger than" in error.problem
    assert files_in(folder) == []


def test_a_packed_file_is_refused(folder: Path, server: MediaServer) -> None:
    url = server.file("a.png", PNG, headers={"content-encoding": "gzip"})

    assert "packed" in refused(url, folder).problem


@pytest.mark.parametrize("status", [204, 206, 400, 401, 403, 404, 410])
def test_any_other_answer_than_the_file_is_an_error_and_not_asked_again(
    status: int, folder: Path, server: MediaServer
) -> None:
    url = server.file("a.png", b"" if status == 204 else PNG, status=status)

    assert f"answered {status}" in refused(url, folder).problem
    assert server.shelf["a.png"].asked == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_failure_that_may_pass_is_tried_again_but_not_for_ever(
    status: int, folder: Path, server: MediaServer
) -> None:
    url = server.file("a.png", b"no", status=status)

    refused(url, folder)

    assert server.shelf["a.png"].asked == 3


def test_a_file_that_broke_off_is_fetched_again_from_its_start(
    folder: Path, server: MediaServer
) -> None:
    data = PNG + bytes(500_000)
    url = server.file("a.png", data, cut=300_000)

    async def mend_then_fetch() -> Part:
        fetching = asyncio.create_task(
            Downloader(limits=DownloadLimits(first_wait=0.5), loopback=True).fetch(url, folder)
        )
        await until(lambda: server.shelf["a.png"].asked > 0)
        server.file("a.png", data)
        return await fetching

    part = asyncio.run(mend_then_fetch())

    assert part.digest == hashlib.sha256(data).hexdigest()
    assert os.listdir(folder) == [part.path.name]  # noqa: PTH208 (hidden files too)


@pytest.mark.parametrize("fault", ["cut", "stall"])
def test_an_error_leaves_nothing_behind(fault: str, folder: Path, server: MediaServer) -> None:
    url = server.file("a.png", PNG + bytes(500_000), **{fault: 300_000})
    limits = DownloadLimits(first_wait=0.01, idle=0.2)

    assert "broke off" in refused(url, folder, limits=limits).problem
    assert files_in(folder) == []


def test_the_time_for_all_of_it_has_an_end(folder: Path, server: MediaServer) -> None:
    url = server.file("a.png", PNG + bytes(500_000), stall=300_000)

    error = refused(url, folder, limits=DownloadLimits(total=0.3))

    assert "took longer than 0.3 seconds" in error.problem
    assert files_in(folder) == []


def test_a_folder_that_takes_no_file_is_told(tmp_path: Path, server: MediaServer) -> None:
    (tmp_path / "media").write_text("in the way")

    error = refused(server.file("a.png", PNG), tmp_path / "media")

    assert "cannot be written" in error.problem


def test_an_interrupt_leaves_nothing_under_any_name(folder: Path, server: MediaServer) -> None:
    url = server.file("a.png", PNG + bytes(2_000_000), stall=1_500_000)
    during: list[str] = []

    async def interrupted() -> None:
        fetching = asyncio.create_task(Downloader(loopback=True).fetch(url, folder))
        await until(lambda: any(map(os.path.getsize, files_in(folder))))
        during.extend(files_in(folder))
        fetching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await fetching

    asyncio.run(interrupted())

    names = [os.path.basename(path) for path in during]  # noqa: PTH119
    assert [name.endswith(".part") and name.startswith(".") for name in names] == [True]
    assert files_in(folder) == []


def test_closing_the_work_from_another_thread_leaves_nothing(
    folder: Path, server: MediaServer
) -> None:
    url = server.file("a.png", PNG + bytes(2_000_000), stall=1_500_000)

    async def items() -> AsyncIterator[object]:
        fetching = asyncio.create_task(Downloader(loopback=True).fetch(url, folder))
        try:
            await until(lambda: bool(files_in(folder)))
            yield "begun"
            yield await fetching
        finally:
            fetching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await fetching

    with contextlib.closing(cast("Generator[object]", LOOP.iterate(items()))) as work:
        assert next(work) == "begun"

    assert files_in(folder) == []


def test_what_a_killed_process_left_is_taken_away_after_a_day(folder: Path) -> None:
    folder.mkdir()
    old, new, other = (
        folder / name for name in (".agentcell-1.part", ".agentcell-2.part", "x.part")
    )
    for path in (old, new, other):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    os.utime(other, (1, 1))

    part_of(PNG, folder).put("a")

    assert not old.exists()
    assert new.exists()
    assert other.exists()


def test_no_text_holds_the_query_of_an_address(
    folder: Path, server: MediaServer, caplog: pytest.LogCaptureFixture
) -> None:
    # case 59
    secret = SIGNATURE.partition("=")[2]
    caplog.set_level("DEBUG")
    texts = []
    faults: dict[str, dict[str, Any]] = {
        "html": {"data": b"<html>"},
        "404": {"data": b"", "status": 404},
        "500": {"data": b"", "status": 500},
        "cut": {"data": PNG + bytes(90_000), "cut": 80_000},
        "large": {"data": PNG + bytes(90_000)},
        "loop": {"data": b"", "status": 302, "headers": {"location": f"/files/loop?{SIGNATURE}"}},
        "away": {
            "data": b"",
            "status": 302,
            "headers": {"location": f"http://10.0.0.1/?{SIGNATURE}"},
        },
    }
    for name, facts in faults.items():
        url = server.file(name, facts.pop("data"), **facts)
        error = refused(url, folder, limits=DownloadLimits(first_wait=0.01, image_bytes=50_000))
        texts += [str(error), repr(error), *map(str, error.args), repr(error.__cause__)]
    error = refused(f"https://nobody.example/a?{SIGNATURE}", folder, resolve=Names([]))
    address = addresses.checked(f"https://files.example/a?{SIGNATURE}")
    texts += [str(error), repr(address), str(address), repr(Downloader())]
    own_lines = [line.message for line in caplog.records if line.name.startswith("agentcell")]

    assert not [text for text in [*texts, *own_lines] if secret in text]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see https://a.example/x?sig=1&b=2 and #3", "see https://a.example/x and #3"),
        ("(https://a.example/x#part)", "(https://a.example/x"),
        ("https://u:p@a.example/x", "https://a.example/x"),
        ("HTTPS://A.example?x", "HTTPS://A.example"),
        ("s3://bucket/key?x=1, gs://b/k", "s3://bucket/key gs://b/k"),
        ("data:image/png;base64,iVBORw0KGgo=!", "data:image/png;base64,…!"),
        ("what? no address # here", "what? no address # here"),
        ("", ""),
    ],
)
def test_addresses_in_a_text_lose_what_may_be_secret(text: str, shown: str) -> None:
    assert without_queries(text) == shown


@pytest.mark.parametrize("piece", ["a://", "a://b@", "https://a?", "a://?#", "data:a;base64,"])
def test_a_text_of_many_addresses_costs_in_proportion_to_its_length(piece: str) -> None:
    def seconds(count: int) -> float:
        text = piece * count
        return cpu_seconds(lambda: without_queries(text))

    assert seconds(64_000) < 64 * seconds(4_000)  # the square would be 256 times


@pytest.mark.parametrize(
    "head", [b"", b"\0" * 12, b"\0\0\0\x10ftyp", b"\x1aE\xdf\xa3", b"\xff\xd8"]
)
def test_a_head_that_ends_early_is_told_without_trouble(head: bytes) -> None:
    assert media_type(head).extension in {"", "jpg"}


@given(st.binary(max_size=200))
def test_any_bytes_are_told_without_trouble(data: bytes) -> None:
    for head in (data, b"\x1aE\xdf\xa3" + data, b"\0\0\0\x20ftyp" + data, data[:4] + b"moov"):
        found = media_type(head)
        assert bool(found.mime_type) == bool(found.extension)
        assert found.noun


@pytest.mark.parametrize("value", [-1, float("nan"), "5", True, None])
def test_limits_that_are_none_are_an_error(value: object) -> None:
    with pytest.raises(ValueError, match="a number above 0 was expected"):
        DownloadLimits(total=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["image_bytes", "clip_bytes", "redirects", "retries"])
def test_what_is_counted_is_counted_whole(name: str) -> None:
    with pytest.raises(ValueError, match="a whole number"):
        DownloadLimits(**{name: 1.5})  # type: ignore[arg-type]


# -- memory


_FETCH_ALL = """
import asyncio, resource, sys
UNIT = 1 if sys.platform == "darwin" else 1024
from pathlib import Path
from agentcell.imaging.download import Downloader

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT

async def main(base, folder):
    loader = Downloader(loopback=True)
    (await loader.fetch(f"{base}/files/small.png", folder)).put("small")
    before = peak()
    for name in sys.argv[3:]:
        (await loader.fetch(f"{base}/files/{name}.png", folder)).put(name)
    print(peak() - before)

asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
"""


@pytest.mark.skipif(os.name != "posix", reason="peak memory is read in POSIX's way")
@pytest.mark.parametrize(("count", "size"), [(8, 4 << 20), (1, 60 << 20)])
def test_files_are_written_as_they_come_and_need_no_memory_of_their_own(
    count: int, size: int, folder: Path, server: MediaServer
) -> None:
    pictures = {f"{number}": PNG + os.urandom(size) for number in range(count)}
    server.file("small.png", PNG)
    for name, data in pictures.items():
        server.file(f"{name}.png", data)
    gc.collect()

    done = subprocess.run(
        [sys.executable, "-c", _FETCH_ALL, server.url, str(folder), *pictures],
        capture_output=True,
        check=True,
        timeout=120,
    )

    assert int(done.stdout) <= 16 << 20
    for name, data in pictures.items():
        assert (folder / f"{name}.png").read_bytes() == data
    assert len(list(folder.iterdir())) == count + 1
