"""When a service says to wait, and is not asked again by itself, the error says how long."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentcell import (
    AnthropicModel,
    GeminiModel,
    GenerationWish,
    ImageBackend,
    LegacyOpenAIModel,
    OpenAIModel,
)
from agentcell.adapters.failures import asked_wait
from agentcell.adapters.remote import RemoteModel
from agentcell.errors import GenerationFailed, ModelError, Overloaded, RateLimited
from agentcell.imaging.backends import watching
from agentcell.imaging.backends.gemini import GeminiMedia
from agentcell.imaging.backends.openai_images import OpenAIImages
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.hosted.states import Patience
from agentcell.testing import (
    AnthropicServer,
    ChatServer,
    GeminiMediaServer,
    GeminiServer,
    MediaServer,
    OpenAIImagesServer,
    ProviderServer,
    Reply,
    ResponsesServer,
)

HI = [{"role": "user", "content": "Hi."}]

MODELS: list[tuple[type[RemoteModel], type[ProviderServer]]] = [
    (LegacyOpenAIModel, ChatServer),
    (OpenAIModel, ResponsesServer),
    (AnthropicModel, AnthropicServer),
    (GeminiModel, GeminiServer),
]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (0, ""),
        (0.2, "It says to wait 1 second."),
        (17, "It says to wait 17 seconds."),
        (90.5, "It says to wait 91 seconds."),
        (119, "It says to wait 119 seconds."),
        (121, "It says to wait 3 minutes."),
        (7200, "It says to wait 2 hours."),
        (86_400 * 40, "It says to wait 40 days."),
        (1e300, ""),
    ],
)
def test_a_wait_is_told_in_the_unit_that_reads_best(seconds: float | None, words: str) -> None:
    assert asked_wait(seconds) == words


@pytest.mark.parametrize(("model_class", "server_class"), MODELS)
@pytest.mark.parametrize(("status", "kind"), [(429, RateLimited), (503, Overloaded)])
def test_a_refused_question_says_how_long_to_wait(
    model_class: type[RemoteModel],
    server_class: type[ProviderServer],
    status: int,
    kind: type[ModelError],
) -> None:
    with server_class() as server:
        server.fail(status, retry_after=7200)  # longer than anybody waits by itself
        model = model_class("m", "a-key-of-mine", server.url)
        with pytest.raises(kind) as caught:
            model.invoke(HI)

    assert caught.value.retry_after == 7200
    assert caught.value.problem.endswith("It says to wait 2 hours.")
    assert caught.value.fix == "wait that long, then run the cell again."
    assert len(server.requests) == 1


def test_a_service_that_says_nothing_of_waiting_is_told_as_before() -> None:
    with ChatServer() as server:
        server.fail(429)
        model = LegacyOpenAIModel("m", "a-key-of-mine", server.url, max_retries=0)
        with pytest.raises(RateLimited) as caught:
            model.invoke(HI)

    assert "says to wait" not in str(caught.value)
    assert caught.value.fix == "wait a little, then run the cell again."


def refused(backend: ImageBackend, **wish: Any) -> ModelError:
    async def run() -> None:
        async for _ in backend.run(GenerationWish(prompt="a fox", **wish), key="k"):
            pass

    with pytest.raises(ModelError) as caught:
        asyncio.run(run())
    return caught.value


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("kind", ["image", "video"])
def test_a_refused_wish_says_how_long_to_wait(kind: str, status: int) -> None:
    with GeminiMediaServer() as server:
        server.fail(status, retry_after=90)
        error = refused(GeminiMedia("a-key-of-mine", server.url), kind=kind)

    assert "It says to wait 90 seconds." in error.problem
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_wish_that_openai_refused_says_how_long_to_wait(status: int) -> None:
    with OpenAIImagesServer() as server:
        server.fail(status, retry_after=90)
        error = refused(OpenAIImages("a-key-of-mine", server.url))

    assert "It says to wait 90 seconds." in error.problem
    assert len(server.requests) == 1


@pytest.mark.parametrize(("status", "kind"), [(429, RateLimited), (503, GenerationFailed)])
def test_a_wish_that_a_media_service_refused_says_how_long_to_wait(
    status: int, kind: type[ModelError]
) -> None:
    with MediaServer(token="a-token-of-mine") as server:  # noqa: S106
        server.fault("submit", Reply(status=status, raw="{}", headers={"retry-after": "90"}))
        error = refused(HostedMediaBackend(server.url, "a-token-of-mine"))

    assert isinstance(error, kind)
    assert "It says to wait 90 seconds." in error.problem


def test_a_job_that_is_not_asked_after_in_time_says_how_long_to_wait() -> None:
    busy = Reply(status=429, raw="{}", headers={"retry-after": "90"})
    with MediaServer(token="a-token-of-mine") as server:  # noqa: S106
        server.job("queued").fault("poll", busy)
        patience = Patience(image=0.3, interval=0.01)
        error = refused(HostedMediaBackend(server.url, "a-token-of-mine", patience=patience))

    assert isinstance(error, GenerationFailed)
    assert "It says to wait 90 seconds." in error.problem
    assert len(server.polls) == 1


def test_a_clip_that_is_not_looked_at_in_time_says_how_long_to_wait() -> None:
    with GeminiMediaServer(states=("in_progress",)) as server:
        server.reply("ok").fail(429, retry_after=90)
        patience = watching.Patience(total=0.5, interval=0.01)
        error = refused(GeminiMedia("a-key-of-mine", server.url, patience=patience), kind="video")

    assert isinstance(error, GenerationFailed)
    assert "It says to wait 90 seconds." in error.problem
