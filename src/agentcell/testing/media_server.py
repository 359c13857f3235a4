"""A hosted media service on loopback: jobs, their states and their files, with what goes wrong.

The protocol is that of `agentcell.imaging.hosted`::

    with MediaServer(token="t") as server:
        server.job("queued", "success", files=[server.file("a.png", PIXEL)])
        backend = HostedMediaBackend(base_url=server.url, token="t")
        …
    assert server.charged == 1
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

from agentcell.testing.media_files import PIXEL, MediaFile, MediaHandler
from agentcell.testing.provider_server import ProviderServer
from agentcell.testing.replies import Reply, Request, Script

Step: TypeAlias = Literal["submit", "poll", "models", "cancel"]

SIGNATURE = "X-Amz-Signature=5ec2e7bead5ec2e7bead5ec2e7bead"
"""The query of every file's address: what no text may show."""

PREFIX = "/agent-integrations/media-generation"

_PLAIN = ("queued", "success")
_LONG_POLL = 0.02


@dataclass(slots=True, kw_only=True)
class MediaJob:
    """One job: what it says of itself, next first; the last state stays."""

    request_id: str
    states: list[str]
    kind: str = "image"
    files: Sequence[str] = ()
    thumbnails: Sequence[str] = ()
    model: str = "seedream-4-0-250828"
    cost: float | None = 0.039
    fields: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    key: str = ""
    polls: int = 0

    def document(self) -> dict[str, Any]:
        """Return what the service says now, and go one state on."""
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        said: dict[str, Any] = {"requestId": self.request_id, "status": state, "model": self.model}
        if self.cost is not None:
            said["costUsd"] = self.cost
        media: list[dict[str, str]] = []
        if state.strip().lower() == "success":
            for index, url in enumerate(self.files):
                media.append({"type": self.kind, "url": url})
                if index < len(self.thumbnails):
                    media[-1]["thumbnailUrl"] = self.thumbnails[index]
        return {**said, "media": media, **self.fields}


class MediaServer(ProviderServer):
    """The hosted media service.

    Jobs are kept by the idempotency key that they were sent with: the same key gives the same job,
    which is charged once.

    Parameters
    ----------
    token
        What requests must carry; empty: anything.
    takes_cancel
        Whether a job can be stopped, by DELETE.

    Attributes
    ----------
    jobs
        Those that were taken, in order; each was charged.
    posts, polls, cancels
        Requests of each kind, in order, those that went wrong included.
    shelf
        The files, by their names; `file_requests` are what asked for them.
    catalogue
        What the list of models answers.
    """

    handler = MediaHandler

    def __init__(self, *, token: str = "", takes_cancel: bool = True) -> None:
        super().__init__(key=token)
        self.takes_cancel = takes_cancel
        self.jobs: list[MediaJob] = []
        self.posts: list[Request] = []
        self.polls: list[Request] = []
        self.cancels: list[Request] = []
        self.shelf: dict[str, MediaFile] = {}
        self.file_requests: list[Request] = []
        self.catalogue: dict[str, Any] = {
            "curated": [
                {"id": "seedream-4-0-250828", "modality": "image"},
                {"id": "seedance-1-0-pro-fast-251015", "modality": "video"},
            ]
        }
        self._next: list[MediaJob] = []
        self._faults: dict[str, list[Script]] = {}
        self._lost_answers = 0

    def __enter__(self) -> Self:
        super().__enter__()
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    # -- the plan

    @property
    def charged(self) -> int:
        """How many jobs were paid for."""
        return len(self.jobs)

    @property
    def keys(self) -> list[str]:
        """The idempotency key of each submit, in order."""
        return [request.headers.get("idempotency-key", "") for request in self.posts]

    def job(self, *states: str, request_id: str = "", **facts: Any) -> Self:
        """Plan what the next wish becomes; without a plan it is one picture, after one poll.

        Parameters
        ----------
        states
            What it says at the submit and at each poll; the last one stays. By default it is
            queued, and then made.
        request_id
            Its name; by default ``req-1``, ``req-2``, …
        facts
            Other fields of a `MediaJob`.
        """
        self._next.append(MediaJob(request_id=request_id, states=list(states or _PLAIN), **facts))
        return self

    def file(self, name: str, data: bytes, **facts: Any) -> str:
        """Put a file on the shelf, over one of the same name, and return its signed address.

        Parameters
        ----------
        name
            The last part of the address.
        data
            Its bytes.
        facts
            Other fields of a `MediaFile`: ``status``, ``headers``, ``cut`` and ``stall`` (after so
            many bytes), ``has_length``, ``is_endless``, ``content_type``.
        """
        self.shelf[name] = MediaFile(name=name, data=data, **facts)
        return f"{self.url}/files/{name}?{SIGNATURE}"

    def fault(self, step: Step, *replies: Script) -> Self:
        """Answer the next requests of a kind so; those after them are served again.

        Parameters
        ----------
        step
            ``submit``, ``poll``, ``models`` or ``cancel``.
        replies
            With ``raw`` and a status, or a fault (``reset=-1``, ``stall=-1``, ``cut=-1``).
        """
        with self._lock:
            self._faults.setdefault(step, []).extend(replies)
        return self

    def lose_answer(self) -> Self:
        """Take the next wish, charge for it, and break the connection before the answer."""
        self._lost_answers += 1
        return self

    # -- the protocol

    def take(self, request: Request) -> Reply:
        """Record `request` and return its reply.

        Parameters
        ----------
        request
            As it came in.
        """
        self._record(request)
        path, _, query = request.path.partition("?")
        step = self._step(request.method, path)
        if step is None:
            return self._refusal(404, f"Cannot {request.method} {path}")
        with self._lock:
            {"submit": self.posts, "poll": self.polls, "cancel": self.cancels}.get(step, []).append(
                request
            )
            faults = self._faults.get(step, [])
            fault = faults.pop(0) if faults else None
        if fault is not None:
            made = fault(request) if callable(fault) else fault
            return Reply(raw=made) if isinstance(made, str) else made
        if not self.takes_key(request):
            return self._refusal(401, "invalid token")
        if step == "models":
            return _said({"success": True, "data": self._models(query)})
        if step == "submit":
            return self._submitted(request, path)
        return self._of_job(step, path.rpartition("/")[2])

    def _step(self, method: str, path: str) -> Step | None:
        ways: dict[Step, tuple[str, str]] = {
            "submit": ("POST", f"{PREFIX}/(?:images|videos)"),
            "poll": ("GET", f"{PREFIX}/requests/[^/]+"),
            "models": ("GET", f"{PREFIX}/models"),
        }
        if self.takes_cancel:
            ways["cancel"] = ("DELETE", f"{PREFIX}/requests/[^/]+")
        for step, (verb, way) in ways.items():
            if verb == method and re.fullmatch(way, path):
                return step
        return None

    def _submitted(self, request: Request, path: str) -> Reply:
        key = request.headers.get("idempotency-key", "")
        with self._lock:
            job = next((one for one in self.jobs if key and one.key == key), None)
            if job is None:
                job = self._next.pop(0) if self._next else self._plain_job()
                job.request_id = job.request_id or f"req-{len(self.jobs) + 1}"
                job.key, job.body = key, request.body
                job.kind = "video" if path.endswith("/videos") else job.kind
                self.jobs.append(job)
            is_lost = self._lost_answers > 0
            self._lost_answers -= is_lost
            said = job.document() if not is_lost else {}
        return Reply(reset=-1) if is_lost else _said({"success": True, "data": said})

    def _plain_job(self) -> MediaJob:
        number = len(self.jobs) + 1
        url = self.file(f"{number}.png", PIXEL, content_type="image/png")
        return MediaJob(request_id="", states=list(_PLAIN), files=[url])

    def _of_job(self, step: Step, request_id: str) -> Reply:
        with self._lock:
            job = next((one for one in self.jobs if one.request_id == request_id), None)
            if job is None:
                return self._refusal(404, "unknown request")
            if step == "cancel":
                job.states = ["cancelled"]
            else:
                job.polls += 1
            said = job.document()
        return _said({"success": True, "data": said})

    def _models(self, query: str) -> dict[str, Any]:
        live = {"upstream": [{"id": "seedream-live"}]} if query == "includeUpstream=true" else {}
        return self.catalogue | live

    def error_document(self, status: int, message: str, error: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002 (others say more)
        """Return the body of a refusal."""
        return {"success": False, "error": message, **error}

    def events(self, reply: Reply, model: str) -> Iterator[bytes]:
        """Yield nothing: the service streams no answers.

        Parameters
        ----------
        reply, model
            Of no matter here.
        """
        del reply, model
        return iter(())

    def document(self, reply: Reply, model: str) -> dict[str, Any]:
        """Return the envelope of an answer that says nothing.

        Parameters
        ----------
        reply, model
            Of no matter here.
        """
        del reply, model
        return {"success": True}

    def wait_for(
        self, step: Literal["submit", "poll"], count: int = 1, seconds: float = 60
    ) -> bool:
        """Wait until so many requests of a kind came in; say whether they did.

        Parameters
        ----------
        step, count
            Which, and how many.
        seconds
            How long at most.
        """
        came = self.posts if step == "submit" else self.polls
        end = time.monotonic() + seconds
        while len(came) < count and time.monotonic() < end:
            time.sleep(_LONG_POLL)
        return len(came) >= count


def _said(document: Mapping[str, Any]) -> Reply:
    return Reply(raw=json.dumps(document), headers={"content-type": "application/json"})
