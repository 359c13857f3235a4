"""A generation and what was asked for ↔ an entry of a recording, its files beside the recording."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agentcell.adapters.events import Finished
from agentcell.adapters.recording.canonical import key_of
from agentcell.adapters.recording.entry import Entry, error_record
from agentcell.adapters.recording.file import Recording
from agentcell.adapters.recording.recorder import Recorder
from agentcell.errors import GenerationFailed, HistoryError, ModelError
from agentcell.imaging.generation import Generation
from agentcell.imaging.job import dollars, without_secrets
from agentcell.imaging.wish import GenerationWish

_TYPE = "generation"
REFUSED = (401, 403)
"""Answers that say something about a key, not about what was asked: never kept."""

_PLAIN = ("kind", "count", "size", "format", "quality", "seed", "seconds", "aspect", "negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeFile:
    """One file as it was saved: the name it had, and its bytes.

    `kind` is ``image``, ``video``, or ``poster``: the still picture of the clip before it.
    """

    name: str
    kind: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeOnce:
    """What came of a job when it was recorded; of one that failed, without files."""

    backend: str
    job_id: str
    request_id: str = ""
    model: str = ""
    seed: int | None = None
    cost: Decimal | None = None
    revised_prompt: str = ""
    missing: tuple[str, ...] = ()
    files: tuple[MadeFile, ...] = ()
    failure: ModelError | None = None


def files_of(generation: Generation) -> tuple[MadeFile, ...]:
    """Return the files of what was made, each clip's poster after it."""
    files = []
    for one in generation.artifacts:
        files.append(MadeFile(name=one.path.name, kind=one.kind, data=one.path.read_bytes()))
        if one.poster is not None:
            poster = one.poster
            files.append(MadeFile(name=poster.name, kind="poster", data=poster.read_bytes()))
    return tuple(files)


def asked_of(wish: GenerationWish) -> dict[str, Any]:
    """Return what is asked for, in the one form that tells whether it was asked before.

    Parameters
    ----------
    wish
        As it was given, before it is chosen who makes it: that may differ between machines.
    """
    plain = {name: getattr(wish, name) for name in _PLAIN}
    content: list[dict[str, Any]] = [{"text": without_secrets(wish.prompt)}]
    content += [{"media": one.made_from or one.fingerprint()} for one in wish.references]
    if wish.mask is not None:
        content.append({"mask": wish.mask.made_from or wish.mask.fingerprint()})
    return {
        "model": wish.model,
        "settings": {name: value for name, value in plain.items() if value not in ("", None)},
        "tools": [],
        "messages": [{"role": "user", "content": content}],
        "for": _TYPE,
    }


def asked_again(name: str) -> dict[str, Any]:
    """Return what is asked for by resuming a job, by the name that the person gave."""
    said = [{"role": "user", "content": [{"text": f"resume {without_secrets(name)}"}]}]
    return {"model": "", "settings": {}, "tools": [], "messages": said, "for": _TYPE}


class Tape:
    """What is asked for, put to a recording if one is in use.

    Parameters
    ----------
    recorder
        The session's.
    asked
        See `asked_of` and `asked_again`.
    """

    def __init__(self, recorder: Recorder | None, asked: dict[str, Any]) -> None:
        self._asked = asked
        self._key = key_of(asked)
        self._mode = recorder.mode if recorder else "off"
        self._recording: Recording | None = recorder.recording if recorder else None

    @property
    def must_replay(self) -> bool:
        """Whether nobody may be asked."""
        return self._recording is not None and self._mode == "replay"

    @property
    def is_recording(self) -> bool:
        """Whether what is made now is kept."""
        return self._recording is not None and self._mode in {"record", "rerecord"}

    def found(self) -> MadeOnce | None:
        """Return what was recorded, if it is to be given; None where it is made now."""
        if self._recording is None or self._mode == "rerecord":
            return None
        entry = self._recording.get(self._key)
        if entry is None or not (entry.is_whole or self._mode == "replay"):
            return None
        return _of_entry(entry)

    def missed(self) -> ModelError:
        """Return the error of what is not in the recording, and may not be made now."""
        from agentcell.adapters.recording.miss import missed

        assert self._recording is not None  # noqa: S101 (asked after `must_replay`)
        return missed(self._recording, self._asked)

    def keep(self, made: MadeOnce) -> None:
        """Record what came, where that is wanted.

        Raises
        ------
        HistoryError
            If it cannot be written.
        """
        if self._recording is None or not self.is_recording:
            return
        failure = made.failure
        is_kept = isinstance(failure, GenerationFailed) or failure is None
        if failure is not None and not is_kept:
            is_kept = failure.status is not None and failure.status not in REFUSED
        if not is_kept:
            return  # it says something of the connection or the key
        self._recording.put(_entry(self._key, self._asked, made))


def _entry(key: str, asked: Mapping[str, Any], made: MadeOnce) -> Entry:
    failure = made.failure
    facts = {
        "type": _TYPE,
        "backend": made.backend,
        "job_id": made.job_id,
        "request_id": made.request_id,
        "seed": made.seed,
        "revised_prompt": made.revised_prompt,
        "missing": list(made.missing),
        "files": [
            {"name": one.name, "kind": one.kind, "data": base64.b64encode(one.data).decode()}
            for one in made.files
        ],
    }
    if failure is not None:
        facts["is_billed"] = failure.is_billed
        facts["is_over"] = getattr(failure, "is_over", True)
    end = Finished(
        reason="stop",
        model=made.model,
        opaque=({name: value for name, value in facts.items() if value not in ("", None, [])},),
        cost=None if made.cost is None else str(made.cost),
    )
    error = None if failure is None else error_record(failure)
    return Entry(key=key, asked=asked, events=((0.0, end),), error=error)


def _of_entry(entry: Entry) -> MadeOnce:
    ends = [event for _, event in entry.events if isinstance(event, Finished)]
    facts = next((one for end in ends for one in end.opaque if _is_ours(one)), None)
    if facts is None:
        raise HistoryError(
            "A recorded generation holds no files.", fix="record it anew: %agent record --again."
        )
    failure = entry.failure()
    if failure is not None:
        failure.is_billed = facts.get("is_billed")
        if isinstance(failure, GenerationFailed):
            failure.job_id = str(facts.get("job_id", ""))
            failure.is_over = bool(facts.get("is_over", True))
    return MadeOnce(
        backend=str(facts.get("backend", "")),
        job_id=str(facts.get("job_id", "")),
        request_id=str(facts.get("request_id", "")),
        model=ends[0].model,
        seed=facts.get("seed"),
        cost=None if ends[0].cost is None else dollars(ends[0].cost),
        revised_prompt=str(facts.get("revised_prompt", "")),
        missing=tuple(facts.get("missing", ())),
        files=tuple(_files(facts.get("files", ()))),
        failure=failure,
    )


def _files(records: Iterable[Mapping[str, Any]]) -> Iterable[MadeFile]:
    for one in records:
        try:
            data = base64.b64decode(one["data"], validate=True)
        except (KeyError, TypeError, binascii.Error) as error:
            raise HistoryError(
                "A file of a recorded generation is not whole.",
                fix="commit the folder beside the recording, or record anew.",
            ) from error
        yield MadeFile(name=str(one.get("name", "")), kind=str(one.get("kind", "image")), data=data)


def _is_ours(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("type") == _TYPE
