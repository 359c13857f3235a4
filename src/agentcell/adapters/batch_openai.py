"""OpenAI's Batch API: a file of requests goes up, a file of answers comes back.

Shapes as in openai 3.57 (``client.batches``, ``client.files``) and
https://platform.openai.com/docs/guides/batch, read 2026-11-30: 50,000 requests and 200 MB a batch.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from agentcell.adapters import failures
from agentcell.adapters.addresses import joined
from agentcell.adapters.batch_jobs import BatchService, JobAnswer, JobState
from agentcell.adapters.openai_client import is_openai
from agentcell.adapters.upload_form import KEPT_SECONDS
from agentcell.adapters.whole_answers import answer_lines

_OVER = frozenset({"completed", "failed", "expired", "cancelled"})
_OK = 200
_PAGE = 100


class OpenAIBatches(BatchService):
    """Jobs of Responses and of Chat Completions."""

    most_rows = 50_000
    most_bytes = 50_000_000

    def line(self, custom_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return one request of a job."""
        return {
            "custom_id": custom_id,
            "method": "POST",
            "url": f"/v1{self.model.path}",
            "body": dict(body),
        }

    async def create(self, lines: Sequence[bytes], token: str) -> str:
        """Send the file, then give the job."""
        form: dict[str, Any] = {"purpose": "batch"}
        if is_openai(self.origin.address):
            form["expires_after[anchor]"] = "created_at"
            form["expires_after[seconds]"] = str(KEPT_SECONDS)
        file = (f"{token}.jsonl", b"\n".join([*lines, b""]), "application/jsonl")
        sent = await self.ask("POST", self._at("/files"), files={"file": file}, data=form)
        job = {
            "input_file_id": self.text(sent, "id", "name for the file of requests"),
            "endpoint": f"/v1{self.model.path}",
            "completion_window": "24h",
            "metadata": {"agentcell": token},
        }
        made = await self.ask("POST", self._at("/batches"), body=json.dumps(job).encode())
        return self.text(made, "id", "name for the batch")

    async def look(self, job_id: str) -> JobState:
        """Return how far a job is."""
        found = await self._job(job_id)
        status = self.text(found, "status", "status of the batch")
        if status != "failed":
            return JobState(is_over=status in _OVER)
        listed = (found.get("errors") or {}).get("data") or [{}]
        said = failures.one_line(str(listed[0].get("message") or "no reason was given"))
        return JobState(is_over=True, failure=self.overloaded(said))

    async def answers(self, job_id: str) -> AsyncGenerator[JobAnswer]:
        """Yield what is in the file of answers, then what is in that of errors."""
        found = await self._job(job_id)
        headers = await self.headers()
        for name in ("output_file_id", "error_file_id"):
            if isinstance(file_id := found.get(name), str):
                url = self._at(f"/files/{quote(file_id, safe='')}/content")
                async for line in answer_lines(self.prepared, url, headers=headers):
                    yield self._answer(self.line_of(line))

    async def find(self, token: str, begun: float, count: int) -> str | None:  # noqa: ARG002
        """Return the job that has our name in its metadata."""
        after = ""
        while True:
            page = await self.ask("GET", self._at(f"/batches?limit={_PAGE}{after}"))
            jobs = [job for job in page.get("data") or () if isinstance(job, dict)]
            for job in jobs:
                if (job.get("metadata") or {}).get("agentcell") == token:
                    return self.text(job, "id", "name for the batch")
            last = jobs[-1] if jobs else {}
            is_older = last.get("created_at", time.time()) < begun - KEPT_SECONDS
            if not page.get("has_more") or is_older:
                return None
            after = f"&after={quote(self.text(last, 'id', 'name for the batch'), safe='')}"

    async def cancel(self, job_id: str) -> None:
        """Ask the service to end a job."""
        await self.ask("POST", self._at(f"/batches/{quote(job_id, safe='')}/cancel"))

    async def _job(self, job_id: str) -> dict[str, Any]:
        return await self.ask("GET", self._at(f"/batches/{quote(job_id, safe='')}"))

    def _at(self, path: str) -> str:
        return joined(self.origin.address, path)

    def _answer(self, line: Mapping[str, Any]) -> JobAnswer:
        custom_id = str(line.get("custom_id"))
        response, error = line.get("response"), line.get("error")
        if isinstance(response, dict):
            status = response.get("status_code") or _OK
            body = response.get("body")
            if status != _OK:
                return self.refused(custom_id, int(status), body)
            return self.answered(custom_id, body)
        code = error.get("code") if isinstance(error, dict) else None
        if code == "batch_expired":
            return self.expired(custom_id)
        if code == "batch_cancelled":
            return self.cancelled(custom_id)
        return JobAnswer(custom_id=custom_id, error=failures.from_event(self.origin, error or {}))
