"""What a caller says about a batch, checked before anything is sent."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any, Literal, TypedDict

from agentcell.adapters.rate_limits import RateLimits
from agentcell.batch.spending import Cap
from agentcell.budget import Budget
from agentcell.errors import BatchError


class Options(TypedDict, total=False):
    """What `Agent.map` takes besides the rows; see `Plan`."""

    workers: int | None
    journal: str | os.PathLike[str] | None
    budget: Budget | Decimal | float | str | None
    limits: RateLimits | None
    worker_limits: RateLimits | None
    retries: int
    retry_delay: float
    ahead: int | None
    ordered: bool
    progress: Any
    settings: dict[str, Any] | None
    poll: float
    on_row: Callable[[Any], object] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a batch is run.

    Parameters
    ----------
    executor
        Any `concurrent.futures.Executor`; ``"provider"``: the batch service of the model's own
        provider; None: threads.
    workers
        How many threads are used where no executor is given (8), or how many rows any other
        works on at a time, if it does not say so itself.
    journal
        A file of finished rows: run again with it, the batch goes on where it stopped. None: none.
    budget
        US dollars, or a `Budget`. No row is sent that would pass it, with what is expected of the
        rows on their way; those rows become `RowError` of `BudgetExceeded`. What rows on their way
        cost more than expected can pass it. A journal's earlier runs count.
    limits
        How often and how many at once may be asked by all workers together.
    worker_limits
        The same for each worker process by itself.
    retries
        How often a row that failed for what may pass (a full service, a broken connection) is sent
        again; on top of what the adapter itself tries at each request.
    retry_delay
        Seconds before that, twice as many each time; what a service asks for goes before it.
    ahead
        Rows that are taken from an iterator before the first of them has an answer: as many are
        kept in memory. None: 8 for each worker.
    ordered
        For `imap`: whether answers come in the rows' order, or as they come.
    progress
        True: a bar (tqdm), or a line without it, and nothing where nobody attends. False: nothing.
        Or a `Progress`.
    settings
        For the model, over its own.
    poll
        Seconds between looks at a provider's batch.
    on_row
        Called with each `Outcome` as it comes, in the caller's thread.
    cap
        What is asked whether a row may go, in the place of `budget`; no option of a caller's.

    Raises
    ------
    BatchError
        If one cannot be.
    """

    executor: Executor | Literal["provider"] | None = None
    workers: int | None = None
    journal: str | os.PathLike[str] | None = None
    budget: Budget | Decimal | float | str | None = None
    limits: RateLimits | None = None
    worker_limits: RateLimits | None = None
    retries: int = 2
    retry_delay: float = 1.0
    ahead: int | None = None
    ordered: bool = True
    progress: Any = True
    settings: dict[str, Any] | None = field(default=None, repr=False)
    poll: float = 30.0
    on_row: Callable[[Any], object] | None = field(default=None, repr=False)
    cap: Cap | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("workers", "ahead"):
            if getattr(self, name) is not None:
                _check(name, getattr(self, name), 1, whole=True)
        _check("retries", self.retries, 0, whole=True)
        _check("retry_delay", self.retry_delay, 0)
        _check("poll", self.poll, 0)
        for name in ("limits", "worker_limits"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, RateLimits):
                raise BatchError(
                    f"{name} is {repr(value)[:60]}; RateLimits(…) was expected.",
                    fix=f"give for example {name}=RateLimits(requests_per_minute=500).",
                )
        for name, kinds, noun in _KINDS:
            value = getattr(self, name)
            if value is not None and not isinstance(value, kinds):
                raise BatchError(
                    f"{name} is {repr(value)[:60]}; {noun} was expected.",
                    fix=f"give one, or leave {name} out.",
                )
        if isinstance(self.executor, str) and self.executor != "provider":
            raise BatchError(
                f"The executor is {self.executor[:40]!r}; an Executor or 'provider' was expected.",
                fix='leave it out for threads, or give executor="provider".',
            )
        if self.executor == "provider" and (self.worker_limits or self.limits):
            raise BatchError(
                "A provider's batch service keeps its own limits; limits were given.",
                fix="leave limits and worker_limits out.",
            )

    @classmethod
    def of(cls, executor: Any, options: Any) -> Plan:
        """Return the plan that these options make.

        Raises
        ------
        BatchError
            If there is no such option.
        """
        known = {one.name for one in fields(cls)} - {"executor", "cap"}
        if unknown := sorted(options.keys() - known):
            raise BatchError(
                f"A batch takes no option {unknown[0]!r}.",
                fix=f"use one of {', '.join(sorted(known))}.",
            )
        return cls(executor=executor, **options)

    def checked_budget(self) -> Budget | None:
        """Return the budget, if there is one.

        Raises
        ------
        PriceError
            If it is no amount of US dollars.
        """
        if self.budget is None or isinstance(self.budget, Budget):
            return self.budget
        return Budget(usd=self.budget)


_KINDS: tuple[tuple[str, Any, str], ...] = (
    ("journal", (str, os.PathLike), "a file's path"),
    ("settings", Mapping, "a mapping of the model's settings"),
    ("on_row", Callable, "a function"),
)


def _check(name: str, value: Any, least: int, *, whole: bool = False) -> None:
    kinds = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value < math.inf:
        noun = "a whole number" if whole else "a number"
        raise BatchError(
            f"{name} is {repr(value)[:40]}; {noun}, at least {least}, was expected.",
            fix=f"set {name} to {least} or more.",
        )
