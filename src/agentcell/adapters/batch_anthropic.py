"""Anthropic's Message Batches: requests in one body, answers as lines of JSON.

Shapes as in anthropic 2.14 (``client.messages.batches``) and
https://docs.anthropic.com/en/docs/build-with-claude/batch-processing, read 2026-11-30: 100,000
requests and 256 MB a batch. A job has no name of ours there.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from agentcell.adapters import failures
from agentcell.adapters.addresses import joined
from agentcell.adapters.batch_jobs import BatchService, JobAnswer, JobState
from agentcell.adapters.whole_answers import answer_lines
from agentcell.errors import BatchError

_PAGE = 100
_CLOCKS = 300.0
"""Seconds that the service's clock and this machine's may differ."""

_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""By the service's word for an error, the status that it has elsewhere."""


class AnthropicBatches(BatchService):
    """Jobs of Messages."""

    most_rows = 100_000
    most_bytes = 50_000_000

    def line(self, custom_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return one request of a job."""
        return {"custom_id": custom_id, "params": dict(body)}

    async def create(self, lines: Sequence[bytes], token: str) -> str:  # noqa: ARG002 (no place)
        """Give the job."""
        body = b'{"requests":[' + b",".join(lines) + b"]}"
        made = await self.ask("POST", self._at(""), body=body)
        return self.text(made, "id", "name for the batch")

    async def look(self, job_id: str) -> JobState:
        """Return how far a job is."""
        found = await self.ask("GET", self._at(f"/{quote(job_id, safe='')}"))
        status = self.text(found, "processing_status", "status of the batch")
        return JobState(is_over=status == "ended")

    async def answers(self, job_id: str) -> AsyncGenerator[JobAnswer]:
        """Yield what came of each request."""
        # Where that is, the job says too, with an address of its own; no other host gets the key.
        url = self._at(f"/{quote(job_id, safe='')}/results")
        async for line in answer_lines(self.prepared, url, headers=await self.headers()):
            yield self._answer(self.line_of(line))

    async def find(self, token: str, begun: float, count: int) -> str | None:  # noqa: ARG002
        """Return the one job of that time with as many requests.

        Raises
        ------
        BatchError
            If there are several: which one it is, nobody can say.
        """
        page = await self.ask("GET", self._at(f"?limit={_PAGE}"))
        jobs = [job for job in page.get("data") or () if isinstance(job, dict)]
        found = [
            self.text(job, "id", "name for the batch")
            for job in jobs
            if _moment(job) >= begun - _CLOCKS and _count(job) == count
        ]
        if len(found) > 1:
            raise BatchError(
                f"A batch of {count:,} requests was perhaps given to {self.origin.name} before this"
                f" process died, and {len(found)} that are there look like it.",
                fix="cancel in the provider's console what is not needed, and begin with another"
                f" journal. They are {', '.join(found[:5])}.",
            )
        return found[0] if found else None

    async def cancel(self, job_id: str) -> None:
        """Ask the service to end a job."""
        await self.ask("POST", self._at(f"/{quote(job_id, safe='')}/cancel"))

    def _at(self, path: str) -> str:
        return joined(self.origin.address, f"{self.model.path}/batches{path}")

    def _answer(self, line: Mapping[str, Any]) -> JobAnswer:
        custom_id = str(line.get("custom_id"))
        result = line.get("result")
        result = result if isinstance(result, dict) else {}
        match result.get("type"):
            case "succeeded":
                return self.answered(custom_id, result.get("message"))
            case "expired":
                return self.expired(custom_id)
            case "canceled":
                return self.cancelled(custom_id)
            case "errored":
                error = result.get("error") or {}
                inner = error.get("error") or error
                return self.refused(custom_id, _STATUS.get(str(inner.get("type")), 500), error)
            case other:
                what = f"a result of an unknown kind, {str(other)[:40]!r}"
                failure = failures.no_answer(self.origin, what)
                return JobAnswer(custom_id=custom_id, error=failure)


def _moment(job: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(job.get("created_at"))).timestamp()
    except ValueError:
        return 0.0


def _count(job: Mapping[str, Any]) -> int:
    counts = job.get("request_counts")
    return sum(counts.values()) if isinstance(counts, dict) else -1
