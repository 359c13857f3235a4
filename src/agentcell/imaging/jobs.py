"""Jobs that may be paid for ↔ a file of lines, each on disk before its job goes a step further."""

from __future__ import annotations

import contextlib
import json
import threading
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from agentcell.errors import JobsWarning, NotResumable
from agentcell.imaging.job import (
    STATES,
    Job,
    JobState,
    dollars,
    moment,
    place_of,
    place_record,
    record_of,
    without_keys,
    without_secrets,
)
from agentcell.imaging.job_file import append, read
from agentcell.imaging.wish import GenerationWish
from agentcell.safe_text import shown_value

FILE = "jobs.jsonl"

_LONGEST_PROBLEM = 500
"""Characters of a problem that are kept."""


class JobLedger:
    """All jobs of a notebook's folder. It may be shared between threads, its file by kernels.

    A line is on disk, whole, before `plan` and `update` return. A damaged line (a power cut, a
    full disk) costs that line and no other. Nothing is ever changed or taken out of the file.
    Where the file cannot be used, jobs are kept in memory, and one warning says so.

    Parameters
    ----------
    path
        The file, ``.agentcell/jobs.jsonl`` beside the notebook; made with the first job. None:
        all is kept in memory, and nothing is said about it.
    tell
        Takes a sentence about trouble. None: it becomes a `JobsWarning`.

    Examples
    --------
    >>> ledger = JobLedger()
    >>> job = ledger.plan(GenerationWish(prompt="a fox"), "hosted")
    >>> job = ledger.update(job, state="accepted", request_id="req-1")
    >>> [one.request_id for one in ledger.unfinished()]
    ['req-1']
    """

    def __init__(
        self, path: Path | None = None, *, tell: Callable[[str], None] | None = None
    ) -> None:
        self.path = None if path is None else Path(path).expanduser().absolute()
        self._tell = tell or _warn
        self._lock = threading.RLock()
        self._in_memory: list[str] = []
        self._is_told = False

    def __repr__(self) -> str:
        return f"JobLedger({str(self.path) if self.path else 'in memory'!r})"

    @property
    def home(self) -> Path | None:
        """The notebook's folder: paths in it are written without it."""
        if self.path is None:
            return None
        folder = self.path.parent
        return folder.parent if folder.name == ".agentcell" else folder

    def plan(self, wish: GenerationWish, backend: str, *, cell: str = "") -> Job:
        """Write down what is about to be asked, before anything is sent.

        Parameters
        ----------
        backend
            The name of who is to make it.
        cell
            The id of the notebook cell that asks.
        """
        now = datetime.now(UTC)
        job = Job(
            id=f"job-{uuid.uuid4().hex[:10]}",
            key=uuid.uuid4().hex,
            backend=backend,
            wish=record_of(wish, self.home),
            state="planned",
            created=now,
            updated=now,
            cell=cell,
            home=self.home,
        )
        line: dict[str, Any] = {"job": job.id, "at": now.isoformat(), "state": job.state}
        line |= {"key": job.key, "backend": backend, "wish": job.wish}
        self._write(line | ({"cell": cell} if cell else {}))
        return job

    def update(  # noqa: PLR0913 (each is a fact of its own)
        self,
        job: Job,
        *,
        state: JobState | None = None,
        request_id: str | None = None,
        model: str | None = None,
        files: Iterable[Path] | None = None,
        held: Iterable[Path] | None = None,
        cost: Decimal | None = None,
        problem: str | None = None,
    ) -> Job:
        """Write down what is new of a job, and return it as it is then.

        Parameters
        ----------
        job
            As it was last returned.
        state, request_id, model, files, held, cost, problem
            See `Job`; what is None stays as it is.
        """
        if state is not None and state not in STATES:
            raise ValueError(f"state is {state!r}; one of {', '.join(STATES)} was expected")
        new: dict[str, Any] = {
            "state": state,
            "request_id": None if request_id is None else without_keys(request_id),
            "model": None if model is None else without_secrets(model),
            "files": self._places(files),
            "held": self._places(held),
            "cost": None if cost is None else str(cost),
            "problem": None if problem is None else without_secrets(problem)[:_LONGEST_PROBLEM],
        }
        line = {"job": job.id, "at": datetime.now(UTC).isoformat()}
        line |= {name: value for name, value in new.items() if value is not None}
        self._write(line)
        return self._changed(job, line)

    def jobs(self) -> tuple[Job, ...]:
        """Return all jobs, the oldest first."""
        found: dict[str, Job] = {}
        for line in self._lines():
            job = found.get(line["job"])
            with contextlib.suppress(KeyError, TypeError, ValueError):  # written by another version
                found[line["job"]] = self._begun(line) if job is None else self._changed(job, line)
        return tuple(found.values())

    def find(self, name: str) -> Job:
        """Return the job of that id or request id, or the only one whose id begins so.

        Raises
        ------
        NotResumable
            If there is none, or several begin so.
        """
        jobs, name = self.jobs(), name.strip()
        exact = [job for job in jobs if name and name in (job.id, job.request_id)]
        short = name if name.startswith("job-") else f"job-{name}"
        near = [
            job
            for job in jobs
            if name and (job.id.startswith(short) or job.request_id.startswith(name))
        ]
        found = exact[-1:] or near
        if len(found) == 1:
            return found[0]
        shown = shown_value(name)
        if not found:
            raise NotResumable(
                f"No job is called {shown} here.", fix="see the jobs with `%generate jobs`."
            )
        raise NotResumable(
            f"{len(found)} jobs begin with {shown}: {', '.join(job.id for job in found[:5])}.",
            fix="write more of the name.",
        )

    def unfinished(self) -> tuple[Job, ...]:
        """Return those that may be paid for and whose files are not on disk, the oldest first."""
        return tuple(job for job in self.jobs() if job.is_unfinished)

    # -- lines ------------------------------------------------------------------------------

    def _write(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        text = text.encode("utf-8", "replace").decode("utf-8")  # a half of a character
        with self._lock:
            self._in_memory.append(text)
            if self.path is None:
                return
            try:
                append(self.path, "\n".join(self._in_memory))  # with what failed before
            except OSError as error:
                trouble = error.strerror or type(error).__name__
            else:
                self._in_memory.clear()
                return
            is_first, self._is_told = not self._is_told, True
        if is_first:  # last: a warning may be an error here
            self._tell(
                f"The list of jobs cannot be written to '{self.path}' ({trouble}): while this"
                " kernel runs it is kept in memory. Note the ids of what you pay for."
            )

    def _lines(self) -> Iterator[dict[str, Any]]:
        with self._lock:
            texts = list(self._in_memory)
        if self.path is not None:
            kept = read(self.path).split(b"\n")
            texts = [line.decode("utf-8", "replace") for line in kept] + texts
        for text in texts:
            with contextlib.suppress(ValueError, RecursionError):
                line = json.loads(text) if text.strip() else None
                if isinstance(line, dict) and isinstance(line.get("job"), str):
                    yield line

    def _begun(self, line: dict[str, Any]) -> Job:
        at = moment(line.get("at", ""))
        job = Job(
            id=line["job"],
            key=str(line["key"]),
            backend=str(line["backend"]),
            wish=dict(line["wish"]),
            state="planned",
            created=at,
            updated=at,
            cell=str(line.get("cell", "")),
            home=self.home,
        )
        return self._changed(job, line)

    def _changed(self, job: Job, line: dict[str, Any]) -> Job:
        """Return `job` with what a line says of it."""
        state = line.get("state", job.state)
        return replace(
            job,
            updated=moment(line.get("at", "")),
            state=state if state in STATES else "unknown",
            request_id=str(line.get("request_id", job.request_id)),
            model=str(line.get("model", job.model)),
            problem=str(line.get("problem", job.problem)),
            cost=dollars(line["cost"]) if "cost" in line else job.cost,
            files=self._paths(line["files"]) if "files" in line else job.files,
            held=self._paths(line["held"]) if "held" in line else job.held,
        )

    def _places(self, paths: Iterable[Path] | None) -> list[str] | None:
        return None if paths is None else [place_record(path, self.home) for path in paths]

    def _paths(self, texts: Iterable[str]) -> tuple[Path, ...]:
        return tuple(place_of(text, self.home) for text in texts)


def _warn(text: str) -> None:
    warnings.warn(text, JobsWarning, stacklevel=4)
