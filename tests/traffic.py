"""A streamed answer in a real kernel, to what its display cost: messages, bytes, processor time."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil  # type: ignore[import-untyped]
import zmq

from agentcell.testing import ChatServer, Reply
from kernels import Kernel, Ran

SETUP = """
import os
os.environ["OPENAI_API_KEY"] = "none"
%load_ext agentcell
from agentcell import LegacyOpenAIModel
from agentcell.magics import current_session
current_session().model = LegacyOpenAIModel("talker", base_url={url!r})
"""

SECTION = """## Part {number}

The *total* of part {number} is **{number}.95** and the tax is `{number}.10`; see the list:

- nails, a box of {number}
- screws: $4 each, 3 for $10
- a formula, $x^2 + {number} = 0$, and a fence:

```python
def total(items):
    return sum(item.price for item in items) + {number}
```

| item | price |
|---|---:|
| nails | 5.00 |
| screws | 4.10 |

"""


def markdown(length: int) -> str:
    """Return an answer as models write them, of `length` characters."""
    text = ""
    number = 0
    while len(text) < length:
        number += 1
        text += SECTION.format(number=number)
    return text[:length]


def in_tokens(text: str, count: int) -> list[str]:
    """Return `text` in exactly `count` pieces of nearly one length."""
    ends = [round(number * len(text) / count) for number in range(count + 1)]
    return [text[start:end] for start, end in itertools.pairwise(ends)]


@dataclass
class Counted:
    """What came over the kernel's output channel, as it stands on the wire."""

    sizes: list[int] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Bytes: names, signature, headers, metadata and content of every message."""
        return sum(self.sizes)


@contextmanager
def counting(kernel: Kernel) -> Iterator[Counted]:
    """Count what the kernel publishes until the end of the block."""
    counted = Counted()
    ends = threading.Event()
    context = zmq.Context()
    socket = context.socket(zmq.SUB)
    socket.setsockopt(zmq.SUBSCRIBE, b"")
    socket.setsockopt(zmq.RCVHWM, 0)
    info = kernel.manager.get_connection_info()
    socket.connect(f"{info['transport']}://{info['ip']}:{info['iopub_port']}")

    def read() -> None:
        while not ends.is_set() or socket.poll(200):
            if socket.poll(50):
                counted.sizes.append(sum(map(len, socket.recv_multipart())))

    reader = threading.Thread(target=read)
    try:
        kernel.run("pass")  # the subscription has to reach the kernel first
        reader.start()
        kernel.run("pass")
        counted.sizes.clear()
        yield counted
    finally:
        ends.set()
        reader.join()
        socket.close(0)
        context.term()


@dataclass(frozen=True)
class Measured:
    """One answer's display."""

    answer_bytes: int
    traffic_bytes: int
    messages: int
    seconds: float
    cpu_seconds: float
    ran: Ran

    @property
    def times(self) -> float:
        """How often the answer's own length went over the channel."""
        return self.traffic_bytes / self.answer_bytes


def measured(kernel: Kernel, text: str, tokens: int, rate: float) -> Measured:
    """Let a server stream `text` in `tokens` pieces, `rate` of them a second, into a cell."""
    reply = Reply(*in_tokens(text, tokens), delay=1 / rate)
    with ChatServer(reply) as server:
        kernel.run(SETUP.format(url=server.url))
        with counting(kernel) as counted:
            process = psutil.Process(kernel.pid)
            before = process.cpu_times()
            ran = kernel.run("%%agent\nTell me all.", timeout=600)
            after = process.cpu_times()
    cpu = after.user + after.system - before.user - before.system
    return Measured(
        answer_bytes=len(text.encode()),
        traffic_bytes=counted.total,
        messages=len(counted.sizes),
        seconds=ran.seconds,
        cpu_seconds=cpu,
        ran=ran,
    )
