"""How a run goes and ends: its events, and its result, which shows itself as a timeline."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, Literal, TypeAlias

from agentcell.adapters.events import (
    Citation,
    Retrying,
    TextDelta,
    ThinkingDelta,
    Waiting,
)
from agentcell.agents.exchange import ToolFinished, ToolStarted
from agentcell.errors import AgentError
from agentcell.history.export_html import as_page
from agentcell.runner.timeline import timeline
from agentcell.safe_text import plain, safe_markdown

StopReason: TypeAlias = Literal["completed", "failed", "cancelled", "max_iterations", "budget"]
"""Why a run ended; only ``completed`` is a success."""


class RunResult(dict[str, Any]):
    """What came of a run: a mapping, and in a notebook a timeline with the answer.

    Its keys:

    - ``content``: the model's last text; empty if it said none;
    - ``messages``: the whole conversation, OpenAI-shaped: what was given, and what followed;
    - ``usage``: a `Usage`, the sum over all calls of the model; None where nobody counted;
    - ``cost``: US dollars (`Decimal`); None where one call's cost is not known, never 0 for it;
    - ``stop_reason``: see `StopReason`;
    - ``trace_id``: the name of its trace;
    - ``error``: why it failed or was stopped, in words; empty if it completed.

    Parameters
    ----------
    values
        By these keys.
    records
        The trace's records, as they were written.
    exception
        What ended the run, where something did.
    """

    def __init__(
        self,
        values: dict[str, Any],
        *,
        records: tuple[dict[str, Any], ...] = (),
        exception: BaseException | None = None,
    ) -> None:
        super().__init__(values)
        self.records = records
        self.exception = exception

    @property
    def is_success(self) -> bool:
        """Whether the model came to an end of its own."""
        return bool(self["stop_reason"] == "completed")

    def check(self) -> RunResult:
        """Return the result if the run completed.

        Raises
        ------
        Exception
            What ended it otherwise; an `AgentError` where it was cancelled or ran into a limit.
        """
        if self.is_success:
            return self
        if isinstance(self.exception, Exception):
            raise self.exception
        raise AgentError(
            f"The run ended as {self['stop_reason']!r}: {self['error']}",
            fix="raise the limit, or ask for less at once.",
        )

    def __repr__(self) -> str:
        said = self["content"]
        short = said if len(said) <= 80 else f"{said[:80]}…"  # noqa: PLR2004
        return f"RunResult({self['stop_reason']!r}, {len(self['messages'])} messages, {short!r})"

    def _repr_pretty_(self, printer: Any, cycle: object) -> None:
        # IPython prefers its own way to print a dict to the bundle's text.
        printer.text("RunResult(…)" if cycle else self._repr_mimebundle_()["text/plain"])

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        shown = timeline(self.records)
        if said := self["content"]:
            shown["text/markdown"] += f"\n\n{safe_markdown(said)}"
            shown["text/plain"] += f"\n\n{plain(said)}"
            shown["text/html"] += f'<div dir="auto">{as_page(said)}</div>'
        return shown


@dataclass(frozen=True, slots=True)
class ModelStarted:
    """The model is asked; `iteration` counts from 1."""

    type: ClassVar[str] = "model_start"
    iteration: int
    model: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over; always the last event."""

    type: ClassVar[str] = "final"
    result: RunResult = field(repr=False)

    @property
    def stop_reason(self) -> str:
        """See `StopReason`."""
        return str(self.result["stop_reason"])


RunEvent: TypeAlias = (
    ModelStarted
    | TextDelta
    | ThinkingDelta
    | Citation
    | Retrying
    | Waiting
    | ToolStarted
    | ToolFinished
    | RunEnded
)
"""What a run tells as it goes. Each has a `type`: ``model_start``, ``text``, ``thinking``,
``citation``, ``retrying``, ``waiting``, ``tool_start``, ``tool_end``, ``final``. Pieces of text
come only from models that stream."""


def total_cost(first: Decimal | None, more: Decimal | None) -> Decimal | None:
    """Return the sum of two costs; not known if one is not."""
    return None if first is None or more is None else first + more
