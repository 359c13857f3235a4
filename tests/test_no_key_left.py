"""A whole session, with every kind of failure: no six characters of any key are left anywhere.

One notebook asks four services, each with a key of its own: answers, refusals that repeat the
key, limits, broken answers, tool rounds, dry runs, commands, reprs and whole tracebacks, with
every logger at its most talkative. Then the notebook, its history and the log are searched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from string import ascii_letters, digits

import pytest

import kernels
from agentcell.keys.traces import Traces
from agentcell.scan import scan
from agentcell.testing import (
    AnthropicServer,
    Call,
    ChatServer,
    GeminiServer,
    ProviderServer,
    Reply,
    ResponsesServer,
    failure,
)
from kernels import Kernel, Ran


def sentinel(prefix: str, seed: int) -> str:
    return prefix + "".join(Random(seed).choices(ascii_letters + digits, k=40))  # noqa: S311


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One provider: its server, its key, and how its address is given."""

    model: str
    server: type[ProviderServer]
    key: str
    variable: str
    address: str


SERVICES = (
    Service(
        model="openai/m",
        server=ResponsesServer,
        key=sentinel("sk-proj-", 1),
        variable="OPENAI_API_KEY",
        address="OPENAI_BASE_URL",
    ),
    Service(
        model="anthropic/m",
        server=AnthropicServer,
        key=sentinel("sk-ant-api03-", 2),
        variable="ANTHROPIC_API_KEY",
        address="ANTHROPIC_BASE_URL",
    ),
    Service(
        model="gemini/m",
        server=GeminiServer,
        key=sentinel("AIzaSy", 3),
        variable="GEMINI_API_KEY",
        address="GOOGLE_GEMINI_BASE_URL",
    ),
    Service(
        model="vllm/m",
        server=ChatServer,
        key=sentinel("odd-", 4),  # a server of one's own may have a key of any shape
        variable="VLLM_API_KEY",
        address="VLLM_BASE_URL",
    ),
)

KEYS = {service.variable: service.key for service in SERVICES}

SETUP = """
import logging
logging.basicConfig(filename="all.log", level=logging.DEBUG, force=True)
%load_ext agentcell
%xmode Verbose
def double(number: int) -> int:
    "Return twice the number."
    return 2 * number
"""

AFTER_A_FAILURE = """
import sys, traceback
print("".join(traceback.format_exception(sys.last_value)))
"""

OBJECTS = """
from agentcell.adapters.registry import resolve
from agentcell.magics import current_session
model = resolve("{model}")
print(repr(model), vars(model), model._found_key(), model._origin())
print(current_session(), vars(current_session()))
given = resolve("{model}", api_key=model._key(), base_url=model.base_url)
print(repr(given), given, given.name)
model
"""

RAW = """
try:
    given.invoke([{{"role": "user", "content": "Hi"}}], settings={{"max_tokens": 20}})
except Exception as error:
    traceback.print_exc()
    print(repr(error), error.args, vars(error))
    print(repr(error.__cause__), vars(error.__cause__ or error))
    raise ValueError("a bug of one's own") from error
"""


def told(key: str) -> str:
    """A refusal as services write them: the key whole, in part, masked."""
    return f"Incorrect API key provided: {key[:14]}*****{key[-4:]} ({key}, ends {key[-9:]})."


Scene = tuple[str, Callable[[Service], Reply | str]]

SCENES: tuple[Scene, ...] = (
    ("%%agent -m {model}\nHi", lambda _: Reply("Hello", " there.")),
    ("%%agent -m {model} -n\nWhat would go?", lambda _: "unused"),
    ("%%agent -m {model}\nRefused", lambda s: failure(401, told(s.key))),
    (AFTER_A_FAILURE, lambda _: "unused"),
    ("%tb", lambda _: "unused"),
    ("%%agent -m {model}\nLimited", lambda s: failure(429, told(s.key), retry_after="0")),
    ("%%agent -m {model}\nFails", lambda s: failure(500, told(s.key), retry_after="0")),
    ("%%agent -m {model}\nForbidden page", lambda s: Reply(status=403, raw=f"<h1>{s.key}</h1>")),
    ("%%agent -m {model}\nNo answer", lambda s: Reply(raw=f"{{{told(s.key)}")),
    ("%%agent -m {model}\nCut", lambda _: Reply("Half an", " answer", " and", " more", cut=2)),
    (
        "%%agent -m {model}\nBreaks off",
        lambda s: Reply("Half", " an", error={"message": told(s.key)}, error_after=1),
    ),
    (OBJECTS, lambda _: "unused"),
    (RAW, lambda s: failure(401, told(s.key))),
    ("%agent key\n%agent\n%agent history\n%agent models", lambda _: "unused"),
)


@pytest.fixture
def servers() -> Iterator[dict[str, ProviderServer]]:
    with ExitStack() as stack:
        yield {
            service.model: stack.enter_context(service.server(key=service.key))
            for service in SERVICES
        }


@pytest.fixture
def kernel(tmp_path: Path, servers: dict[str, ProviderServer]) -> Iterator[Kernel]:
    urls = {service.address: servers[service.model].url for service in SERVICES}
    place = {"JPY_SESSION_NAME": str(tmp_path / "demo.ipynb")}
    with kernels.running(tmp_path, {**KEYS, **urls, **place}) as kernel:
        yield kernel


def code_cell(source: str, ran: Ran) -> dict[str, object]:
    return {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {},
        "source": source,
        "outputs": ran.outputs,
    }


def test_a_session_of_every_kind_leaves_no_six_characters_of_a_key(
    tmp_path: Path, kernel: Kernel, servers: dict[str, ProviderServer]
) -> None:
    cells = [code_cell(SETUP, kernel.run(SETUP))]
    ended: dict[str, list[str]] = {}
    for service in SERVICES:
        server = servers[service.model]
        for number, (source, reply) in enumerate(SCENES):
            planned = reply(service)
            server.then(planned)
            text = source.format(model=service.model) if "{model}" in source else source
            ran = kernel.run(text.replace("{{", "{").replace("}}", "}"), cell_id=f"{number}")
            ended.setdefault(service.model, []).append(ran.ename)
            cells.append(code_cell(text, ran))
        server.then(Reply(calls=[Call("double", '{"number": 21}')]), Reply("It is 42."))
        tool = f"%%agent -m {service.model} -T double\nTwice 21?"
        ran = kernel.run(tool)
        assert "42" in ran.text
        cells.append(code_cell(tool, ran))
        assert server.requests[0].headers
        assert server.key_of(server.requests[0]) == service.key  # it did go out
    notebook = tmp_path / "demo.ipynb"
    content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    notebook.write_text(json.dumps(content), encoding="utf-8")

    for model, names in ended.items():
        wanted = ["", "", "AuthenticationError", "", "", "RateLimited", "ServiceError"]
        assert names[:7] == wanted, model
        assert names[7:11] == ["AuthenticationError", *names[8:11]], model
        assert all(names[8:11]), model
        assert names[11:] == ["", "ValueError", ""], model
    assert scan(notebook, KEYS) == []
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"demo.ipynb", "all.log", "session.sqlite"} <= {path.name for path in files}
    traces = Traces.of(KEYS)
    assert [(path, found) for path in files if (found := traces.in_text(path.read_bytes()))] == []


def test_the_search_would_have_found_them(tmp_path: Path) -> None:
    for service in SERVICES:
        log = tmp_path / "all.log"
        log.write_text(f"DEBUG headers: {service.key[20:26]}", encoding="utf-8")

        assert [finding.what for finding in scan(log, KEYS)] == [f"a part of {service.variable}"]
