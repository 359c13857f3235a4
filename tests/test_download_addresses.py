"""Where a file that a service made may come from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcell.errors import DownloadError
from agentcell.imaging import addresses
from agentcell.imaging.download_limits import DownloadLimits
from agentcell.testing import MediaServer
from agentcell.testing.media_files import PIXEL as PNG
from agentcell.testing.media_server import SIGNATURE
from download_kit import Names, fetch, refused


@pytest.fixture
def server() -> Iterator[MediaServer]:
    with MediaServer() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "generated-media"


class Router(httpx2.AsyncBaseTransport):
    """Leads every machine to a server on this one, and notes which was asked."""

    def __init__(self, server: MediaServer) -> None:
        self._server = server
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False)
        self.asked: list[tuple[str, str, str]] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        sni = str(request.extensions.get("sni_hostname"))
        self.asked.append((str(request.url.host), request.headers["host"], sni))
        here = httpx2.Request(
            request.method,
            f"http://127.0.0.1:{self._server.port}{request.url.raw_path.decode()}",
            headers=request.headers,
            extensions={"timeout": request.extensions["timeout"]},
        )
        return await self._inner.handle_async_request(here)

    async def aclose(self) -> None:
        await self._inner.aclose()


NEVER = [
    "http://files.example/a.png",
    "ftp://files.example/a.png",
    "file:///etc/passwd",
    "gopher://files.example/",
    "//files.example/a.png",
    "data:image/png;base64,iVBORw0KGgo=",
    "https:///a.png",
    "https://",
    "",
    # this machine
    "https://127.0.0.1/",
    "https://127.255.255.254/a.png",
    "https://[::1]/",
    "https://localhost/",
    "https://LOCALHOST./",
    "https://x.localhost/",
    # other ways to write it
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.1/",
    "https://017700000001/",
    "https://0177.0.0.1/",
    "https://127.1/",
    "https://127.0.1/",
    "https://127.0.0.1./",
    "https://127.0.0.01/",
    "https://0/",
    "https://0.0.0.0/",
    "https://[::]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::127.0.0.1]/",
    "https://[64:ff9b::127.0.0.1]/",
    "https://[64:ff9b:1::10.0.0.5]/",
    "https://[2002:7f00:1::]/",
    "https://[2001:0:7f00:1::]/",
    "https://①②⑦.⓪.⓪.①/",
    "https://127。0。0。1/",
    "https://%31%32%37.0.0.1/",
    # networks of others
    "https://10.0.0.5/",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.168.1.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://[fe80::1]/",
    "https://[fe80::1%25eth0]/",
    "https://[fd00:ec2::254]/",
    "https://[fc00::1]/",
    "https://100.64.0.1/",
    "https://100.100.100.200/",
    "https://192.0.0.192/",
    "https://198.18.0.1/",
    "https://192.0.2.1/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
    "https://240.0.0.1/",
    "https://[ff02::1]/",
    "https://[2001:db8::1]/",
    "https://[3fff::1]/",
    "https://metadata/",
    "https://printer.local/",
    "https://metadata.google.internal/",
    "https://router.lan/",
    "https://nas.home.arpa/",
    # who is who
    "https://user@files.example/",
    "https://user:hunter2@files.example/",
    "https://files.example@127.0.0.1/",
    "https://127.0.0.1\\@files.example/",
    "https://files.example\\.evil.example/",
    "https://files.example#@127.0.0.1/ ",
    "https://files.example/a b.png",
    " https://files.example/",
    "https://files.example/\r\nHost: 127.0.0.1",
    "https://files.example/\x00",
    "https://files.example:0/",
    "https://files.example:65536/",
    "https://files.example:x/",
    "https://files..example/",
    "https://-.example:443:80/",
    "https://1.1.1.1.1/",
    "https://1.1.1.256/",
    "https://[1.1.1.1]/",
    "https://[::1/",
    "https://files.example/" + "a" * 9000,
]


@pytest.mark.parametrize("url", NEVER)
def test_an_address_that_is_not_public_https_is_refused_before_anything_is_asked(
    url: str, folder: Path, server: MediaServer
) -> None:
    # case 58
    names, router = Names(["93.184.216.34"]), Router(server)

    error = refused(url, folder, loopback=False, resolve=names, transport=lambda: router)

    assert names.asked == []
    assert router.asked == []
    assert not folder.exists()
    assert "hunter2" not in str(error)
    assert len(str(error)) < 400


@pytest.mark.parametrize(
    "machines",
    [
        ["10.0.0.5"],
        ["127.0.0.1"],
        ["::1"],
        ["169.254.169.254"],
        ["100.64.0.1"],
        ["fd00::1"],
        ["fe80::1%eth0"],
        ["::ffff:10.0.0.5"],
        ["64:ff9b::a00:5"],
        ["2002:a00:5::"],
        ["93.184.216.34", "10.0.0.5"],
        ["2606:2800:220:1::1", "::1"],
        ["no address"],
        [],
    ],
)
def test_a_name_is_refused_if_anything_that_it_stands_for_is_not_public(
    machines: list[str], folder: Path, server: MediaServer
) -> None:
    # case 58
    names, router = Names(machines), Router(server)

    refused(
        "https://files.example/a.png",
        folder,
        loopback=False,
        resolve=names,
        transport=lambda: router,
    )

    assert names.asked == ["files.example"]
    assert router.asked == []


def test_a_name_is_looked_up_once_and_the_machine_that_was_checked_is_asked(
    folder: Path, server: MediaServer
) -> None:
    # DNS rebinding: the second look-up would lead to this machine.
    server.file("a.png", PNG)
    names, router = Names(["93.184.216.34"], ["127.0.0.1"]), Router(server)

    part = fetch(
        f"https://files.example:8443/files/a.png?{SIGNATURE}",
        folder,
        loopback=False,
        resolve=names,
        transport=lambda: router,
    )

    assert names.asked == ["files.example"]
    assert router.asked == [("93.184.216.34", "files.example:8443", "files.example")]
    assert server.file_requests[0].path == f"/files/a.png?{SIGNATURE}"
    assert part.path.read_bytes() == PNG


@pytest.mark.parametrize(
    "location",
    [
        "https://10.0.0.5/a.png",
        "https://127.0.0.1/a.png",
        "https://[::ffff:127.0.0.1]/",
        "http://files.example/a.png",
        "//169.254.169.254/latest",
        "https://0x7f.1/",
        "file:///etc/passwd",
        "https://other.example/rebound.png",
        "",
    ],
)
def test_a_redirect_from_a_public_machine_to_one_that_is_not_is_refused(
    location: str, folder: Path, server: MediaServer
) -> None:
    # case 58
    server.file("a.png", b"", status=302, headers={"location": location})
    names, router = Names(["93.184.216.34"], ["127.0.0.1"]), Router(server)

    refused(
        "https://files.example/files/a.png",
        folder,
        loopback=True,  # also where this machine may be asked: not from there
        resolve=names,
        transport=lambda: router,
    )

    assert {machine for machine, _, _ in router.asked} == {"93.184.216.34"}
    assert not folder.exists()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_public_machine_is_followed_and_looked_up(
    status: int, folder: Path, server: MediaServer
) -> None:
    server.file("a.png", b"", status=status, headers={"location": "https://b.example/files/b.png"})
    server.file("b.png", PNG)
    names, router = Names(["93.184.216.34"], ["1.1.1.1"]), Router(server)

    fetch(
        "https://a.example/files/a.png",
        folder,
        loopback=False,
        resolve=names,
        transport=lambda: router,
    )

    assert names.asked == ["a.example", "b.example"]
    assert [machine for machine, _, _ in router.asked] == ["93.184.216.34", "1.1.1.1"]


@pytest.mark.parametrize(("redirects", "is_refused"), [(0, True), (1, True), (2, False)])
def test_so_many_redirects_and_no_more(
    redirects: int, is_refused: bool, folder: Path, server: MediaServer
) -> None:
    # case 58
    server.file("1", b"", status=302, headers={"location": "/files/2"})
    server.file("2", b"", status=302, headers={"location": "3"})
    server.file("3", PNG)
    limits = DownloadLimits(redirects=redirects)

    if is_refused:
        assert (
            "leads on more than" in refused(f"{server.url}/files/1", folder, limits=limits).problem
        )
    else:
        assert fetch(f"{server.url}/files/1", folder, limits=limits).size_bytes == len(PNG)


def test_the_next_machine_is_asked_where_one_takes_no_connection(
    folder: Path, server: MediaServer
) -> None:
    url = server.file("a.png", PNG).replace("127.0.0.1", "files.example")

    part = fetch(url, folder, resolve=Names(["127.0.0.9", "127.0.0.1"]))

    assert part.path.read_bytes() == PNG


@given(st.integers(0, 2**32 - 1))
def test_no_number_in_the_place_of_a_host_is_taken(number: int) -> None:
    for text in (str(number), hex(number), f"0{number:o}"):
        with pytest.raises(DownloadError):
            addresses.checked(f"https://{text}/", loopback=False)


@given(st.ip_addresses())
def test_what_python_calls_private_is_not_public(ip: object) -> None:
    address = ip_address(str(ip))

    if address.is_private or address.is_multicast or address.is_reserved or address.is_loopback:
        assert not addresses.is_public(address)


@given(st.text(max_size=60))
def test_whatever_stands_for_an_address_is_one_or_an_error(text: str) -> None:
    for url in (text, f"https://{text}", f"https://files.example/{text}"):
        with contextlib.suppress(DownloadError):
            address = addresses.checked(url)
            assert address.scheme == "https"
            assert "." in address.host or ":" in address.host
