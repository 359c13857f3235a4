"""Waits: how long, how often, and what a service may ask for."""

from __future__ import annotations

import pytest

from agentcell.adapters.connection import Timeouts
from agentcell.adapters.retry import RetryPolicy, retry_after_seconds
from agentcell.errors import ModelError


def failed(*, retryable: bool = True, retry_after: float | None = None) -> ModelError:
    return ModelError("no", retryable=retryable, retry_after=retry_after)


def waits(policy: RetryPolicy, error: ModelError) -> list[float]:
    found: list[float] = []
    while (wait := policy.wait(error, len(found), sum(found))) is not None:
        found.append(wait)
    return found


def test_each_wait_is_about_twice_the_one_before_up_to_the_longest() -> None:
    found = waits(RetryPolicy(max_retries=7), failed())

    for wait, whole in zip(found, [0.5, 1, 2, 4, 8, 8, 8], strict=True):
        assert 0.75 * whole <= wait <= whole
    assert len(set(found)) == 7


def test_what_may_not_pass_is_not_waited_for() -> None:
    assert waits(RetryPolicy(), failed(retryable=False)) == []
    assert waits(RetryPolicy(max_retries=0), failed()) == []


def test_what_the_service_asks_for_is_given_within_limits() -> None:
    policy = RetryPolicy(max_retries=9, longest_asked=30, budget=50)

    assert waits(policy, failed(retry_after=31)) == []
    assert len(waits(policy, failed(retry_after=20))) == 2
    assert all(20 <= wait <= 21 for wait in waits(policy, failed(retry_after=20)))
    assert waits(RetryPolicy(max_retries=2), failed(retry_after=0.0)) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Sun, 29 Nov 2026 12:00:30 GMT"}, 30),
        ({"retry-after": "Sun, 29 Nov 2026 12:00:30 -0000"}, 30),
        ({"retry-after": "Sunday, 29-Nov-26 12:00:30 GMT"}, 30),
        ({"retry-after": "Sun, 29 Nov 2026 11:00:00 GMT"}, 0),
        ({"retry-after": "Sun, 99 Nov 2026 12:00:30 GMT"}, None),
    ],
)
def test_each_spelling_of_a_wait_is_read(headers: dict[str, str], seconds: float | None) -> None:
    noon = 1_795_953_600.0  # 29 November 2026, 12:00 UTC

    assert retry_after_seconds(headers, noon) == seconds


@pytest.mark.parametrize("value", [-1, True, 1.5, "2", None])
def test_a_number_of_retries_is_a_whole_number(value: object) -> None:
    with pytest.raises((ValueError, TypeError), match="max_retries is"):
        RetryPolicy.of(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -1, True, "5", float("nan")])
def test_a_timeout_is_a_number_of_seconds(value: object) -> None:
    with pytest.raises((ValueError, TypeError), match="a number of seconds above 0"):
        Timeouts.of(value)  # type: ignore[arg-type]


def test_one_number_means_the_wait_for_a_first_byte_and_for_each_next_one() -> None:
    assert Timeouts.of(60) == Timeouts(connect=10, first_byte=60, silence=60)
    assert Timeouts.of(2).connect == 2
    assert Timeouts.of(None) == Timeouts()
