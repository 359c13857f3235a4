"""Every error that this package raises on purpose.

AgentcellError
├── CellError                the cell's line or text cannot be read
├── FieldError               a field is declared wrongly, or holds the wrong kind of value
│   └── FieldMissing         what is to travel along a graph's edge is not there
├── AttachmentError          a file cannot be used: missing, damaged, too large, of another type
├── ToolError                a tool cannot be called as asked
│   └── ToolServerFailed     an MCP server cannot be started or reached, or died
├── AgentError               an agent or a graph is put together wrongly
│   └── GraphNotBuilt        a graph is to run before it is built
├── AnswerError              the model's answer lacks what was asked for
├── SkillError               a skill's folder cannot be read
├── PromptError              a prompt file cannot be filled in as asked
│   └── PromptFormatError    a prompt file cannot be read; says its file and line
├── Stopped                  the person at the notebook stopped the work
│   └── BatchStopped         so ended a batch; what came until then is its `result`
├── BatchError               a batch cannot be begun, or gone on with, as asked
│   └── WorkerLost           a row's worker died again and again, or could not run it
├── HistoryError             the notebook's past turns cannot be read
├── ScanError                a file cannot be searched for keys
├── GenerationError          a picture or clip cannot be made as asked; nothing was sent
│   ├── NoBackend            nobody is set up who could make it
│   └── NotResumable         a job cannot be asked for again
├── DownloadError            an address may not be fetched, or what came is not what was wanted
├── PanelError               a panel in the page was told what it cannot do
├── PriceError               a price cannot be read
├── BudgetExceeded           asking would pass what may be spent
└── ModelError               the model, or the service behind it, said no
    ├── UnknownModel         no such provider, alias or model
    ├── KeyMissing           no API key was found
    ├── LocalModelMissing    the embedded reader's runtime or weights are not installed
    ├── Unsupported          this model cannot take that kind of part or setting
    ├── AuthenticationError  the key was refused
    ├── RateLimited          too many requests for now
    │   └── QuotaExceeded    nothing is left to spend; waiting does not help
    ├── BadRequest           the service cannot read the request
    │   ├── TooLarge         the request is larger than the model or the service takes
    │   └── ContentFiltered  the service refused the request for what it says or shows
    ├── ConnectionFailed     no connection, or it broke
    │   └── Timeout          no connection or no answer in time
    ├── GenerationFailed     a paid job failed, or nobody knows yet what became of it
    ├── ServiceError         the service failed (5xx)
    │   └── Overloaded       the service has too much to do for now
    └── StreamTruncated      the answer stopped before its end
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal
    from typing import Any

_SHOWN = 240
"""Characters of a problem that a repr shows."""

_MOST_LINES, _MOST_CHARACTERS = 11, 4_000
"""What a cell shows of a problem, and of what to do; some quote a service's whole answer."""

_TERMINAL_CODES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


class AgentcellError(Exception):
    """Something that the person at the notebook can fix.

    Parameters
    ----------
    problem
        What was given, and what was expected instead. One sentence.
    fix
        What to do now, in the imperative. May be empty.
    """

    def __init__(self, problem: str, *, fix: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.fix = fix

    def __repr__(self) -> str:
        text = repr(self.problem)
        return f"{type(self).__name__}({text if len(text) <= _SHOWN else text[:_SHOWN] + '…'})"

    def __str__(self) -> str:
        return _readable(f"{self.problem}\nFix: {self.fix}" if self.fix else self.problem)

    def __reduce__(self) -> tuple[object, ...]:
        # Without this a pickled error (from a worker process) loses its fix.
        return (_rebuild, (type(self), self.problem, self.__dict__))

    def _render_traceback_(self) -> list[str]:
        # IPython prints these lines instead of the stack. (A subclass of IPython's
        # UsageError would not do: IPython tests `etype is UsageError`.)
        said = f"{type(self).__name__}: {_short(_readable(self.problem), _MOST_LINES)}"
        fix = f"{_frame('Fix')}: {_short(_readable(self.fix), 3)}"
        return [f"{said}\n{fix}" if self.fix else said]


_frame: Callable[[str], str] = str


def translate_frames(by: Callable[[str], str]) -> None:
    """Let the word before the way out be in the language of who reads it under a cell.

    Parameters
    ----------
    by
        Returns an English word in that language; ``str``: as it is.
    """
    global _frame  # noqa: PLW0603 (one reader)
    _frame = by


def _readable(text: str) -> str:
    """Return `text` without what a terminal obeys, hosts cannot save or nobody sees."""
    return _UNSEEN.sub("", _TERMINAL_CODES.sub("", text))


def _short(text: str, most_lines: int) -> str:
    text = re.sub(r"\n\s*\n", "\n", text).strip()
    lines = text[:_MOST_CHARACTERS].splitlines()
    short = "\n".join(lines[:most_lines])
    return short if len(short) >= len(text) else f"{short} …"


def _rebuild(kind: type[AgentcellError], problem: str, state: dict[str, object]) -> AgentcellError:
    error = kind.__new__(kind, problem)
    error.args = (problem,)
    error.__dict__.update(state)
    return error


class CellError(AgentcellError):
    """The cell's line or text cannot be read."""


class FieldError(AgentcellError, ValueError):
    """A field is declared wrongly, or holds the wrong kind of value."""


class FieldMissing(FieldError, KeyError):
    """What is to travel along a graph's edge is not there."""


class AttachmentError(AgentcellError, ValueError):
    """A file cannot be used: missing, damaged, too large, or of another type."""


class AttachmentWarning(UserWarning):
    """A file goes out otherwise than it was given: the service takes none of its kind."""


class ToolError(AgentcellError):
    """A tool cannot be called as asked."""


class ToolServerFailed(ToolError):
    """An MCP server cannot be started or reached, or died."""


class AgentError(AgentcellError, ValueError):
    """An agent or a graph is put together wrongly."""


class GraphNotBuilt(AgentError, RuntimeError):
    """A graph is to run before it is built."""


class AnswerError(AgentcellError, ValueError):
    """The model's answer lacks what was asked for."""


class SkillError(AgentcellError):
    """A skill's folder cannot be read."""


class PromptError(AgentcellError, ValueError):
    """A prompt file cannot be filled in as asked."""


class PromptFormatError(PromptError):
    """A prompt file cannot be read.

    Parameters
    ----------
    file
        Its path, or what it is called.
    line
        Where, counted from 1.
    reason
        What was found there and what was expected; a phrase without its full stop.
    fix
        What to do now, in the imperative. May be empty.
    """

    def __init__(self, file: object, line: int, reason: str, *, fix: str = "") -> None:
        super().__init__(f"{file}, line {line}: {reason}.", fix=fix)
        self.file = str(file)
        self.line = line
        self.reason = reason


class PromptWarning(UserWarning):
    """A prompt is filled in, though something about it is probably not what was meant."""


class Stopped(AgentcellError):
    """The person at the notebook stopped the work; what came until then is kept."""


class BatchStopped(Stopped):
    """A batch was stopped; what came until then is kept.

    Parameters
    ----------
    result
        The `BatchResult` until then. In a notebook, after the cell: ``sys.last_value.result``.
    """

    def __init__(self, problem: str, *, fix: str = "", result: Any = None) -> None:
        super().__init__(problem, fix=fix)
        self.result = result


class BatchError(AgentcellError, ValueError):
    """A batch cannot be begun, or gone on with, as asked."""


class WorkerLost(BatchError):
    """A row's worker died again and again, or could not run it."""


class HistoryError(AgentcellError):
    """The notebook's past turns cannot be read."""


class HistoryWarning(UserWarning):
    """The notebook's turns cannot be kept as they should be; the answer is there all the same."""


class JobsWarning(UserWarning):
    """The list of jobs cannot be kept as it should be; the work goes on all the same."""


class PanelError(AgentcellError):
    """A panel was told what it cannot do: by its page, or by a program in its name."""


class PriceError(AgentcellError, ValueError):
    """A price cannot be read."""


class BudgetExceeded(AgentcellError):
    """Asking would pass what may be spent, or nobody can say whether it may be.

    Parameters
    ----------
    usd
        The budget, in US dollars.
    spent
        What is spent or on its way.
    expected
        What the question is expected to cost; None where that is not known.
    """

    def __init__(
        self,
        problem: str,
        *,
        fix: str = "",
        usd: Decimal | None = None,
        spent: Decimal | None = None,
        expected: Decimal | None = None,
    ) -> None:
        super().__init__(problem, fix=fix)
        self.usd = usd
        self.spent = spent
        self.expected = expected


class ScanError(AgentcellError):
    """A file cannot be searched for keys, so nobody can say that it holds none."""


class GenerationError(AgentcellError, ValueError):
    """A picture or clip cannot be made as asked. Raised before anything is sent."""


class NoBackend(GenerationError):
    """Nobody is set up who could make pictures or clips of that kind."""


class NotResumable(GenerationError):
    """A job cannot be asked for again: its service keeps none, or nobody knows its id."""


class DownloadError(AgentcellError):
    """An address may not be fetched, or what came is not what was wanted."""


class ModelError(AgentcellError):
    """The model, or the service behind it, said no.

    Parameters
    ----------
    provider, model
        Who was asked, for example ``"openai"`` and ``"gpt-4.1"``.
    status
        The HTTP status, or None where there was no answer.
    request_id
        The provider's name for the request, to quote to its support.
    retry_after
        Seconds to wait, where the provider said so.
    retryable
        Whether the same request may succeed later.
    """

    is_billed: bool | None = None
    """Whether it may have been paid for; None where nobody knows. Told of generations only."""

    def __init__(  # noqa: PLR0913 (each is a fact of its own about the failed call)
        self,
        problem: str,
        *,
        fix: str = "",
        provider: str = "",
        model: str = "",
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(problem, fix=fix)
        self.provider = provider
        self.model = model
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after
        self.retryable = retryable


class UnknownModel(ModelError):
    """No such provider, alias or model."""


class KeyMissing(ModelError):
    """No API key was found."""


class LocalModelMissing(ModelError):
    """The embedded reader's runtime or weights are not installed."""


class Unsupported(ModelError, ValueError):
    """The model cannot take that kind of part or setting. Raised before any request."""


class AuthenticationError(ModelError):
    """The key was refused (401, 403)."""


class RateLimited(ModelError):
    """Too many requests for now (429)."""


class QuotaExceeded(RateLimited):
    """Nothing is left to spend on this key (429 or 402). Waiting does not help."""


class BadRequest(ModelError):
    """The service cannot read the request (other 4xx)."""


class TooLarge(BadRequest):
    """The request is larger than the model or the service takes (413, or too many tokens)."""


class ContentFiltered(BadRequest):
    """The service refused the request for what it says or shows."""


class ConnectionFailed(ModelError):
    """No connection to the service, or it broke before an answer began."""


class Timeout(ConnectionFailed):
    """No connection, or no answer, in the time that was given."""


class GenerationFailed(ModelError):
    """A job that may be paid for failed, or nobody knows yet what became of it.

    Parameters
    ----------
    job_id
        Its name in the ledger, for ``%generate resume``; empty if it has none.
    is_billed
        Whether it may have been paid for; None where nobody knows.
    is_over
        Whether it can be no more; False: it may still run, and can be asked for again.
    """

    def __init__(
        self,
        problem: str,
        *,
        fix: str = "",
        job_id: str = "",
        is_billed: bool | None = None,
        is_over: bool = True,
        **facts: Any,
    ) -> None:
        super().__init__(problem, fix=fix, **facts)
        self.job_id = job_id
        self.is_billed = is_billed
        self.is_over = is_over


class ServiceError(ModelError):
    """The service failed (5xx), or answered something that is no answer."""


class Overloaded(ServiceError):
    """The service has too much to do for now (503, 529)."""


class StreamTruncated(ModelError):
    """The answer stopped before the provider said that it was at its end."""
