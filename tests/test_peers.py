"""All four adapters against servers that others wrote to stand for the services.

What the two cannot do, and so is not tested here: aimock counts no tokens by three of its
protocols and seals no call by Gemini's; llmock thinks nothing, and by Responses and Anthropic's
Messages its faults come before the text, so that a retry is right and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import media
import peers
from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.events import Retrying, TextDelta, gather
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.adapters.remote import RemoteModel
from agentcell.assets.asset import ImageAsset, PdfAsset
from agentcell.errors import (
    AuthenticationError,
    BadRequest,
    ConnectionFailed,
    ModelError,
    RateLimited,
    ServiceError,
    StreamTruncated,
    Timeout,
)
from agentcell.testing.conformance import TOOLS
from peers import KEY, Peer

pytestmark = pytest.mark.peers

Make = Callable[..., RemoteModel]

KINDS: dict[str, tuple[Make, str, str, str]] = {
    "chat": (LegacyOpenAIModel, "gpt-4o", "/v1", "/v1"),
    "responses": (OpenAIModel, "gpt-5.4", "/v1", "/v1"),
    "anthropic": (AnthropicModel, "claude-opus-5-5", "", "/anthropic"),
    "gemini": (GeminiModel, "gemini-2.5-flash", "", "/gemini"),
}
"""Class, model, and where aimock and llmock have it."""


def ask(text: str, *attached: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [*attached, text]}]


@pytest.fixture(scope="module")
def aimock() -> Iterator[Peer]:
    with peers.aimock() as peer:
        yield peer


@pytest.fixture(scope="module")
def llmock_server() -> Iterator[Peer]:
    with peers.llmock() as peer:
        yield peer


@pytest.fixture
def llmock(llmock_server: Peer) -> Peer:
    llmock_server.call("/_llmock/reset", {})
    return llmock_server


def of_aimock(kind: str, peer: Peer, key: str = KEY, **options: Any) -> RemoteModel:
    make, name, path, _ = KINDS[kind]
    return make(name, key, peer.url + path, **{"max_retries": 0, "timeout": 10.0, **options})


def of_llmock(kind: str, peer: Peer, **options: Any) -> RemoteModel:
    make, name, _, path = KINDS[kind]
    return make(name, KEY, peer.url + path, **{"timeout": 3.0, **options})


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_streams_whole(kind: str, aimock: Peer) -> None:
    model = of_aimock(kind, aimock)

    events = list(model.stream(ask("hello")))
    result = gather(events)

    assert result["content"].startswith("Hello, wörld 🎉.")
    assert len([event for event in events if isinstance(event, TextDelta)]) > 2
    assert (result["finish_reason"], result["model"]) == ("stop", model.model_name)
    assert model.invoke(ask("hello"))["content"] == result["content"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_tool_round_goes_there_and_back(kind: str, aimock: Peer) -> None:
    model = of_aimock(kind, aimock)

    asked = model.invoke(ask("weather"), TOOLS)
    said = {"role": "tool", "tool_call_id": "call_w1", "content": "rain"}
    answer = model.invoke([*ask("weather"), asked["assistant_message"], said], TOOLS)

    assert asked["content"] == [
        {"id": "call_w1", "name": "weather", "arguments": {"town": "Kyōto"}}
    ]
    assert asked["finish_reason"] == "tool_calls"
    assert asked["assistant_message"]["content"] == "Let me look."
    assert answer["content"] == "It rains in Kyōto."


@pytest.mark.parametrize("kind", KINDS)
def test_thinking_is_kept_apart_and_goes_back(kind: str, aimock: Peer) -> None:
    model = of_aimock(kind, aimock)

    thought = model.invoke(ask("think"))
    again = model.invoke([*ask("think"), thought["assistant_message"], *ask("and then")])

    assert (thought["thinking"], thought["content"]) == ("Let me think.", "42")
    assert bool(thought["assistant_message"].get("opaque")) == (kind in {"responses", "anthropic"})
    assert again["content"] == "Nothing."


@pytest.mark.parametrize("kind", KINDS)
def test_attachments_are_accepted(kind: str, aimock: Peer) -> None:
    image = media.block(ImageAsset.from_bytes(media.png()))
    pdf = media.block(PdfAsset.from_bytes(media.pdf()), "bill")
    attached = [image] if kind == "chat" else [image, pdf]

    result = of_aimock(kind, aimock).invoke(ask("hello", *attached))

    assert result["content"].startswith("Hello")


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_refuses_has_its_type(kind: str, aimock: Peer) -> None:
    model = of_aimock(kind, aimock)

    with pytest.raises(RateLimited, match="slow down") as limited:
        model.invoke(ask("limited"))
    assert limited.value.retry_after == 1
    with pytest.raises(AuthenticationError):
        of_aimock(kind, aimock, "another-key").invoke(ask("hello"))
    with pytest.raises(BadRequest, match="No fixture matched"):
        model.invoke(ask("nobody wrote an answer to this"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("rate", "error"),
    [
        ("dropRate", ServiceError),
        ("malformedRate", ServiceError),
        ("disconnectRate", ConnectionFailed),
        ("rateLimitRate", RateLimited),
    ],
)
def test_each_fault_has_its_type_and_the_next_call_is_well(
    rate: str, error: type[ModelError], kind: str, aimock: Peer
) -> None:
    model = of_aimock(kind, aimock)
    aimock.call("/__aimock/chaos", {rate: 1})
    try:
        with pytest.raises(error):
            model.invoke(ask("hello"))
    finally:
        aimock.call("/__aimock/chaos", method="DELETE")

    assert model.invoke(ask("hello"))["content"]


# llmock: what retries look like from the other side.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("fault", "attempts"),
    [
        ({"status": 429, "retry_after": 1, "times": 2}, 3),
        ({"status": 503, "times": 1}, 2),
        ({"status": 401, "times": 1}, 1),
        ({"status": 400, "times": 1}, 1),
    ],
)
def test_its_verdict_on_our_retries_is_good(
    fault: dict[str, int], attempts: int, kind: str, llmock: Peer
) -> None:
    llmock.call("/_llmock/scenario", {"behaviors": [{"type": "fail", **fault}]})
    model = of_llmock(kind, llmock)

    if attempts == 1:
        with pytest.raises(ModelError) as caught:
            model.invoke(ask("Say hello to the world"))
        assert caught.value.status == fault["status"]
    else:
        events = list(model.stream(ask("Say hello to the world")))
        assert len([event for event in events if isinstance(event, Retrying)]) == attempts - 1
        assert gather(events)["content"]

    verdict = llmock.call("/_llmock/verdict", method="GET")
    assert (verdict["attempts"], verdict["findings"]) == (attempts, [])
    assert verdict["passed"] is True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", ["truncate", "disconnect", "malformed", "stall"])
def test_a_stream_that_breaks_is_an_error_or_was_asked_for_again(
    fault: str, kind: str, llmock: Peer
) -> None:
    behavior = {"type": "stream_fault", "kind": fault, "after_chunks": 2}
    llmock.call("/_llmock/scenario", {"behaviors": [behavior]})
    model = of_llmock(kind, llmock, timeout=1.0)
    seen: list[Any] = []
    broken: ModelError | None = None

    try:
        seen.extend(model.stream(ask("Say hello to the world")))
    except (StreamTruncated, ServiceError, Timeout) as error:
        broken = error
    whole = model.invoke(ask("Say hello to the world"))

    assert broken or any(isinstance(event, Retrying) for event in seen)
    assert whole["finish_reason"] == "stop"
    assert whole["content"].rstrip().endswith(".")


@pytest.mark.parametrize("kind", KINDS)
def test_it_calls_a_tool_that_is_offered(kind: str, llmock: Peer) -> None:
    result = of_llmock(kind, llmock).invoke(ask("What is the weather?"), TOOLS[:1])

    assert [call["name"] for call in result["content"]] == ["weather"]
    assert result["usage"].output_tokens > 0
