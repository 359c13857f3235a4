"""Any `concurrent.futures.Executor` → rows handed to it, and what its workers make of them.

Threads share the agent as it is. For all others it is pickled once, without any key: a worker has
the keys of its own environment. What is handed over shows none of its content in a log.
"""

from __future__ import annotations

import contextlib
import pickle
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from agentcell.adapters.model import innermost
from agentcell.adapters.rate_limits import RateLimits
from agentcell.assets.wording import a_type
from agentcell.batch.limiting import limited
from agentcell.batch.stopping import Stopper
from agentcell.batch.work import Done, Work, portable, worked
from agentcell.errors import BatchError, WorkerLost

_USUAL_WORKERS = 8
_MOST_KEPT = 8
"""Works that a worker process keeps open: those of the batches that it is part of."""


@dataclass(frozen=True, slots=True)
class Task:
    """One row on its way to a worker in another process."""

    ticket: str
    """Of each sending another: some executors do what looks the same only once."""
    digest: str
    work: bytes = field(repr=False)
    row: bytes = field(repr=False)

    def __dask_tokenize__(self) -> str:
        return self.ticket


class Crew:
    """The workers of one batch, wherever they are.

    Parameters
    ----------
    work
        What they do.
    executor
        None: threads of its own.
    workers
        How many threads; None: `_USUAL_WORKERS`.
    model_limits
        How often each process may ask the service.

    Raises
    ------
    BatchError
        If `executor` is none, or the work cannot be taken to it.
    """

    def __init__(
        self,
        work: Work,
        executor: Executor | None,
        *,
        workers: int | None = None,
        model_limits: RateLimits | None = None,
    ) -> None:
        is_one = all(callable(getattr(executor, name, None)) for name in ("submit", "shutdown"))
        if executor is not None and not is_one:
            raise BatchError(
                f"The executor is {str(executor)[:60]!r}; a concurrent.futures.Executor was"
                ' expected, or "provider".',
                fix="give for example ThreadPoolExecutor(16), a Dask client's get_executor(), or an"
                " ipyparallel view's executor.",
            )
        self._own: Executor | None = None
        self._stopper = Stopper()
        self._work = work
        if executor is None:
            workers = workers or _USUAL_WORKERS
            executor = self._own = ThreadPoolExecutor(workers, thread_name_prefix="agentcell-batch")
        self._executor = executor
        self.is_here = isinstance(executor, ThreadPoolExecutor)
        self.size = workers or _size_of(executor)
        self._model = limited(work.model, model_limits)
        if not self.is_here:
            self._payload = _packed(work, model_limits)
            self._digest = uuid.uuid4().hex

    def send(self, row: Any) -> Future[Done]:
        """Hand over one row.

        Raises
        ------
        BatchError
            If the row cannot be taken to another process.
        Exception
            If the executor takes no more.
        """
        if self.is_here:
            return self._executor.submit(worked, self._work, self._model, row, self._stopper)
        task = Task(uuid.uuid4().hex, self._digest, self._payload, _dumped(row, "The row", "a row"))
        future = self._executor.submit(done_elsewhere, task)
        if not callable(getattr(future, "add_done_callback", None)):
            raise TypeError(f"its submit returned {a_type(future)}; a Future was expected")
        return future

    def renew(self, broken: Executor) -> bool:
        """Put a new pool in the place of one whose process died; say whether there is one now."""
        if broken is not self._executor:
            return True  # it was renewed already
        if not isinstance(broken, ProcessPoolExecutor):
            return False
        facts: Any = broken
        self.close()
        self._own = self._executor = ProcessPoolExecutor(
            facts._max_workers,  # noqa: SLF001 (a pool tells it nowhere else)
            mp_context=facts._mp_context,  # noqa: SLF001
            initializer=facts._initializer,  # noqa: SLF001
            initargs=facts._initargs,  # noqa: SLF001
            max_tasks_per_child=getattr(facts, "_max_tasks_per_child", None),
        )
        return True

    @property
    def executor(self) -> Executor:
        """Who is handed rows now."""
        return self._executor

    def stop(self) -> None:
        """Give up what is under way in this process, and begin nothing more."""
        self._stopper.stop()

    def close(self) -> None:
        """Let go of the threads or processes that were made here; nobody waits for them."""
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)
            self._own = None


def gone(error: BaseException, times: int = 1) -> WorkerLost:
    """Return the error of a row whose worker was lost, so many times."""
    said = " ".join(str(error).split())[:300]
    often = "" if times == 1 else f" {times} times"
    return WorkerLost(
        f"The worker that had this row was lost{often}: {type(error).__name__}: {said}",
        fix="look at that machine's memory and log; the row may have been asked about.",
    )


def takes_no_more(executor: Executor, error: Exception) -> BatchError:
    """Return the error of rows that an executor does not take; they were never sent."""
    said = " ".join(str(error).split())[:300]
    return BatchError(
        f"{type(executor).__name__} takes no more rows: {type(error).__name__}: {said}",
        fix="make a new executor, then retry(executor=…), or the batch again with its journal.",
    )


def done_elsewhere(task: Task) -> Done:
    """Ask about one row, in a worker's process."""
    work, model = _opened(task)
    row = pickle.loads(task.row)  # noqa: S301 (from the process that this one works for)
    return portable(worked(work, model, row, _STOPPER))


_STOPPER = Stopper()
_lock = threading.Lock()
_works: dict[str, tuple[Work, Any]] = {}


def _opened(task: Task) -> tuple[Work, Any]:
    """Return the work and the model to ask; the same for all rows, which share its limits."""
    with _lock:
        if task.digest not in _works:
            work, limits = pickle.loads(task.work)  # noqa: S301 (as above)
            while len(_works) >= _MOST_KEPT:
                del _works[next(iter(_works))]
            _works[task.digest] = (work, limited(work.model, limits))
        return _works[task.digest]


def _packed(work: Work, limits: RateLimits | None) -> bytes:
    model = innermost(work.model) if hasattr(work.model, "model_name") else work.model
    own_keys = getattr(model, "own_keys", None)
    if callable(own_keys) and own_keys():
        variable = getattr(model, "key_variable", "") or "the provider's variable"
        raise BatchError(
            f"{getattr(model, 'name', 'The model')} was given a key in code, and keys are not sent"
            " to workers in other processes.",
            fix=f"set {variable} in the workers' environment and make the model without api_key"
            " (and without keys in headers or the address); or use threads.",
        )
    return _dumped((work, limits), "The agent", "the tools, the memory or the model")


def _dumped(value: Any, what: str, who: str) -> bytes:
    """Pickle a value; functions of a notebook by what they are, not by where they stand."""
    dumps: Callable[[Any], bytes] = pickle.dumps
    with contextlib.suppress(ImportError):
        import cloudpickle

        dumps = cloudpickle.dumps
    try:
        return dumps(value)
    except Exception as error:
        raise BatchError(
            f"{what} cannot be taken to another process: {type(error).__name__}:"
            f" {str(error)[:200]}",
            fix=f"look what {who} hold (connections, locks, open files), or use threads.",
        ) from error


def _size_of(executor: Any) -> int:
    size = getattr(executor, "_max_workers", None)
    client: Any = getattr(executor, "_client", None)  # Dask's
    if size is None and callable(getattr(client, "nthreads", None)):
        size = sum(client.nthreads().values())
    return size if isinstance(size, int) and size > 0 else _USUAL_WORKERS
