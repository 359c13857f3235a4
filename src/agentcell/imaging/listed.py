"""What a media service lists of its models ↔ an entry of a recording: a replay asks nobody."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from agentcell.adapters.events import Finished, TextDelta
from agentcell.adapters.recording.canonical import key_of
from agentcell.adapters.recording.entry import Entry, error_record
from agentcell.adapters.recording.recorder import Recorder
from agentcell.errors import HistoryError, ModelError
from agentcell.imaging.recorded import REFUSED


async def listed(
    recorder: Recorder | None, list_now: Callable[[], Awaitable[Any]], *, include_upstream: bool
) -> Any:
    """Return what the service lists, from the recording where it is to be had from there.

    Parameters
    ----------
    recorder
        The session's.
    list_now
        Asks the service; its answer is made of JSON values.
    include_upstream
        What it is asked for: another list is another question.

    Raises
    ------
    ModelError
        If the service does not answer, or only the recording may, and it does not know.
    HistoryError
        If what is recorded cannot be read, or nothing can be written.
    """
    recording = recorder.recording if recorder else None
    mode = recorder.mode if recorder else "off"
    if recording is None:
        return await list_now()
    asked = _asked(include_upstream=include_upstream)
    entry = None if mode == "rerecord" else recording.get(key_of(asked))
    if entry is not None and (entry.is_whole or mode == "replay"):
        return _said(entry)
    if mode == "replay":
        from agentcell.adapters.recording.miss import missed

        raise missed(recording, asked)
    keeps = mode in {"record", "rerecord"}
    try:
        found = await list_now()
    except ModelError as error:
        if keeps and error.status is not None and error.status not in REFUSED:
            recording.put(_entry(asked, "", error))
        raise
    if keeps:
        recording.put(_entry(asked, json.dumps(found, ensure_ascii=False)))
    return found


def _asked(*, include_upstream: bool) -> dict[str, Any]:
    said = [{"role": "user", "content": [{"text": "list the models of the media service"}]}]
    settings = {"include_upstream": True} if include_upstream else {}
    return {"model": "", "settings": settings, "tools": [], "messages": said, "for": "models"}


def _entry(asked: dict[str, Any], text: str, failure: ModelError | None = None) -> Entry:
    return Entry(
        key=key_of(asked),
        asked=asked,
        events=((0.0, TextDelta(text)), (0.0, Finished(reason="stop"))),
        error=None if failure is None else error_record(failure),
    )


def _said(entry: Entry) -> Any:
    failure = entry.failure()
    if failure is not None:
        raise failure
    text = "".join(event.text for _, event in entry.events if isinstance(event, TextDelta))
    try:
        return json.loads(text)
    except ValueError as error:
        raise HistoryError(
            "A recorded list of models cannot be read.",
            fix="record it anew: %agent record --again.",
        ) from error
