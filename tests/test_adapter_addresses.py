"""Addresses and keys: what is local, and who gets a real key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentcell.adapters.addresses import PLACEHOLDER_KEY, is_local_address, resolve_key
from agentcell.adapters.failures import redacted
from agentcell.errors import AuthenticationError, KeyMissing
from agentcell.keys import Key

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


def found(url: str, given: str | None = None, *, argument: bool = True, **more: Any) -> Key:
    return resolve_key(
        given=given,
        variables=(),
        main_variable="OPENAI_API_KEY",
        url=url,
        default_url=CLOUD,
        url_was_argument=argument,
        provider="openai",
        model="m",
        **more,
    )


def key(url: str, given: str | None = None, *, argument: bool = True, **more: Any) -> str:
    return found(url, given, argument=argument, **more).value


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


@pytest.fixture
def kept_by_llm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A key in the file of the tool `llm`."""
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    (tmp_path / "keys.json").write_text(json.dumps({"openai": "sk-kept"}), encoding="utf-8")
    return "sk-kept"


def test_what_llm_keeps_goes_to_the_provider_and_to_nobody_else(kept_by_llm: str) -> None:
    assert key(CLOUD) == kept_by_llm
    assert key(HERE) == PLACEHOLDER_KEY
    assert key(HERE, argument=False) == PLACEHOLDER_KEY
    assert key("https://far.example/v1", is_own_server=True) == PLACEHOLDER_KEY
    with pytest.raises(KeyMissing):
        key("https://gateway.example/v1")


def test_a_missing_key_names_every_place_that_was_looked_at_and_the_shortest_way_out() -> None:
    with pytest.raises(KeyMissing) as caught:
        key(CLOUD)

    said = str(caught.value)
    assert "OPENAI_API_KEY is not set." in said
    assert "keyring" in said
    assert "llm's keys file" in said
    assert caught.value.fix.startswith("run `%agent key openai`")
    assert len(said.splitlines()) == 2


def test_a_key_knows_where_it_came_from_and_does_not_show_itself(
    monkeypatch: pytest.MonkeyPatch, kept_by_llm: str
) -> None:
    kept = found(CLOUD)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")

    assert kept.place == "OPENAI_API_KEY in llm's keys file"
    assert found(CLOUD).place == "OPENAI_API_KEY"
    assert found(CLOUD, "sk-given").source == "argument"
    assert found(HERE).source == "placeholder"
    assert kept_by_llm not in repr(kept)


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


def test_a_part_of_the_key_that_a_service_repeats_is_taken_out() -> None:
    mine = "sk-proj-Qw3rT7uI9oP1aS5dF6gH8jK0lZ2xC4vB"

    shown = redacted("Wrong key Qw3rT7u…dF6gH8jK0l (Qw3rT is no trace).", mine)

    assert shown == "Wrong key [key removed]…[key removed] (Qw3rT is no trace)."
