"""Jobs of many requests, to answers in files, in the words of three vendors' batch services.

A server that has one says ``server.batches``. A job is given, looked at, and over after so many
looks; its requests are then answered as questions would be, by what the script says.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from agentcell.testing.anthropic_server import AnthropicServer
from agentcell.testing.gemini_server import GeminiServer
from agentcell.testing.openai_servers import ChatServer, ResponsesServer
from agentcell.testing.provider_server import ProviderServer
from agentcell.testing.replies import Reply, Request

if TYPE_CHECKING:
    from collections.abc import Mapping

_JSON = {"content-type": "application/json"}
_LINES = {"content-type": "application/x-jsonl"}
_CREATED = 1_790_000_000

Fate: TypeAlias = Literal["answered", "expired", "cancelled", "missing"]


@dataclass(slots=True)
class Job:
    """One job that was given: its requests by their names, and how often it was looked at."""

    job_id: str
    name: str
    requests: dict[str, Any]
    created: float
    looks: int = 0
    is_cancelled: bool = False
    lines: list[dict[str, Any]] = field(default_factory=list)


class BatchShelf:
    """A service's jobs.

    Attributes
    ----------
    jobs
        All that were given, in order.
    looks
        How many looks at a job say that it is in progress.
    ends
        How each job ends: ``completed``, ``failed``, ``expired`` or ``cancelled``.
    fate
        Returns what becomes of a request, by its name and body.
    deaf
        Whether a job is taken, and the connection then breaks before anybody hears of it.
    """

    def __init__(self, server: BatchServer) -> None:
        self._server = server
        self._lock = threading.Lock()
        self.jobs: list[Job] = []
        self.looks = 1
        self.ends = "completed"
        self.fate: Callable[[str, Any], Fate] = lambda _, __: "answered"
        self.deaf = False

    @property
    def given(self) -> list[str]:
        """The names of all requests that were ever given, in order."""
        return [name for job in self.jobs for name in job.requests]

    def add(self, name: str, requests: dict[str, Any], job_id: str, created: float) -> Job:
        """Keep a job."""
        with self._lock:
            job = Job(job_id, name, requests, created)
            self.jobs.append(job)
            return job

    def named(self, job_id: str) -> Job | None:
        """Return a job; None where there is none."""
        return next((job for job in self.jobs if job.job_id == job_id), None)

    def look(self, job: Job) -> bool:
        """Count a look, and return whether the job is over."""
        with self._lock:
            job.looks += 1
            return job.looks > self.looks or job.is_cancelled

    def outcomes(self, job: Job) -> Iterator[tuple[str, Fate, Reply]]:
        """Yield what becomes of each request, the last one first."""
        for custom_id, body in reversed(job.requests.items()):
            fate = "cancelled" if job.is_cancelled else self.fate(custom_id, body)
            if fate == "answered":
                yield custom_id, fate, self._server.reply_to(body)
            elif fate != "missing":
                yield custom_id, fate, Reply()


class BatchServer(ProviderServer):
    """A service that takes jobs as well as questions."""

    jobs_path: ClassVar[re.Pattern[str]]

    def __init__(self, *replies: Any, key: str = "") -> None:
        super().__init__(*replies, key=key)
        self.batches = BatchShelf(self)

    def take(self, request: Request) -> Reply:
        """Record `request` and return its reply.

        Parameters
        ----------
        request
            As it came in.
        """
        found = self.jobs_path.search(request.path.split("?")[0])
        if found is None:
            return super().take(request)
        self._record(request)
        if not self.takes_key(request):
            return self._refusal(401, "Incorrect API key provided.")
        return self.about_jobs(request, *found.groups())

    def reply_to(self, body: Any) -> Reply:
        """Return what the script says to one request of a job."""
        reply = self.next_reply()
        if callable(reply):
            reply = reply(Request("POST", self.path, {}, body, 0))
        return Reply(reply) if isinstance(reply, str) else reply

    def about_jobs(self, request: Request, *parts: str | None) -> Reply:
        """Return the answer to a request about jobs.

        Parameters
        ----------
        request
            As it came in.
        parts
            Of its address.
        """
        raise NotImplementedError

    def made(self, job: Job, document: Mapping[str, Any]) -> Reply:
        """Return the answer to a job that was given; nobody may hear it."""
        del job
        return Reply(cut=-1) if self.batches.deaf else _document(document)

    def no_job(self) -> Reply:
        """Return the refusal of a request about a job that is not there."""
        return self._refusal(404, "No such batch.")


class _OpenAIBatches(BatchServer):
    """OpenAI's jobs: files of requests and of answers."""

    jobs_path = re.compile(r"/(batches|files/[^/]+/content)(?:/([^/]+))?(?:/(cancel))?$")

    def about_jobs(self, request: Request, *parts: str | None) -> Reply:
        """Return the answer to a request about jobs, or the content of a file of answers."""
        kind, job_id, verb = parts
        if kind is not None and kind.startswith("files/"):
            return self._content(kind.split("/")[1])
        if job_id is None:
            return self._created(request.body) if request.method == "POST" else self._listed()
        job = self.batches.named(job_id)
        if job is None:
            return self.no_job()
        if verb:
            job.is_cancelled = True
        return _document(self._job(job, is_over=self.batches.look(job)))

    def _created(self, body: dict[str, Any]) -> Reply:
        file = self.files.stored.get(body["input_file_id"])
        if file is None:
            return self._refusal(400, "No such file.")
        requests = {}
        for line in file.data.splitlines():
            one = json.loads(line)
            if (one["method"], one["url"]) != ("POST", body["endpoint"]):
                return self._refusal(400, f"The url of {one['custom_id']} is not the endpoint.")
            if one["body"].get("stream"):
                return self._refusal(400, "Streaming is not supported in batches.")
            requests[one["custom_id"]] = one["body"]
        name = (body.get("metadata") or {}).get("agentcell", "")
        number = len(self.batches.jobs)
        job = self.batches.add(name, requests, f"batch_{number}", _CREATED + number)
        return self.made(job, self._job(job, is_over=False))

    def _listed(self) -> Reply:
        jobs = [self._job(job, is_over=False) for job in reversed(self.batches.jobs)]
        return _document({"object": "list", "data": jobs, "has_more": False})

    def _job(self, job: Job, *, is_over: bool) -> dict[str, Any]:
        ends = "cancelled" if job.is_cancelled else self.batches.ends
        status = ends if is_over else "in_progress"
        has_files = is_over and status != "failed"
        failure = {"data": [{"code": "invalid", "line": 1, "message": "Line 1 is no request."}]}
        return {
            "id": job.job_id,
            "object": "batch",
            "created_at": job.created,
            "status": status,
            "metadata": {"agentcell": job.name},
            "output_file_id": f"file-{job.job_id}-out" if has_files else None,
            "error_file_id": f"file-{job.job_id}-err" if has_files else None,
            "errors": failure if status == "failed" else None,
        }

    def _content(self, file_id: str) -> Reply:
        job = self.batches.named(file_id[5:-4])
        if job is None:
            return self.no_job()
        if not job.lines:
            job.lines = [self._line(*one) for one in self.batches.outcomes(job)]
        wants_errors = file_id.endswith("-err")
        return _lines(line for line in job.lines if _is_error(line) is wants_errors)

    def _line(self, custom_id: str, fate: Fate, reply: Reply) -> dict[str, Any]:
        line: dict[str, Any] = {"id": "batch_req_1", "custom_id": custom_id, "error": None}
        if fate != "answered":
            code = {"expired": "batch_expired", "cancelled": "batch_cancelled"}[fate]
            return {**line, "response": None, "error": {"code": code, "message": fate}}
        raw = reply.raw
        body = self.document(reply, self.model) if raw is None else json.loads(raw)
        response = {"status_code": reply.status, "request_id": "req_1", "body": body}
        return {**line, "response": response}


class ChatBatchServer(_OpenAIBatches, ChatServer):
    """Speaks Chat Completions, and takes jobs of them."""

    files_as = "openai"


class ResponsesBatchServer(_OpenAIBatches, ResponsesServer):
    """Speaks Responses, and takes jobs of them."""


class AnthropicBatchServer(BatchServer, AnthropicServer):
    """Speaks Messages, and takes jobs of them."""

    jobs_path = re.compile(r"/messages/(batches)(?:/([^/]+))?(?:/(cancel|results))?$")

    def about_jobs(self, request: Request, *parts: str | None) -> Reply:
        """Return the answer to a request about jobs."""
        _, job_id, verb = parts
        if job_id is None and request.method == "GET":
            jobs = [self._job(job, is_over=False) for job in reversed(self.batches.jobs)]
            return _document({"data": jobs, "has_more": False})
        if job_id is None:
            requests = {one["custom_id"]: one["params"] for one in request.body["requests"]}
            if any(one.get("stream") for one in requests.values()):
                return self._refusal(400, "stream is not supported in batches.")
            name = f"msgbatch_{len(self.batches.jobs)}"
            job = self.batches.add("", requests, name, datetime.now(UTC).timestamp())
            return self.made(job, self._job(job, is_over=False))
        found = self.batches.named(job_id)
        if found is None:
            return self.no_job()
        if verb == "results":
            return _lines(self._line(*one) for one in self.batches.outcomes(found))
        if verb == "cancel":
            found.is_cancelled = True
        return _document(self._job(found, is_over=self.batches.look(found)))

    def _job(self, job: Job, *, is_over: bool) -> dict[str, Any]:
        counts = dict.fromkeys(("canceled", "errored", "expired", "succeeded"), 0)
        return {
            "id": job.job_id,
            "type": "message_batch",
            "processing_status": "ended" if is_over else "in_progress",
            "created_at": datetime.fromtimestamp(job.created, UTC).isoformat(),
            "request_counts": {"processing": len(job.requests), **counts},
            "results_url": f"https://elsewhere.invalid/{job.job_id}" if is_over else None,
        }

    def _line(self, custom_id: str, fate: Fate, reply: Reply) -> dict[str, Any]:
        result: dict[str, Any] = {"type": {"cancelled": "canceled"}.get(fate, fate)}
        if fate == "answered" and reply.raw is None:
            result = {"type": "succeeded", "message": self.document(reply, self.model)}
        elif fate == "answered":
            result = {"type": "errored", "error": json.loads(reply.raw or b"{}")}
        return {"custom_id": custom_id, "result": result}


class GeminiBatchServer(BatchServer, GeminiServer):
    """Speaks generate_content, and takes jobs of it."""

    jobs_path = re.compile(
        r"/(?:[^/]+:(batchGenerateContent)|batches(?:/([^/:]+))?(?::(cancel))?)$"
    )

    def about_jobs(self, request: Request, *parts: str | None) -> Reply:
        """Return the answer to a request about jobs."""
        creates, job_id, verb = parts
        if creates:
            batch = request.body["batch"]
            given = batch["inputConfig"]["requests"]["requests"]
            requests = {one["metadata"]["key"]: one["request"] for one in given}
            name = f"batches/{len(self.batches.jobs)}"
            job = self.batches.add(batch["displayName"], requests, name, _CREATED)
            return self.made(job, self._job(job, is_over=False))
        if job_id is None:
            jobs = [self._job(job, is_over=False) for job in self.batches.jobs]
            return _document({"operations": jobs})
        found = self.batches.named(f"batches/{job_id}")
        if found is None:
            return self.no_job()
        if verb:
            found.is_cancelled = True
            return _document({})
        return _document(self._job(found, is_over=self.batches.look(found)))

    def _job(self, job: Job, *, is_over: bool) -> dict[str, Any]:
        ends = "cancelled" if job.is_cancelled else self.batches.ends
        word = {"completed": "SUCCEEDED"}.get(ends, ends.upper()) if is_over else "RUNNING"
        about: dict[str, Any] = {"displayName": job.name, "state": f"BATCH_STATE_{word}"}
        whole: dict[str, Any] = {"name": job.job_id, "done": is_over, "metadata": about}
        if word == "FAILED":
            whole["error"] = {"code": 3, "message": "Line 1 is no request."}
        elif is_over:
            answers = [self._line(*one) for one in self.batches.outcomes(job)]
            about["output"] = {"inlinedResponses": {"inlinedResponses": answers}}
        return whole

    def _line(self, custom_id: str, fate: Fate, reply: Reply) -> dict[str, Any]:
        line: dict[str, Any] = {"metadata": {"key": custom_id}}
        if fate != "answered":
            return {**line, "error": {"code": 504, "message": f"the batch {fate}"}}
        if reply.raw is not None:
            return {**line, "error": json.loads(reply.raw).get("error")}
        return {**line, "response": self.document(reply, self.model)}


def _document(document: Mapping[str, Any]) -> Reply:
    return Reply(raw=json.dumps(document), headers=_JSON)


def _lines(lines: Iterator[dict[str, Any]]) -> Reply:
    return Reply(raw="".join(f"{json.dumps(line)}\n" for line in lines), headers=_LINES)


def _is_error(line: Mapping[str, Any]) -> bool:
    response = line["response"]
    return response is None or response["status_code"] != 200  # noqa: PLR2004 (OK)
