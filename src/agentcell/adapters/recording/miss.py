"""A question that is not in a recording, to what differs from the nearest one that is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from agentcell.adapters.recording.file import Recording
from agentcell.errors import ModelError

_AROUND = 24
"""Characters shown on each side of where two texts part."""

_LONGEST = 120

_FIX = (
    "run the cell once with %agent record (it asks the model), then save the notebook; where"
    ' AGENTCELL_MODE is set, set it to record; in Python, mode="record".'
)
"""The same everywhere: a notebook that shows a miss shows it alike in each place."""


class RecordingMiss(ModelError):
    """The recording holds no answer to this question, and nothing may be asked now."""


def missed(recording: Recording, asked: Mapping[str, Any]) -> RecordingMiss:
    """Return the error that names the nearest recorded question and where it differs."""
    where = recording.path.name
    nearest = max(recording.entries(), key=lambda entry: _alike(entry.asked, asked), default=None)
    provider, _, model = str(asked.get("model", "")).partition("/")
    if nearest is None:
        text = f"The recording {where} holds no answers yet."
    else:
        text = f"The recording {where} holds no answer to this. {difference(nearest.asked, asked)}"
    return RecordingMiss(text, fix=_FIX, provider=provider, model=model)


def difference(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return a sentence about the first thing in which two questions differ."""
    for name in ("model", "settings", "tools"):
        if recorded.get(name) != now.get(name):
            return _differs(name, recorded.get(name), now.get(name))
    before, after = recorded.get("messages") or [], now.get("messages") or []
    # From the end: what was typed last is what changed last.
    for back in range(1, min(len(before), len(after)) + 1):
        if before[-back] != after[-back]:
            number = len(after) - back + 1
            role = after[-back].get("role")
            return _differs(f"message {number} ({role})", before[-back], after[-back])
    return (
        f"The nearest recorded question follows {len(before) - 1} earlier messages,"
        f" this one {len(after) - 1}."
    )


def _differs(where: str, before: Any, after: Any) -> str:
    """Return where two values differ, as deep as both have the same shape."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in (*after, *before):
            if before.get(name, _NOTHING) != after.get(name, _NOTHING):
                # What a block is called says more than that it has a text.
                inner = where if name in {"content", "text"} else f"{where}, {_name(name)}"
                if name == "media" and after.get("tag"):
                    inner = f"{where}, the attachment {_name(after['tag'])}"
                return _differs(inner, before.get(name, _NOTHING), after.get(name, _NOTHING))
    if _is_list(before) and _is_list(after):
        named = _by_name(before), _by_name(after)
        if named[0] is not None and named[1] is not None:
            return _differs(where, named[0], named[1])
        for number, (one, other) in enumerate(zip(before, after, strict=False), start=1):
            if one != other:
                return _differs(where if len(after) == 1 else f"{where}, {number}", one, other)
        return f"In {where}, the nearest has {len(before)} parts, this question {len(after)}."
    old, new = _shown(before, after), _shown(after, before)
    return f"In {where}, the nearest has {old}; this question {new}."


_NOTHING = object()


def _name(value: object) -> str:
    """Return a name on one line, and not all of a long one."""
    said = " ".join(str(value).split())
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _by_name(values: Any) -> dict[str, Any] | None:
    """Return tools by their names; None if these are no tools."""
    if values and all(isinstance(one, Mapping) and "parameters" in one for one in values):
        return {str(one.get("name")): one for one in values}
    return {} if not values else None


def _shown(value: Any, other: Any) -> str:
    """Return a value, a long text only round the place where it leaves the other."""
    if value is _NOTHING:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not isinstance(other, str) or len(text) <= _LONGEST:
        return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
    same = next(
        (at for at, (a, b) in enumerate(zip(text, other, strict=False)) if a != b),
        min(len(text), len(other)),
    )
    start, end = max(0, same - _AROUND), same + _AROUND
    return repr(f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}")


def _alike(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> float:
    """Return how near two questions are: what was asked last counts most."""
    before, after = _last_text(recorded), _last_text(now)
    score: float = 4 * SequenceMatcher(None, before, after, autojunk=False).quick_ratio()
    score += 2 * (len(recorded.get("messages") or ()) == len(now.get("messages") or ()))
    earlier = (recorded.get("messages") or [])[:-1] == (now.get("messages") or [])[:-1]
    same = [recorded.get(name) == now.get(name) for name in ("model", "settings", "tools")]
    return float(score + 2 * earlier + sum(same))


def _last_text(asked: Mapping[str, Any]) -> str:
    messages = asked.get("messages") or [{}]
    return json.dumps(messages[-1].get("content"), ensure_ascii=False)[-2_000:]
