"""An agent, or a prompt, and many rows → an answer for each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from typing import Any, Literal, TypeAlias, Unpack

from agentcell.adapters.registry import resolve
from agentcell.agents.answer_schema import AnswerSchema
from agentcell.agents.batch_work import AgentWork, PromptWork
from agentcell.batch import BatchResult, Options, Plan, RowError, iterate_batch, run_batch
from agentcell.batch.rows import columns_of
from agentcell.interrupting import calmly
from agentcell.prompts.fields import normalize_field_specs

_GOES_ON = "run it again with the same journal to go on."

Workers: TypeAlias = Executor | Literal["provider"] | None


class MapsRows:
    """What an agent can do with many inputs at once."""

    def map(self, rows: Any, executor: Workers = None, **options: Unpack[Options]) -> BatchResult:
        """Take one step for each row, several at a time, and return all answers in order.

        No row sees another: the agent's memory is read, and nothing is added to it. A row that
        fails is a `RowError` in its place, with the row and the error.

        Parameters
        ----------
        rows
            Inputs as `step` takes them: a list, a DataFrame (its columns are the fields, an empty
            cell is an input not given) or an iterator.
        executor
            Who works on them: None for threads, any `concurrent.futures.Executor` (a process
            pool, ``client.get_executor()`` of Dask, ``view.executor`` of ipyparallel), or
            ``"provider"`` for the batch service of the model's provider.
        options
            ``workers, journal, budget, limits, worker_limits, retries, retry_delay, progress,
            settings, poll, on_row``; see `agentcell.batch.Plan`.

        Returns
        -------
        BatchResult
            A sequence of what `step` returns; also ``failed``, ``retry()``, ``frame()``,
            ``usage`` and ``cost``.

        Raises
        ------
        BatchStopped
            If it is interrupted; its ``result`` holds what came until then.
        BatchError, KeyMissing
            Before anything is sent; `BudgetExceeded` if there is a budget and no known price.
        """
        plan = Plan.of(executor, options)
        return run_batch(AgentWork(self, plan.settings), rows, plan)

    def imap(
        self, rows: Any, executor: Executor | None = None, **options: Unpack[Options]
    ) -> Iterator[dict[str, Any] | RowError]:
        """Like `map`, as it comes: for more rows than fit into memory.

        Only `ahead` rows are taken before the first of them has its answer. Closing the iterator
        stops the batch.

        Parameters
        ----------
        rows, executor
            As for `map`; ``"provider"`` is for `map` alone.
        options
            Those of `map`; also ``ordered=False``, for answers as they come, and ``ahead``.

        Yields
        ------
        dict or RowError
            What `step` returns, in the order of the rows.
        """
        plan = Plan.of(executor, options)
        return _values(AgentWork(self, plan.settings), rows, plan)


def ask_each(  # noqa: PLR0913 (each is a part of the question)
    model: Any,
    prompt: str,
    rows: Any,
    executor: Workers = None,
    *,
    system: str = "",
    schema: Any = None,
    fields: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> BatchResult:
    """Ask one question about each row, without an agent.

    Parameters
    ----------
    model
        A `Model`, or the name of one.
    prompt
        The question, with ``{column}`` where the row's value goes; attachments too.
    rows
        Mappings, or a DataFrame, or an iterator; see `Agent.map`.
    executor, options
        As for `Agent.map`.
    system
        Instructions.
    schema
        What an answer must be: a pydantic model, a dataclass, …; see `Session.prepare`.
    fields
        Declarations of columns, such as ``{"photo": "IMAGE:Photo"}``.

    Returns
    -------
    BatchResult
        Texts, or values of the schema.

    Raises
    ------
    BatchStopped, BatchError, BudgetExceeded, KeyMissing
        As `Agent.map`.
    """
    plan = Plan.of(executor, options)
    work = PromptWork(
        resolve(model) if isinstance(model, str) else model,
        prompt,
        columns=columns_of(rows),
        system=system,
        settings=plan.settings,
        schema=None if schema is None else AnswerSchema.of(schema),
        fields=normalize_field_specs(fields),
    )
    return run_batch(work, rows, plan)


def _values(work: Any, rows: Any, plan: Plan) -> Iterator[Any]:
    with (
        calmly("as you asked.", fix="" if plan.journal is None else _GOES_ON),
        contextlib.closing(iterate_batch(work, rows, plan)) as outcomes,  # type: ignore[type-var]
    ):
        for outcome in outcomes:
            if outcome.error is None:
                yield outcome.value
            else:
                yield RowError(outcome.index, outcome.row, outcome.error)
