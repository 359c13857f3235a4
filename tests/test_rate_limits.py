"""Limits on the client: how many go out in a minute and at once, in which order, and what ends."""

from __future__ import annotations

import _thread
import asyncio
import copy
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, ClassVar

import pytest

from agentcell import LegacyOpenAIModel, OpenAIModel
from agentcell.adapters.events import TextDelta, Waiting
from agentcell.adapters.rate_limits import RateLimits
from agentcell.errors import RateLimited, Timeout
from agentcell.testing import ChatServer, Reply, ResponsesServer

HI = [{"role": "user", "content": "Hi"}]


class Quick(RateLimits):
    """Its minute is a third of a second."""

    window: ClassVar[float] = 0.3


async def passed(limits: RateLimits, tokens: int = 0) -> float:
    """Go through once; return when."""
    place = limits.ask(tokens)
    try:
        await place.wait()
        return time.monotonic()
    finally:
        place.leave()


def most_within(moments: list[float], window: float) -> int:
    moments = sorted(moments)
    return max(sum(one <= other < one + window for other in moments) for one in moments)


def test_within_any_minute_no_more_go_out_than_allowed() -> None:
    limits = Quick(requests_per_minute=5)

    async def all_of_them() -> list[float]:
        return await asyncio.gather(*(passed(limits) for _ in range(14)))

    moments = asyncio.run(all_of_them())

    assert most_within(moments, Quick.window - 0.01) == 5
    assert 2 * Quick.window <= max(moments) - min(moments) < 4 * Quick.window


def test_who_asked_first_goes_first_whatever_thread_and_loop_it_is_on() -> None:
    limits = RateLimits(concurrent=1)
    order: list[int] = []
    stands = threading.Semaphore(0)

    def one(number: int) -> None:
        async def go() -> None:
            place = limits.ask()
            stands.release()
            try:
                await place.wait()
                order.append(number)
                await asyncio.sleep(0.002)
            finally:
                place.leave()

        asyncio.run(go())

    async def hold() -> list[threading.Thread]:
        place = limits.ask()
        await place.wait()
        threads = [threading.Thread(target=one, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
            stands.acquire()
        place.leave()
        return threads

    for thread in asyncio.run(hold()):
        thread.join(10)

    assert order == list(range(20))


def test_a_large_request_at_the_head_is_not_overtaken_by_small_ones() -> None:
    limits = Quick(tokens_per_minute=100)

    async def go() -> list[float]:
        tasks = [asyncio.create_task(passed(limits, tokens)) for tokens in (60, 60, 10)]
        return await asyncio.gather(*tasks)

    first, large, small = asyncio.run(go())

    assert large - first >= Quick.window - 0.01
    assert small - first >= Quick.window - 0.01  # it would have gone out at once


def test_a_request_above_the_limit_goes_out_alone_instead_of_never() -> None:
    limits = Quick(tokens_per_minute=100)

    async def go() -> list[float]:
        return await asyncio.gather(*(passed(limits, 1_000_000) for _ in range(3)))

    moments = asyncio.run(go())

    assert all(after - before >= Quick.window - 0.01 for before, after in pairwise(moments))


def test_the_providers_count_takes_the_place_of_the_estimate() -> None:
    with ChatServer(Reply("Hi", usage=(900, 50)), Reply("Hi", usage=(1, 1))) as server:
        model = LegacyOpenAIModel("m", "k", server.url, limits=RateLimits(tokens_per_minute=1_000))
        model.invoke(HI)
        long = [{"role": "user", "content": "word " * 100}]
        answer: Any = model.stream(long)
        assert isinstance(next(answer), Waiting)  # the first was larger than it looked
        answer.close()


class Watched(OpenAIModel):
    """Counts how many of its kind are under way."""

    sending: ClassVar[int] = 0
    answers: ClassVar[list[Any]] = []
    most: ClassVar[int] = 0

    @classmethod
    def running(cls) -> int:
        return cls.sending + sum(not answer.is_closed for answer in cls.answers)

    async def send(self, prepared: Any) -> Any:
        Watched.sending += 1
        Watched.most = max(Watched.most, self.running())
        try:
            answer = await super().send(prepared)
            Watched.answers.append(answer)
        finally:
            Watched.sending -= 1
        return answer


def test_no_more_run_at_once_than_allowed_over_models_and_threads() -> None:
    limits = RateLimits(concurrent=3)
    with ResponsesServer(*(Reply("a", "b", delay=0.02) for _ in range(32))) as server:
        models = [Watched(name, "k", server.url, limits=limits) for name in ("m", "n")] * 16
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda model: model.invoke(HI)["content"], models))

    assert answers == ["ab"] * 32
    assert (Watched.most, Watched.running()) == (3, 0)


def test_a_wait_is_seen_by_who_reads_the_answer() -> None:
    limits = Quick(requests_per_minute=1)
    with ChatServer() as server:
        model = LegacyOpenAIModel("m", "k", server.url, limits=limits)
        assert not any(isinstance(event, Waiting) for event in model.stream(HI))
        first, *rest = model.stream(HI)

    assert isinstance(first, Waiting)
    assert first.wait is not None
    assert 0 < first.wait <= Quick.window
    assert first.reason == "1 request a minute is the limit"
    assert not any(isinstance(event, Waiting) for event in rest)


def test_a_request_that_is_tried_again_counts_again_and_leaves_its_place_between() -> None:
    limits = Quick(requests_per_minute=100, concurrent=1)
    with ChatServer() as server:
        server.fail(429, retry_after=0).reply("Hello")
        model = LegacyOpenAIModel("m", "k", server.url, limits=limits)

        assert model.invoke(HI)["content"] == "Hello"
        assert len(server.requests) == 2

    async def free() -> bool:
        place = limits.ask()
        place.leave()
        return place.granted

    assert asyncio.run(free())


@pytest.mark.parametrize("reply", [Reply(status=401), Reply("x", cut=0), Reply("x", clean_cut=1)])
def test_a_failed_request_gives_its_place_back(reply: Reply) -> None:
    limits = RateLimits(concurrent=1)
    with ChatServer(reply, Reply("Hello")) as server:
        model = LegacyOpenAIModel("m", "k", server.url, limits=limits, max_retries=0)
        with pytest.raises(Exception, match="openai-chat/m"):
            model.invoke(HI)

        assert model.invoke(HI)["content"] == "Hello"


def test_an_answer_that_is_not_read_to_its_end_gives_its_place_back() -> None:
    limits = RateLimits(concurrent=1)
    with ChatServer(Reply("a", "b", delay=0.05), Reply("Hello")) as server:
        model = LegacyOpenAIModel("m", "k", server.url, limits=limits)
        answer: Any = model.stream(HI)
        next(answer)
        answer.close()

        assert model.invoke(HI)["content"] == "Hello"


def test_an_interrupted_wait_frees_its_place_within_a_second() -> None:
    limits = RateLimits(concurrent=1)
    with ChatServer(Reply("slow", "er", stall=2), Reply("Hello")) as server:
        model = LegacyOpenAIModel("m", "k", server.url, limits=limits)
        holding: Any = model.stream(HI)
        assert isinstance(next(holding), TextDelta)
        threading.Timer(0.2, _thread.interrupt_main).start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            model.invoke(HI)
        stopped = time.monotonic() - began
        holding.close()

        assert stopped < 1.2
        assert len(server.requests) == 1
        assert model.invoke(HI)["content"] == "Hello"  # nobody stands before it any more


def test_who_is_cancelled_in_line_or_just_let_go_holds_nothing() -> None:
    limits = RateLimits(concurrent=1)

    async def go() -> None:
        for _ in range(50):
            holder = limits.ask()
            await holder.wait()
            waiters = [asyncio.create_task(passed(limits)) for _ in range(3)]
            await asyncio.sleep(0)
            waiters[1].cancel()
            holder.leave()  # the first is let go this very moment
            waiters[0].cancel()
            await asyncio.wait_for(waiters[2], 5)
            await asyncio.gather(*waiters, return_exceptions=True)
        assert limits.ask().granted

    asyncio.run(go())


def test_a_loop_that_is_gone_holds_nobody_up() -> None:
    limits = RateLimits(concurrent=1)
    dead = asyncio.new_event_loop()

    async def take() -> None:
        limits.ask()
        limits.ask()

    dead.run_until_complete(take())  # one under way, one in line, and neither ever left
    dead.close()

    assert asyncio.run(asyncio.wait_for(passed(limits), 5))


def test_a_loop_that_stands_still_is_passed_over() -> None:
    limits = Quick(requests_per_minute=1)
    still = asyncio.new_event_loop()

    async def stand() -> None:
        await passed(limits)
        still_waiting.append(limits.ask())

    still_waiting: list[Any] = []
    still.run_until_complete(stand())
    try:
        assert asyncio.run(asyncio.wait_for(passed(limits), 5))
    finally:
        still_waiting[0].leave()
        still.close()


def test_a_wait_that_could_never_end_is_refused_at_once() -> None:
    limits = RateLimits(concurrent=1)

    async def go() -> None:
        with ChatServer(Reply("a", "b", delay=0.05)) as server:
            model = LegacyOpenAIModel("m", "k", server.url, limits=limits)
            async for event in model.astream(HI):
                if isinstance(event, TextDelta):
                    await model.ainvoke(HI)

    with pytest.raises(RateLimited, match="could never go out") as caught:
        asyncio.run(go())

    assert "allow more at once" in caught.value.fix


def test_a_line_that_does_not_move_is_given_up() -> None:
    limits = RateLimits(concurrent=1, patience=0.2)

    async def go() -> None:
        holder = limits.ask()
        await asyncio.gather(passed(limits), asyncio.create_task(passed(limits)))
        holder.leave()

    with pytest.raises(Timeout, match=r"within 0\.2 seconds under RateLimits\(concurrent=1\)"):
        asyncio.run(go())


def test_many_at_once_do_not_lock_up() -> None:
    limits = Quick(requests_per_minute=400, tokens_per_minute=4_000, concurrent=7)

    def some(_: int) -> int:
        async def go() -> int:
            done = await asyncio.gather(*(passed(limits, 10) for _ in range(50)))
            return len(done)

        return asyncio.run(asyncio.wait_for(go(), 30))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(some, range(8))) == 400


def test_a_copied_model_shares_its_limits_and_a_pickled_one_has_as_many() -> None:
    limits = RateLimits(requests_per_minute=3, tokens_per_minute=1_000, concurrent=2)
    model = LegacyOpenAIModel("m", "k", "http://127.0.0.1:9/v1", limits=limits)

    assert copy.copy(limits) is limits
    assert copy.deepcopy([limits, model])[0] is limits
    assert repr(pickle.loads(pickle.dumps(limits))) == repr(limits)  # noqa: S301
    assert repr(limits) == (
        "RateLimits(requests_per_minute=3, tokens_per_minute=1000, concurrent=2)"
    )


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"requests_per_minute": 0}, ValueError),
        ({"tokens_per_minute": -1}, ValueError),
        ({"concurrent": 1.5}, TypeError),
        ({"concurrent": True}, TypeError),
        ({"requests_per_minute": "60"}, TypeError),
        ({"patience": 0}, ValueError),
        ({"patience": "long"}, TypeError),
    ],
)
def test_a_limit_that_is_none_is_refused(options: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind, match=next(iter(options))):
        RateLimits(**options)


def test_limits_of_another_kind_are_refused_by_the_model() -> None:
    with pytest.raises(TypeError, match=r"limits is 60; RateLimits\(…\) was expected"):
        LegacyOpenAIModel("m", "k", limits=60)  # type: ignore[arg-type]


def test_who_is_told_the_very_moment_it_begins_to_wait_goes_on() -> None:
    limits = RateLimits(concurrent=1)
    done = 0

    def some(_: int) -> int:
        async def go() -> int:
            for _ in range(200):
                await passed(limits)
            return 200

        return asyncio.run(asyncio.wait_for(go(), 30))

    with ThreadPoolExecutor(4) as pool:
        done = sum(pool.map(some, range(4)))

    assert done == 800
