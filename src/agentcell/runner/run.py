"""One run: the model is asked, its tools run, it is asked again, until it ends or is stopped."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agentcell.adapters.events import (
    Citation,
    Finished,
    Gathering,
    Retrying,
    TextDelta,
    ThinkingDelta,
    Usage,
    Waiting,
    total_usage,
)
from agentcell.adapters.model import Model
from agentcell.adapters.pricing import call_cost
from agentcell.adapters.recording.model import RecordingModel
from agentcell.agents.acting import Approve
from agentcell.agents.exchange import ToolFinished, ToolLog, ToolStarted, as_text
from agentcell.agents.rounds import tags_in, takes_tool_media
from agentcell.agents.tools import Tool
from agentcell.errors import (
    AttachmentError,
    BadRequest,
    BudgetExceeded,
    KeyMissing,
    LocalModelMissing,
    PriceError,
    Unsupported,
)
from agentcell.messages import Message, ToolCall
from agentcell.openai_shape import openai_messages, read_call
from agentcell.runner.acting import act
from agentcell.runner.pumping import Pump, PumpStopped
from agentcell.runner.reply import Reply, reply_of
from agentcell.runner.result import ModelStarted, RunEnded, RunEvent, RunResult, total_cost
from agentcell.runner.run_trace import RunTrace
from agentcell.runner.spending import Spending
from agentcell.runner.trace import TraceStore
from agentcell.runner.trace_record import names_a_secret

BEFORE_SENDING = (AttachmentError, KeyMissing, LocalModelMissing, PriceError, Unsupported)
"""Errors that mean: nothing was sent. Of a run's first call they are raised."""

_PASSED_ON = (TextDelta, ThinkingDelta, Citation, Retrying, Waiting)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that a run needs, checked before anything is sent.

    Parameters
    ----------
    model
        Who is asked; None where `ask` does it.
    ask
        Called with messages, tools and settings; returns what `reply_of` reads, or an awaitable
        of it.
    """

    trace_id: str
    messages: list[Message]
    model: Model | None
    model_name: str
    ask: Callable[..., Any] = field(repr=False)
    tools: Mapping[str, Tool]
    settings: dict[str, Any]
    max_iterations: int
    approve: Approve | None
    spending: Spending
    store: TraceStore


class Run:
    """One run of a plan; its `events` are read once.

    Parameters
    ----------
    plan
        What to do.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.id = plan.trace_id
        self._is_cancelled = False
        self._pump: Pump | None = None
        self._messages: list[Message] = list(plan.messages)
        self._log = ToolLog(plan.max_iterations)
        self._log.ids |= set(_ids_in(self._messages))
        self._tags = tags_in(self._messages)
        self._schemas = [tool.schema() for tool in plan.tools.values()] or None
        self._usage: Usage | None = None
        self._cost: Decimal | None = Decimal(0)
        self._asked = 0
        self._is_asking = False
        self._text = ""
        self._reply: Reply | None = None
        own_keys = getattr(plan.model, "own_keys", None)
        secrets = [*(own_keys() if own_keys else ()), *_hidden_secrets(plan.tools)]
        self._trace = RunTrace(plan.store, plan.trace_id, secrets)

    def cancel(self) -> None:
        """Stop as soon as may be; may be called from any thread."""
        self._is_cancelled = True
        if (pump := self._pump) is not None:
            pump.stop_soon()

    async def events(self) -> AsyncGenerator[RunEvent]:
        """Yield what happens; the last is `RunEnded`.

        Raises
        ------
        AgentcellError
            One of `BEFORE_SENDING`, of the first call.
        """
        ended: RunEnded | None = None
        error: BaseException | None = None
        reason = "completed"
        try:
            self._begin()
            try:
                async with contextlib.aclosing(self._steps()) as steps:
                    async for event in steps:
                        yield event
                if self._messages[-1].get("role") == "tool":
                    reason = "max_iterations"
            except BudgetExceeded as raised:
                reason, error = "budget", raised
            except PumpStopped:
                reason = "cancelled"
            except Exception as raised:  # noqa: BLE001 (a function of anyone's may raise anything)
                reason, error = "failed", raised
            ended = self._end(reason, error)
            if self._asked == 1 and error is not None and _was_before_sending(error):
                raise error
            yield ended
        finally:
            if ended is None:  # whoever read the events left, or their task was cancelled
                self._end("cancelled", None)

    async def _steps(self) -> AsyncGenerator[RunEvent]:
        plan = self.plan
        for iteration in range(1, plan.max_iterations + 1):
            plan.spending.check(
                self.id,
                plan.model,
                self._messages,
                self._schemas,
                plan.settings,
                during=iteration > 1,
            )
            started = ModelStarted(iteration, plan.model_name)
            self._trace.add("model_start", iteration=iteration, model=plan.model_name)
            yield started
            async for event in self._stoppable(self._answer()):
                yield event
            assert self._reply is not None  # noqa: S101 (it is there where none was raised)
            calls = self._said(self._reply)
            if not calls:
                return
            async for event in self._stoppable(self._acted(calls)):
                yield event

    async def _stoppable(self, events: AsyncGenerator[Any]) -> AsyncIterator[Any]:
        self._pump = pump = Pump(events)
        try:
            if self._is_cancelled:
                pump.stop_soon()
            async for event in pump.events():
                yield event
        finally:
            self._pump = None

    # -- the model

    async def _answer(self) -> AsyncGenerator[Any]:
        """Ask once; yield what comes, and leave the answer in `_reply`."""
        plan = self.plan
        self._asked += 1
        self._text, self._reply, self._is_asking = "", None, True
        is_paid = not self._is_replayed()
        recorded: str | None = None
        if plan.model is None:
            returned = plan.ask(list(self._messages), self._schemas, dict(plan.settings))
            reply = reply_of(
                await returned if inspect.isawaitable(returned) else returned, plan.ask
            )
            self._text = reply.text
        else:
            gathering = Gathering()
            answer = plan.model.astream(
                list(self._messages), self._schemas, dict(plan.settings) or None
            )
            try:
                async for event in answer:
                    gathering.take(event)
                    if isinstance(event, TextDelta):
                        self._text += event.text
                    elif isinstance(event, Finished):
                        recorded = event.cost
                    if isinstance(event, _PASSED_ON):
                        yield event
            finally:
                if hasattr(answer, "aclose"):
                    await answer.aclose()
            reply = reply_of(gathering.result(), plan.model)
        self._is_asking = False
        cost = self._cost_of(reply, recorded)
        self._usage = total_usage(self._usage, reply.usage)
        self._cost = total_cost(self._cost, cost)
        plan.spending.count(self.id, cost if is_paid else Decimal(0))
        record = {"usage": reply.usage, "cost": cost}
        self._trace.add("message", message=self._trace.message(reply.message), **record)
        self._reply = reply

    def _is_replayed(self) -> bool:
        model = self.plan.model
        return isinstance(model, RecordingModel) and model.is_answered(
            self._messages, self._schemas, self.plan.settings or None
        )

    def _cost_of(self, reply: Reply, recorded: str | None) -> Decimal | None:
        if reply.cost is not None:
            return reply.cost
        return call_cost(self.plan.model, reply.usage, recorded)

    def _said(self, reply: Reply) -> list[ToolCall]:
        """Keep the model's answer; return its calls, each with an id of its own."""
        calls = [self._log.unique(call) for call in reply.calls]
        self._messages.append({**reply.message, "tool_calls": calls} if calls else reply.message)
        return calls

    # -- its tools

    async def _acted(self, calls: list[ToolCall]) -> AsyncGenerator[ToolStarted | ToolFinished]:
        """Run tools; yield what happens, and keep the results in the calls' order."""
        shows_media = takes_tool_media(self.plan.model)
        done: dict[str, ToolFinished] = {}
        steps = act(calls, self.plan.tools, self.plan.approve, self._tags)
        try:
            async with contextlib.aclosing(steps):
                async for event in steps:
                    self._trace_tool(event)
                    if isinstance(event, ToolFinished):
                        done[event.call.id] = event
                    yield event
        finally:
            for call in calls:
                self._messages.append(_result(call, done.get(call.id), shows_media=shows_media))

    def _trace_tool(self, event: ToolStarted | ToolFinished) -> None:
        call = event.call
        if isinstance(event, ToolStarted):
            arguments = call.raw_arguments or call.arguments
            self._trace.add("tool_start", call_id=call.id, name=call.name, arguments=arguments)
            return
        # How long a tool took would differ with each replay.
        took = 0.0 if isinstance(self.plan.model, RecordingModel) else round(event.seconds, 3)
        self._trace.add(
            "tool_end",
            call_id=call.id,
            name=call.name,
            is_error=event.is_error,
            was_refused=event.was_refused,
            seconds=took,
            content=event.content,
        )

    # -- its trace and its end

    def _begin(self) -> None:
        plan = self.plan
        facts = {"max_iterations": plan.max_iterations, "tools": list(plan.tools)}
        self._trace.add("run_start", trace_id=self.id, model=plan.model_name, **facts)
        self._trace.add("settings", settings=plan.settings)
        for message in self._messages:
            self._trace.add("message", message=self._trace.message(message))

    def _end(self, reason: str, error: BaseException | None) -> RunEnded:
        self.plan.spending.forget(self.id)
        if self._is_asking:  # what an answer cost that broke off nobody knows
            self._cost = None
        why = {
            "completed": "",
            "cancelled": "It was stopped on request.",
            "max_iterations": f"The model called tools in each of {self._asked} answers.",
        }.get(reason, "")
        if error is not None:
            why = self._trace.text(str(error) or type(error).__name__)
        self._trace.add("final", stop_reason=reason, error=why, usage=self._usage, cost=self._cost)
        values = {
            "content": self._text,
            "messages": openai_messages(self._messages),
            "usage": self._usage,
            "cost": self._cost,
            "stop_reason": reason,
            "trace_id": self.id,
            "error": why,
        }
        return RunEnded(RunResult(values, records=tuple(self._trace.records), exception=error))


def _was_before_sending(error: BaseException) -> bool:
    """Whether nothing was sent: a bad request that no service answered is told by ourselves."""
    is_ours = isinstance(error, BadRequest) and error.status is None and error.request_id is None
    return is_ours or isinstance(error, BEFORE_SENDING)


def _ids_in(messages: list[Message]) -> Iterator[str]:
    """Yield the ids of calls in a conversation that goes on: a new one has another."""
    for message in messages:
        for call in message.get("tool_calls") or ():
            if (read := read_call(call)) is not None:
                yield read.id


def _hidden_secrets(tools: Mapping[str, Tool]) -> Iterator[str]:
    """Yield what tools are given without a model's knowledge and goes by a secret's name."""
    for tool in tools.values():
        for name, value in tool.hidden.items():
            if isinstance(value, str) and names_a_secret(name):
                yield value


def _result(call: ToolCall, finished: ToolFinished | None, *, shows_media: bool) -> Message:
    """Return the message that answers a call; one that did not end is answered as well."""
    if finished is None:
        content: Any = "Error: the call was stopped before its end."
        is_error = True
    else:
        content = finished.content if shows_media else as_text(finished.content)
        is_error = finished.is_error
    message: Message = {
        "role": "tool",
        "tool_call_id": call.id,
        "name": call.name,
        "content": content,
    }
    return {**message, "is_error": True} if is_error else message
