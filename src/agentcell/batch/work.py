"""One row and a model → its answer, what was paid for it, or why there is none.

The same code runs in a thread beside the caller and in a process on another machine. What a worker
hands back is a value: an error does not leave it as an exception.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentcell.adapters.events import Gathering, Usage
from agentcell.adapters.model import Model, innermost
from agentcell.adapters.recording import RecordingModel
from agentcell.adapters.recording.canonical import canonical, key_of
from agentcell.batch.stopping import Stopper
from agentcell.errors import AgentcellError, BatchError
from agentcell.loop import LOOP
from agentcell.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a row asks first: `Model.invoke`'s own arguments."""

    messages: list[Message] = field(repr=False)
    tools: list[dict[str, Any]] | None = field(default=None, repr=False)
    settings: dict[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model, as far as it is paid for.

    Parameters
    ----------
    usage
        What the provider counted; None where it did not say.
    recorded
        US dollars as a recording tells them; empty: nobody knew. None: it was no recording.
    processing
        ``"batch"`` where a provider's batch service answered, which has prices of its own.
    is_replayed
        Whether the answer came from a recording, so that nobody is paid.
    """

    usage: Usage | None = None
    recorded: str | None = None
    processing: str | None = None
    is_replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of one row.

    Parameters
    ----------
    value
        The answer; None where there is an `error`.
    calls
        Every call of the model, also those whose answers were no use.
    finish_reason
        Of the last answer, see `Finished`; empty where none came.
    """

    value: Any = field(default=None, repr=False)
    error: Exception | None = None
    calls: tuple[Call, ...] = ()
    finish_reason: str = ""


class Work(Protocol):
    """What is done with each row. It keeps nothing of a row; any number of threads may share it.

    Attributes
    ----------
    model
        Who is asked; anything with `invoke`.
    """

    model: Any

    def asked(self, row: Any) -> Asked:
        """Return what `row` asks first. Nothing is sent."""
        ...

    def run(self, row: Any, model: Any) -> Any:
        """Ask `model` about `row`, as often as need be, and return the answer's value."""
        ...

    def read(self, result: Mapping[str, Any]) -> Any:
        """Return the value of one whole answer, a `Model.invoke` result."""
        ...

    def kept(self, value: Any) -> Any:
        """Return a value as JSON values."""
        ...

    def restored(self, kept: Any) -> Any:
        """Return the value of which `kept` returned this."""
        ...


def key_of_row(work: Work, asked: Asked) -> str:
    """Return what a row is known by: the SHA-256 of all that it asks, attachments by content."""
    model = work.model
    name = model.name if isinstance(model, Model) else type(model).__name__
    settings = {**getattr(model, "invoke_settings", {}), **(asked.settings or {})}
    return key_of(canonical(name, asked.messages, asked.tools, settings))


class Counted:
    """Stands before a model for one row: asks it, and keeps what each call came to."""

    def __init__(self, model: Any, stopper: Stopper) -> None:
        self._model = model
        self._stopper = stopper
        self.calls: list[Call] = []
        self.finish_reason = ""
        self._replays = False

    def invoke(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Ask the model; see `Model.invoke`."""
        self._stopper.check()
        model = self._model
        self._replays = isinstance(model, RecordingModel) and model.is_answered(
            messages, tools, settings
        )
        if _is_async(self._model):
            events = self._model.astream(messages, tools, settings)
            result = self._taken(LOOP.run(self._stopper.gathered(events)))
        elif _has_stream(self._model):
            gathering = Gathering()
            for event in self._model.stream(messages, tools, settings):
                gathering.take(event)
            result = self._taken(gathering)
        else:
            result = self._model.invoke(messages=messages, tools=tools, settings=settings)
            usage = result.get("usage") if isinstance(result, dict) else None
            self.calls.append(Call(usage if isinstance(usage, Usage) else None))
        if isinstance(result, dict):
            self.finish_reason = str(result.get("finish_reason") or "stop")
        return result

    def _taken(self, gathering: Gathering) -> dict[str, Any]:
        finished = gathering.finished
        recorded = None if finished is None else finished.cost
        self.calls.append(Call(gathering.usage, recorded, is_replayed=self._replays))
        return gathering.result()


def _is_async(model: Any) -> bool:
    """Whether the model itself is asked on the loop: else a thread of ours waits for it better."""
    return isinstance(model, Model) and type(innermost(model)).astream is not Model.astream


def _has_stream(model: Any) -> bool:
    return isinstance(model, Model) and type(model).stream is not Model.stream


def worked(work: Work, model: Any, row: Any, stopper: Stopper) -> Done:
    """Ask about one row; whatever goes wrong is part of what is returned."""
    counted = Counted(model, stopper)
    value, error = None, None
    try:
        value = work.run(row, counted)
    except Exception as failure:  # noqa: BLE001 (it is the row's, and is handed over)
        error = failure.with_traceback(None)
    except BaseException as failure:  # noqa: BLE001 (a tool's exit, or a task that was cancelled)
        error = stopper.reason(failure)
    return Done(
        value=value,
        error=error,
        calls=tuple(counted.calls),
        finish_reason=counted.finish_reason,
    )


def portable(done: Done) -> Done:
    """Return `done` as it can leave this process."""
    error = done.error
    if error is not None and not _travels(error):
        said = error.problem if isinstance(error, AgentcellError) else str(error)
        error = BatchError(f"{type(error).__name__}: {said[:2000]}")
    elif not _travels(done.value):
        error = BatchError(
            f"The answer, a {type(done.value).__name__}, cannot leave the worker that made it.",
            fix="let the schema be a class of a module, or use threads.",
        )
    else:
        return done
    return Done(error=error, calls=done.calls, finish_reason=done.finish_reason)


def _travels(value: Any) -> bool:
    try:
        pickle.loads(pickle.dumps(value))  # noqa: S301 (made in this line)
    except Exception:  # noqa: BLE001 (whatever it is, it does not travel)
        return False
    return True
