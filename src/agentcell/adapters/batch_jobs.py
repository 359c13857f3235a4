"""A provider's batch service: many requests given as one job, and their answers fetched later.

A job takes up to a day and most often costs half. What a vendor's service wants is a subclass's, in
`batch_openai`, `batch_anthropic` and `batch_gemini`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agentcell.adapters import failures
from agentcell.adapters.answer import read_document
from agentcell.adapters.events import Gathering
from agentcell.adapters.failures import Origin
from agentcell.adapters.prepared import Prepared
from agentcell.adapters.remote import RemoteModel
from agentcell.adapters.upload_failures import tried
from agentcell.adapters.upload_form import file_headers
from agentcell.adapters.whole_answers import whole_answer
from agentcell.errors import ModelError, Overloaded, ServiceError, Timeout
from agentcell.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """How far a job is.

    Parameters
    ----------
    is_over
        Whether nothing more will come of it.
    failure
        Why the job as a whole came to nothing; None: its answers can be fetched.
    """

    is_over: bool
    failure: ModelError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAnswer:
    """What came of one request of a job.

    Parameters
    ----------
    custom_id
        Its name, as it was given with the request.
    gathering
        The answer; None where there is an `error`.
    """

    custom_id: str
    gathering: Gathering | None = field(default=None, repr=False)
    error: ModelError | None = None


class BatchService:
    """The batch service behind one model.

    Parameters
    ----------
    model
        Whose requests are made. Its key and its address are used.
    """

    most_rows: ClassVar[int]
    """Requests in one job."""
    most_bytes: ClassVar[int]
    """Bytes of one job's requests."""

    def __init__(self, model: RemoteModel) -> None:
        self.model = model
        self.prepared: Prepared = model.prepared_apart()

    @property
    def origin(self) -> Origin:
        """Whom requests go to."""
        return self.prepared.origin

    # -- a subclass's --------------------------------------------------------------------------

    def line(self, custom_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return one request of a job."""
        raise NotImplementedError

    async def create(self, lines: Sequence[bytes], token: str) -> str:
        """Give a job and return its name.

        Parameters
        ----------
        lines
            What `request` returned.
        token
            A name of ours for the job, to find it by.
        """
        raise NotImplementedError

    async def look(self, job_id: str) -> JobState:
        """Return how far a job is."""
        raise NotImplementedError

    def answers(self, job_id: str) -> AsyncGenerator[JobAnswer]:
        """Yield what came of each request of a job that is over, in any order."""
        raise NotImplementedError

    async def find(self, token: str, begun: float, count: int) -> str | None:
        """Return the name of a job that was perhaps given, when nobody heard the answer.

        Parameters
        ----------
        token
            Our name for it.
        begun
            When it was about to be given, in seconds since 1970.
        count
            How many requests it holds.
        """
        raise NotImplementedError

    async def cancel(self, job_id: str) -> None:
        """Ask the service to end a job."""
        raise NotImplementedError

    # -- for all -------------------------------------------------------------------------------

    def request(
        self,
        custom_id: str,
        messages: list[Message],
        settings: Mapping[str, Any] | None,
    ) -> bytes:
        """Return one request of a job, as JSON. Nothing is sent.

        Raises
        ------
        ModelError
            For what the model cannot take.
        """
        _, body = self.model.as_sent(messages, None, settings)
        plain = json.loads(body.data())
        for name in ("stream", "stream_options"):
            plain.pop(name, None)
        text = json.dumps(self.line(custom_id, plain), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")

    async def ask(
        self, method: str, url: str, *, body: bytes | None = None, **form: Any
    ) -> dict[str, Any]:
        """Send one request about jobs, as often as the model's policy has it; return its JSON."""
        headers = {**await self.headers(), "accept": "application/json"}
        if body is not None:
            headers["content-type"] = "application/json"

        async def once() -> Any:
            return await whole_answer(
                self.prepared, method, url, headers=headers, content=body, **form
            )

        # What makes a job is sent once: nobody knows of a second one whether there was a first.
        answer = await (once() if method == "POST" else tried(once, self.prepared))
        try:
            found = json.loads(answer.content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            shown = failures.one_line(answer.text[:200], 80)
            raise failures.no_answer(self.origin, f"what tells of no job, {shown!r}")
        return found

    async def headers(self) -> dict[str, str]:
        """Return the headers of a request, but for what says how its body is."""
        own = await self.model.service_headers(self.prepared)
        return {**file_headers(own), **file_headers(self.prepared.headers), "accept": "*/*"}

    def answered(self, custom_id: str, document: Any) -> JobAnswer:
        """Return the answer that a document is."""
        gathering = Gathering()
        try:
            data = json.dumps(document).encode()
            decoder = self.model.decoder(self.origin)
            for event in read_document(data, decoder, self.origin):
                gathering.take(event)
            if not decoder.finished:
                for event in decoder.finish():
                    gathering.take(event)
        except ModelError as error:
            return JobAnswer(custom_id=custom_id, error=error)
        return JobAnswer(custom_id=custom_id, gathering=gathering)

    def refused(self, custom_id: str, status: int, body: Any) -> JobAnswer:
        """Return the error that one request was answered with."""
        data = json.dumps(body).encode()
        error = failures.from_answer(self.origin, status, {}, data)
        return JobAnswer(custom_id=custom_id, error=error)

    def expired(self, custom_id: str) -> JobAnswer:
        """Return the error of a request to which the service did not come in time."""
        error = self.origin.error(
            Timeout,
            f"{self.origin.name} did not come to this row before its batch expired.",
            "ask about it again: result.retry(), or the same batch with the same journal.",
        )
        return JobAnswer(custom_id=custom_id, error=error)

    def cancelled(self, custom_id: str) -> JobAnswer:
        """Return the error of a request whose job was ended at the service."""
        error = self.origin.error(
            ServiceError,
            f"{self.origin.name} did not answer this row: its batch was cancelled.",
            "ask about it again: result.retry(), or the same batch with the same journal.",
        )
        return JobAnswer(custom_id=custom_id, error=error)

    def unanswered(self, custom_id: str) -> JobAnswer:
        """Return the error of a request of which a job that is over says nothing."""
        error = self.origin.error(
            ServiceError,
            f"{self.origin.name} says nothing of this row: its batch ended without it.",
            "ask about it again: result.retry(), or the same batch with the same journal.",
        )
        return JobAnswer(custom_id=custom_id, error=error)

    def text(self, found: Mapping[str, Any], name: str, what: str) -> str:
        """Return a text of an answer.

        Raises
        ------
        ServiceError
            If it holds none.
        """
        value = found.get(name)
        if not isinstance(value, str) or not value.strip():
            raise failures.no_answer(self.origin, f"no {what}")
        return value

    def line_of(self, line: bytes) -> dict[str, Any]:
        """Return the JSON object of a line of answers.

        Raises
        ------
        ServiceError
            If it is none.
        """
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            shown = failures.one_line(line[:200].decode("utf-8", "replace"), 80)
            raise failures.no_answer(self.origin, f"a line that is no answer, {shown!r}")
        return found

    def overloaded(self, said: str) -> ModelError:
        """Return the error of a job that came to nothing."""
        return self.origin.error(
            Overloaded if "limit" in said else ServiceError,
            f"{self.origin.name} did nothing of the batch: {said}",
            "correct what it names and run the batch again; finished rows are kept.",
        )
