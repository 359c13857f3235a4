"""A question with slots and many rows → an answer for each, paid for out of the session's budget.

No row becomes a turn: ten thousand of them would be every later question's past. What they cost is
in the session's ledger, where turns' costs are.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, Literal, Unpack

from agentcell.adapters.model import Model
from agentcell.agents.answer_schema import AnswerSchema
from agentcell.agents.batch_work import PromptWork
from agentcell.batch import BatchResult, Options, Outcome, Plan, run_batch
from agentcell.batch.rows import columns_of
from agentcell.batch.spending import Tally
from agentcell.history.spent import Spent
from agentcell.prompts.fields import normalize_field_specs
from agentcell.session.own_tools import OwnTools
from agentcell.session.paying_rows import SessionCap


class AsksEach(OwnTools):
    """A session's batches; see `Session`."""

    def each(  # noqa: PLR0913 (each is a part of the question)
        self,
        text: str,
        rows: Any,
        *,
        model: Model | str | None = None,
        system: str | None = None,
        settings: Mapping[str, Any] | None = None,
        schema: Any = None,
        fields: Mapping[str, Any] | None = None,
        attach: Mapping[str, Any] | None = None,
        detail: str | None = None,
        pdf_as: str | None = None,
    ) -> PromptWork:
        """Return what is done with each row; nothing is sent.

        Parameters
        ----------
        text
            The question; ``{column}`` stands for the row's value.
        rows
            For the names of its columns, where it is a DataFrame or a list.
        model, system, settings, schema, fields, attach, detail, pdf_as
            See `prepare`.
        """
        usual = self.defaults
        return PromptWork(
            self._asked_model(model),
            text,
            columns=columns_of(rows),
            system=usual.system if system is None else system,
            settings={**usual.settings, **(settings or {})},
            schema=None if schema is None else AnswerSchema.of(schema),
            fields=normalize_field_specs(fields or {}),
            attach=attach,
            detail=detail or usual.detail,
            pdf_as=pdf_as or usual.pdf_as,
        )

    def map(
        self,
        text: str | PromptWork,
        rows: Any,
        executor: Executor | Literal["provider"] | None = None,
        *,
        question: Mapping[str, Any] | None = None,
        **options: Unpack[Options],
    ) -> BatchResult:
        """Ask one question about each row, several at a time.

        No turn is recorded, and no earlier one is seen. What it costs is booked, and the session's
        budget holds: a row that would pass it is not sent.

        Parameters
        ----------
        text
            The question, with ``{column}`` where the row's value goes; or what `each` returned.
        rows
            Mappings, a DataFrame, or an iterator; see `Agent.map`.
        executor, options
            As for `Agent.map`.
        question
            What `each` takes besides: ``model``, ``system``, ``schema``, …

        Returns
        -------
        BatchResult
            Texts, or values of the schema; a `RowError` where a row has no answer.

        Raises
        ------
        BatchStopped, BatchError, BudgetExceeded, KeyMissing
            As `Agent.map`.
        """
        asked = dict(question or {})
        if options.get("settings"):
            asked["settings"] = {**(asked.get("settings") or {}), **(options["settings"] or {})}
        work = text if isinstance(text, PromptWork) else self.each(text, rows, **asked)
        cap = None
        if options.get("budget") is None and (budget := self.budget) is not None:
            cap = SessionCap(self._ledger, budget, work.model)
        options["on_row"] = self._booking(work, options.get("on_row"), cap)
        return run_batch(work, rows, replace(Plan.of(executor, options), cap=cap))

    def _booking(
        self, work: PromptWork, then: Callable[[Any], object] | None, cap: SessionCap | None
    ) -> Callable[[Outcome], None]:
        """Return what books each row that was paid for now."""

        def book(outcome: Outcome) -> None:
            if not outcome.is_from_journal and outcome.calls:
                paid = Tally(work.model).add(outcome.calls)
                spent = Spent(usd=paid.usd, unknown=min(1, paid.unknown))
                if cap is None:
                    self._ledger.book(uuid.uuid4().hex[:12], spent)
                else:
                    cap.book_row(spent)
            if then is not None:
                then(outcome)

        return book
