"""A server that answers each row by itself, and the agents that ask it."""

from __future__ import annotations

import json
import os
import pickle
import re
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from agentcell import Agent, LegacyOpenAIModel
from agentcell.testing import ChatServer, Reply, Request, failure

_ROW = re.compile(r"row (\d+)\b")


def number_of(request: Request) -> int:
    """The row that a request is about."""
    found = _ROW.search(request.body["messages"][-1]["content"])
    return int(found.group(1)) if found else -1


class Rows:
    """Answers ``answer <n>`` to row n; what `wrong` returns for a row is said instead, once each.

    Attributes
    ----------
    asked
        How often each row was asked about.
    at_once
        The most requests that were under way at the same time.
    """

    def __init__(
        self, wrong: Callable[[int, int], Reply | str | None] | None = None, delay: float = 0.0
    ) -> None:
        self.asked: Counter[int] = Counter()
        self._wrong = wrong
        self._delay = delay
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Reply | str:
        number = number_of(request)
        with self._lock:
            self.asked[number] += 1
            count = self.asked[number]
        said = self._wrong(number, count) if self._wrong is not None else None
        return said if said is not None else Reply(f"answer {number}", delay=self._delay)


class Deadly(LegacyOpenAIModel):
    """Takes its process with it when it is to ask about row 5."""

    def encode(self, messages: Any, tools: Any = None, settings: Any = None) -> dict[str, Any]:
        """End the process, or return the body."""
        if "row 5." in str(messages[-1]["content"]):
            os._exit(9)
        return super().encode(messages, tools, settings)


def agent(server: ChatServer, **options: Any) -> Agent:
    """An agent that asks about ``row <n>``."""
    model = options.pop("model", None) or LegacyOpenAIModel(
        "m", base_url=server.url, max_retries=options.pop("adapter_retries", 0)
    )
    return Agent(
        "asker",
        "Answer.",
        model=model,
        prompt_template="This is row {n}.",
        pull_keys={"n": "the row"},
        **options,
    )


def rows(count: int) -> list[dict[str, int]]:
    """Inputs for `agent`."""
    return [{"n": number} for number in range(count)]


def answers(count: int) -> list[dict[str, str]]:
    """What the server answers to `rows`."""
    return [{"answer": f"answer {number}"} for number in range(count)]


def refused(status: int, *, numbers: set[int], times: int = 10**9) -> Callable[[int, int], Any]:
    """Refuse these rows, so many times each."""

    def wrong(number: int, count: int) -> Reply | None:
        return failure(status) if number in numbers and count <= times else None

    return wrong


class Elsewhere(Executor):
    """An executor that is none of threads of this process, as far as anybody can see."""

    def __init__(self, workers: int) -> None:
        self._max_workers = workers
        self._pool = ThreadPoolExecutor(workers)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Pickle what is handed over, as one in another process must."""
        function, given = pickle.loads(pickle.dumps((fn, args)))  # noqa: S301 (made here)
        return self._pool.submit(function, *given, **kwargs)


def dollar_prices(folder: Path) -> Path:
    """Return a file of prices by which an answer costs a dollar: 7 tokens out."""
    file = folder / "prices.json"
    file.write_text(
        json.dumps({"openai-chat/m": {"input": 0, "output": 1_000_000 / 7}}), encoding="utf-8"
    )
    return file
