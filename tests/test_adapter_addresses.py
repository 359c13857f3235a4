"""Addresses and keys: what is local, and who gets a real key."""

from __future__ import annotations

from typing import Any

import pytest

from agentcell.adapters.addresses import PLACEHOLDER_KEY, is_local_address, resolve_key
from agentcell.adapters.failures import redacted
from agentcell.errors import AuthenticationError, KeyMissing

CLOUD, HERE = "https://api.openai.com/v1", "http://localhost:8000/v1"


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:1/v1",
        "http://LOCALHOST/v1",
        "http://127.0.0.1:11434/v1",
        "http://127.1.2.3",
        "http://[::1]:80/v1",
        "http://192.168.1.7:8000",
        "http://10.0.0.2",
        "http://172.20.0.3",
        "http://169.254.1.1",
        "http://[fd00::1]/",
        "http://gpu-box:8000",
        "http://my.host.local",
        "http://host.docker.internal:11434",
    ],
)
def test_an_address_on_this_machine_or_network_is_local(url: str) -> None:
    assert is_local_address(url)


@pytest.mark.parametrize(
    "url",
    [
        CLOUD,
        "https://openrouter.ai/api/v1",
        "http://8.8.8.8",
        "http://172.64.0.1",
        "https://localhost.evil.example",
        "https://127.0.0.1.evil.example",
        "http://[2606:4700::1]/",
        "not an address",
        "",
        "http://[broken",
    ],
)
def test_any_other_address_is_not(url: str) -> None:
    assert not is_local_address(url)


def key(url: str, given: str | None = None, *, argument: bool = True, **more: Any) -> str:
    return resolve_key(
        given=given,
        variable="OPENAI_API_KEY",
        url=url,
        url_was_argument=argument,
        provider="openai",
        model="m",
        **more,
    )


def test_a_key_from_the_environment_goes_to_its_provider_and_not_to_a_local_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")

    assert key(CLOUD) == "sk-real"
    assert key(CLOUD, "") == "sk-real"
    assert key("https://gateway.example/v1") == "sk-real"
    assert key(HERE) == PLACEHOLDER_KEY
    assert key(HERE, "sk-given") == "sk-given"
    # Both from the environment: whoever set them meant them for each other.
    assert key(HERE, argument=False) == "sk-real"


def test_without_a_key_a_local_server_is_asked_and_a_cloud_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")

    assert key(HERE, argument=False) == PLACEHOLDER_KEY
    assert key("https://far.example/v1", is_own_server=True) == PLACEHOLDER_KEY
    with pytest.raises(KeyMissing):
        key(CLOUD)


@pytest.mark.parametrize("bad", ["sk a", "sk-é", "sk-a\nb", "“sk-a”"])
def test_a_key_that_cannot_be_one_is_refused_without_being_shown(bad: str) -> None:
    with pytest.raises(AuthenticationError) as caught:
        key(CLOUD, bad)

    assert bad not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-abcdefgh12345678.",
        "key sk-proj-a1B2c3D4**********wxyz was refused",
        "Authorization: Bearer abc.def-ghi",
        "use AIzaSyA1234567890abcdef",
        "abcd****wxyz",
    ],
)
def test_what_looks_like_a_key_is_taken_out(text: str) -> None:
    shown = redacted(text)

    assert "[key removed]" in shown
    for part in ("abcdefgh", "a1B2", "wxyz", "def-ghi", "SyA123"):
        assert part not in shown


def test_ordinary_words_stay() -> None:
    text = "The model `gpt-6-sol` is busy; the task-force risk-assessment test-key is fine."

    assert redacted(text) == text
    assert redacted("a tok-1 b", "tok-1") == "a [key removed] b"
