"""A maker of pictures and a service in a real shell, and what `%generate` shows there."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, ClassVar

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.events import Accepted, BackendEvent, Ended, Made, PartialImage, Progressed
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.hosted.states import Patience
from agentcell.imaging.wish import GenerationWish, Kind
from agentcell.testing.media_server import MediaServer
from agentcell_magics import current_session
from media import png

MP4 = b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom" + bytes(range(256)) * 8
TOKEN = "media-token-q8Zp2WvX9mRt4Ls8"  # noqa: S105 (nobody's)
BASE64 = re.compile(r"[A-Za-z0-9+/]{201,}")


class Painter(ImageBackend):
    """Gives a small picture for each one wished, and says what a service says."""

    name: ClassVar[str] = "painter"
    kinds: ClassVar[frozenset[Kind]] = frozenset({"image", "video"})

    def __init__(self, price: Decimal | None = Decimal("0.04"), revised: str = "") -> None:
        self.asked: list[GenerationWish] = []
        self._price = price
        self._revised = revised

    def price(self, wish: GenerationWish) -> Decimal | None:
        return None if self._price is None else self._price * wish.count

    async def run(self, wish: GenerationWish, *, key: str) -> AsyncIterator[BackendEvent]:
        assert key
        self.asked.append(wish)
        yield Accepted("req-1")
        yield Progressed("painting", 0.5)
        yield PartialImage(png("grey", (64, 64)))
        for number in range(wish.count):
            data = MP4 if wish.kind == "video" else png("red", (64 + number, 48))
            yield Made(kind=wish.kind, data=data, revised_prompt=self._revised)
        yield Ended(model="oil", cost=self.price(wish), seed=wish.seed)


class Cell:
    """What a cell showed and how it ended."""

    def __init__(self, shell: InteractiveShell, source: str) -> None:
        with capture_output() as captured:
            result = shell.run_cell(source, store_history=True)
        self.error = result.error_in_exec or result.error_before_exec
        self.result = result.result
        self.stdout = captured.stdout
        self.outputs: list[dict[str, Any]] = [output.data for output in captured.outputs]
        self.metadata: list[dict[str, Any]] = [o.metadata or {} for o in captured.outputs]

    @property
    def text(self) -> str:
        return "\n".join([*(str(d.get("text/plain", "")) for d in self.outputs), self.stdout])


def added_painter() -> Painter:
    """Give the shell's session a painter, and return it."""
    painter = Painter()
    current_session().generator.backends.add(painter)
    return painter


@contextmanager
def added_service() -> Iterator[MediaServer]:
    """Give the shell's session a hosted service, and return that; it ends with the block."""
    with MediaServer(token=TOKEN) as server:
        backend = HostedMediaBackend(server.url, TOKEN, patience=Patience(interval=0.01))
        current_session().generator.backends.add(backend)
        yield server
