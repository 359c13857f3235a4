"""A way to ask a model, tools and limits → runs, each with a result and a trace."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from agentcell.adapters.model import Model
from agentcell.agents.acting import Approve
from agentcell.agents.tools import named_tools
from agentcell.assets.wording import a_type
from agentcell.budget import Budget
from agentcell.errors import AgentError, Unsupported
from agentcell.interrupting import calmly
from agentcell.loop import LOOP
from agentcell.messages import Message
from agentcell.runner.given import count_of, mapping_of, messages_of, store_of
from agentcell.runner.llm_call import ModelCall
from agentcell.runner.own_call import asking, nobody
from agentcell.runner.result import RunEnded, RunEvent, RunResult
from agentcell.runner.run import Plan, Run
from agentcell.runner.spending import Spending
from agentcell.runner.trace import NoTraceStore, TraceStore, new_trace_id

MAX_ITERATIONS = 10

_TRACED = "read in the run's trace what was done until then."


class AgentRunner:
    """Asks a model, runs the tools that it calls, and asks again, until it answers.

    Parameters
    ----------
    llm_call
        What ``create_…_llm_call`` returned; a `Model`; or a function of yours, called with
        ``messages``, ``model``, ``tools`` (both OpenAI-shaped) and settings by name, as far as it
        takes them. It returns a text, or a mapping with ``content``, ``tool_calls``, and perhaps
        ``usage`` and ``cost`` (US dollars); it may be a coroutine function.
    tools
        Functions, tools, MCP servers.
    hidden
        Values of the tools' hidden parameters, by name: the model never sees either.
    budget
        US dollars that all runs of this runner may cost together: ``"2.00"``, or a `Budget`.
        Nobody is asked; see `agentcell.runner.spending.Spending`.
    trace_store
        Where runs are traced: a folder, a `FileSystemTraceStore`, or what has its ``append`` and
        ``put_media``. None: not kept.
    max_iterations
        How often one run may ask the model.
    settings
        For every call of the model, under those of a prompt file and those given with a run.
    approve
        Asked before each tool call, with the call and the tool: True allows it. None: tools that
        need approval do not run, all others do.

    Notes
    -----
    The nearest says which model is asked and how: the call's ``model`` and ``settings``, then the
    front matter of the prompt file that made the messages, then the runner's ``settings``, then
    what ``create_…_llm_call`` was given, then the provider's own default.

    Raises
    ------
    AgentError
        If `llm_call`, `max_iterations` or `trace_store` is of the wrong kind.
    PriceError
        If the budget is none.
    """

    def __init__(  # noqa: PLR0913 (each is a fact of its own about the runs)
        self,
        llm_call: ModelCall | Model | Callable[..., Any],
        *,
        tools: Any = None,
        hidden: Mapping[str, Any] | None = None,
        budget: Budget | Decimal | str | float | None = None,
        trace_store: TraceStore | str | os.PathLike[str] | None = None,
        max_iterations: int = MAX_ITERATIONS,
        settings: Mapping[str, Any] | None = None,
        approve: Approve | None = None,
    ) -> None:
        if not (isinstance(llm_call, (ModelCall, Model)) or callable(llm_call)):
            raise AgentError(
                f"llm_call is {a_type(llm_call)}; a function that asks a model was expected.",
                fix="give llm_call=create_gemini_llm_call(), a Model, or a function.",
            )
        self.llm_call = llm_call
        self._tools = list(tools) if isinstance(tools, Iterator) else tools
        self._hidden = dict(mapping_of("hidden", hidden))
        self._spending = Spending(budget)
        self.trace_store = store_of(trace_store)
        self.max_iterations = count_of(max_iterations)
        self.settings = dict(mapping_of("settings", settings))
        self._approve = approve
        self._runs: dict[str, Run] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"AgentRunner({self.llm_call!r:.80}, max_iterations={self.max_iterations})"

    @property
    def budget(self) -> Budget | None:
        """What all runs together may cost."""
        return self._spending.budget

    @property
    def spent(self) -> Decimal:
        """US dollars that the runs cost until now, as far as that is known."""
        return self._spending.spent

    async def call(  # noqa: PLR0913 (each overrides one thing for this run)
        self,
        messages: Sequence[Message] | str,
        model: str | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        tools: Any = None,
        hidden: Mapping[str, Any] | None = None,
        max_iterations: int | None = None,
    ) -> RunResult:
        """Run to the end and return what came of it.

        Parameters
        ----------
        messages
            OpenAI-shaped, for example of `SimplePrompt.build_messages`; or a user's text.
        model
            Who is asked; None: what the prompt file says, else the default of `llm_call`.
        settings, hidden, max_iterations
            For this run, over the runner's own.
        tools
            For this run, beside the runner's own.

        Returns
        -------
        RunResult
            A mapping: ``content``, ``messages``, ``usage``, ``cost``, ``stop_reason``,
            ``trace_id``, ``error``. A service that fails is told there, as ``failed``;
            `RunResult.check` raises it.

        Raises
        ------
        AgentcellError
            If nothing could be sent: a model of another provider, no key, a setting or an
            attachment that the model cannot take, tools that are none.
        """
        return await _ended(
            self.run(
                messages,
                model,
                settings=settings,
                tools=tools,
                hidden=hidden,
                max_iterations=max_iterations,
            )
        )

    def call_sync(
        self, messages: Sequence[Message] | str, model: str | None = None, **options: Any
    ) -> RunResult:
        """Like `call`, for code without a loop, and for cells that can be interrupted.

        Today's kernels do not interrupt an ``await`` at the top of a cell; this they do, and the
        run's trace then ends as ``cancelled``.

        Parameters
        ----------
        messages, model, options
            As for `call`.

        Raises
        ------
        AgentcellError
            As for `call`.
        Interrupted
            Of a `KeyboardInterrupt`.
        """
        is_traced = not isinstance(self.trace_store, NoTraceStore)
        with calmly("as you asked.", fix=_TRACED if is_traced else ""):
            return LOOP.run(_ended(self.run(messages, model, **options)))

    def run(  # noqa: PLR0913 (see `call`)
        self,
        messages: Sequence[Message] | str,
        model: str | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        tools: Any = None,
        hidden: Mapping[str, Any] | None = None,
        max_iterations: int | None = None,
    ) -> AsyncGenerator[RunEvent]:
        """Yield what happens, as it happens; closing the iterator stops the run.

        Parameters
        ----------
        messages, model, settings, tools, hidden, max_iterations
            As for `call`.

        Yields
        ------
        RunEvent
            ``model_start``, pieces of text where the model streams, ``tool_start``,
            ``tool_end``, …, and last ``final``; see `agentcell.runner.result`.

        Raises
        ------
        AgentcellError
            As for `call`; what is wrong with the arguments at once, the rest with the first event.
        """
        plan = self._plan(messages, model, settings, tools, hidden, max_iterations)
        return self._events(Run(plan))

    async def _events(self, run: Run) -> AsyncGenerator[RunEvent]:
        with self._lock:
            self._runs[run.id] = run
        try:
            async with contextlib.aclosing(run.events()) as events:
                async for event in events:
                    yield event
        finally:
            with self._lock:
                self._runs.pop(run.id, None)

    def cancel(self, trace_id: str | None = None) -> None:
        """Stop runs: their results say ``cancelled``. May be called from any thread.

        Parameters
        ----------
        trace_id
            Which; None: all that are on their way. A tool that is no coroutine goes on in its
            thread, and nobody waits for it.
        """
        with self._lock:
            runs = [run for name, run in self._runs.items() if trace_id in (None, name)]
        for run in runs:
            run.cancel()

    def _plan(  # noqa: PLR0913, PLR0917 (see `call`)
        self,
        messages: Sequence[Message] | str,
        model: str | None,
        settings: Mapping[str, Any] | None,
        tools: Any,
        hidden: Mapping[str, Any] | None,
        max_iterations: int | None,
    ) -> Plan:
        asked = model if model is not None else getattr(messages, "model", None)
        front = getattr(messages, "settings", None) or {}
        said = {**self.settings, **front, **mapping_of("settings", settings)}
        given = messages_of(messages)
        chosen, name = self._chosen(asked)
        defaults = self.llm_call.settings if isinstance(self.llm_call, ModelCall) else {}
        own = [one for one in (self._tools, tools) if one is not None]
        named = named_tools(own, {**self._hidden, **mapping_of("hidden", hidden)})
        if named and chosen is not None and not chosen.capabilities.tools:
            raise Unsupported(
                f"{chosen.name} calls no tools.",
                fix="leave the tools out, or name another model.",
                provider=chosen.provider,
                model=chosen.model_name,
            )
        limit = self.max_iterations if max_iterations is None else count_of(max_iterations)
        return Plan(
            trace_id=new_trace_id(),
            messages=given,
            model=chosen,
            model_name=name,
            ask=asking(self.llm_call, asked, named) if chosen is None else nobody,
            tools=named,
            settings={**defaults, **said},
            max_iterations=limit,
            approve=self._approve,
            spending=self._spending,
            store=self.trace_store,
        )

    def _chosen(self, name: str | None) -> tuple[Model | None, str]:
        """Return the model to ask, None where a function asks it, and what it is called."""
        if isinstance(self.llm_call, ModelCall):
            found = self.llm_call.model(name)
            return found, found.name
        if not isinstance(self.llm_call, Model):
            return None, name or str(getattr(self.llm_call, "__name__", "llm_call"))
        own = self.llm_call
        if name is not None and name not in (own.name, own.model_name):
            raise AgentError(
                f"The runner asks {own.name}, but {str(name)[:80]!r} was named.",
                fix="leave the model out, or make the runner with"
                " llm_call=create_…_llm_call(), which asks any model of a provider.",
            )
        return own, own.name


async def _ended(events: AsyncGenerator[RunEvent]) -> RunResult:
    """Read a run to its end and return what came of it."""
    result: RunResult | None = None
    async with contextlib.aclosing(events):
        async for event in events:
            if isinstance(event, RunEnded):
                result = event.result
    assert result is not None  # noqa: S101 (a run's last event is its end)
    return result
