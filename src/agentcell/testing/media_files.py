"""Files of a hosted media service, to bytes on a connection, with what goes wrong on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from agentcell.testing.playing import Handler
from agentcell.testing.replies import Request

if TYPE_CHECKING:
    from agentcell.testing.media_server import MediaServer

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63"
    "f8dfe00000044101c00cd1ed910000000049454e44ae426082"
)
"""A PNG of one pixel."""

_CHUNK = 65_536


@dataclass(slots=True, kw_only=True)
class MediaFile:
    """One file that the service gives out; see `MediaServer.file`."""

    name: str
    data: bytes = field(repr=False)
    content_type: str = "application/octet-stream"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    stall: int | None = None
    has_length: bool = True
    is_endless: bool = False
    asked: int = 0


class MediaHandler(Handler):
    """One connection: files are played here, all else by the protocol's server."""

    def do_GET(self) -> None:  # noqa: N802 (its name upstream)
        """Give a file out, or answer a question about a job."""
        server = cast("MediaServer", self.server_ref)
        file = server.shelf.get(self.path.partition("?")[0].removeprefix("/files/"))
        if file is None or not self.path.startswith("/files/"):
            super().do_GET()
            return
        file.asked += 1
        headers = {name.lower(): value for name, value in self.headers.items()}
        server.file_requests.append(Request("GET", self.path, headers, None, 0))
        try:
            self._give(file)
        except OSError:
            self.close_connection = True
            if not server.closing.is_set():
                server.hung_up()

    def _give(self, file: MediaFile) -> None:
        self.send_response(file.status)
        self.send_header("content-type", file.content_type)
        for name, value in file.headers.items():
            self.send_header(name, value)
        has_length = file.has_length and not file.is_endless
        if has_length and "content-length" not in file.headers:
            self.send_header("content-length", str(len(file.data)))
        elif not has_length:
            self.send_header("connection", "close")
            self.close_connection = True
        self.end_headers()
        ends = [end for end in (file.cut, file.stall) if end is not None]
        data = memoryview(file.data)[: min(ends, default=len(file.data))]
        for start in range(0, len(data), _CHUNK):
            self.wfile.write(data[start : start + _CHUNK])
        while file.is_endless:
            self.wfile.write(file.data[:_CHUNK])
        if file.stall is not None:
            self.wfile.flush()
            self._wait(None)
        if file.cut is not None:
            self.close_connection = True
