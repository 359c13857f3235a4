"""Gemini's batches: requests in one body, answers in the job itself.

Shapes as in google-genai 3.6 (``client.batches``) and
https://ai.google.dev/gemini-api/docs/batch-api, read 2026-11-30: requests that come in the body may
have 20 MB together; a larger batch becomes several jobs.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from agentcell.adapters import failures
from agentcell.adapters.addresses import joined
from agentcell.adapters.batch_jobs import BatchService, JobAnswer, JobState
from agentcell.adapters.gemini_address import versioned

_PAGE = 100


class GeminiBatches(BatchService):
    """Jobs of generate_content."""

    most_rows = 10_000
    most_bytes = 15_000_000

    def line(self, custom_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return one request of a job."""
        return {"request": dict(body), "metadata": {"key": custom_id}}

    async def create(self, lines: Sequence[bytes], token: str) -> str:
        """Give the job."""
        body = (
            b'{"batch":{"displayName":'
            + json.dumps(token).encode()
            + b',"inputConfig":{"requests":{"requests":['
            + b",".join(lines)
            + b"]}}}}"
        )
        model = self.model.model_name
        name = model if "/" in model else f"models/{model}"
        made = await self.ask("POST", self._at(f"/{quote(name)}:batchGenerateContent"), body=body)
        return self.text(made, "name", "name for the batch")

    async def look(self, job_id: str) -> JobState:
        """Return how far a job is."""
        found = await self._job(job_id)
        state = str(_about(found).get("state") or "").rpartition("_STATE_")[2]
        if state == "FAILED" or (found.get("error") and state not in {"CANCELLED", "EXPIRED"}):
            error = found.get("error")
            said = error.get("message") if isinstance(error, dict) else None
            failure = self.overloaded(failures.one_line(str(said or "no reason was given")))
            return JobState(is_over=True, failure=failure)
        return JobState(is_over=state in {"SUCCEEDED", "CANCELLED", "EXPIRED"})

    async def answers(self, job_id: str) -> AsyncGenerator[JobAnswer]:
        """Yield what came of each request."""
        found = await self._job(job_id)
        for answer in _answers_in(found):
            metadata = answer.get("metadata")
            custom_id = str(metadata.get("key")) if isinstance(metadata, dict) else ""
            error = answer.get("error")
            if isinstance(error, dict):
                code = error.get("code")
                status = code if isinstance(code, int) and code >= 400 else 500  # noqa: PLR2004
                yield self.refused(custom_id, status, {"error": error})
            else:
                yield self.answered(custom_id, answer.get("response"))

    async def find(self, token: str, begun: float, count: int) -> str | None:  # noqa: ARG002
        """Return the job that has our name."""
        page = ""
        while True:
            found = await self.ask("GET", self._at(f"/batches?pageSize={_PAGE}{page}"))
            for job in found.get("operations") or ():
                if isinstance(job, dict) and _about(job).get("displayName") == token:
                    return self.text(job, "name", "name for the batch")
            if not (more := found.get("nextPageToken")):
                return None
            page = f"&pageToken={quote(str(more), safe='')}"

    async def cancel(self, job_id: str) -> None:
        """Ask the service to end a job."""
        await self.ask("POST", self._at(f"/{quote(job_id)}:cancel"))

    async def _job(self, job_id: str) -> dict[str, Any]:
        return await self.ask("GET", self._at(f"/{quote(job_id)}"))

    def _at(self, path: str) -> str:
        return joined(versioned(self.origin.address), path)


def _about(job: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = job.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _answers_in(job: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the answers: they stand in the job's metadata, or in its response."""
    for place in (_about(job).get("output"), job.get("response")):
        if not isinstance(place, dict):
            continue
        inlined = place.get("inlinedResponses")
        answers = inlined.get("inlinedResponses") if isinstance(inlined, dict) else None
        if answers:
            yield from (answer for answer in answers if isinstance(answer, dict))
            return
