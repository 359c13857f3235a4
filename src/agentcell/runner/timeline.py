"""A trace's records → a card that tells what happened, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentcell.card import card
from agentcell.safe_text import plain

_ENDS = {
    "completed": "Completed",
    "failed": "Failed",
    "cancelled": "Cancelled",
    "max_iterations": "Stopped: as often as it may, the model was asked",
    "budget": "Stopped by the budget",
}
_LONGEST_LINE = 120
_LONGEST_FOLDED = 4_000


def timeline(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the card of a run.

    Parameters
    ----------
    records
        As `FileSystemTraceStore` keeps them; no name of the trace and no date is shown, so that
        a run that is replayed shows the same.
    """
    last = records[-1] if records and records[-1].get("type") == "final" else {}
    title = _ENDS.get(str(last.get("stop_reason")), "Not ended")
    facts = [(str(number), line) for number, line in enumerate(_steps(records), 1)]
    if error := last.get("error"):
        facts.append(("Why", _short(str(error), 600)))
    if counted := _counted(last):
        facts.append(("Total", counted))
    return card(title, facts, _folded(records))


def _steps(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    ends = {one.get("call_id"): one for one in records if one.get("type") == "tool_end"}
    for record in records:
        match record.get("type"):
            case "model_start":
                yield f"asked {record.get('model')}"
            case "tool_start":
                yield f"{_call(record, _LONGEST_LINE)} · {_end(ends.get(record.get('call_id')))}"


def _folded(records: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the texts that open on a click: what tools were given and gave."""
    ends = {one.get("call_id"): one for one in records if one.get("type") == "tool_end"}
    found = []
    for record in records:
        if record.get("type") == "tool_start":
            end = ends.get(record.get("call_id")) or {}
            text = f"{_call(record, _LONGEST_FOLDED)}\n{_text(end.get('content'))}"
            found.append((f"{record.get('name')}: arguments and result", text))
    return found


def _call(record: Mapping[str, Any], longest: int) -> str:
    arguments = record.get("arguments")
    if isinstance(arguments, Mapping):
        said = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    else:
        said = str(arguments or "")
    return _short(f"{record.get('name')}({said})", longest)


def _end(record: Mapping[str, Any] | None) -> str:
    if record is None:
        return "not finished"
    seconds = record.get("seconds")
    took = f"{seconds:.1f} s · " if isinstance(seconds, float) and seconds >= 0.05 else ""  # noqa: PLR2004
    if not record.get("is_error"):
        return f"{took}ok"
    lines = _text(record.get("content")).removeprefix("Error: ").splitlines()
    return f"{took}failed: {_short(lines[0] if lines else '', _LONGEST_LINE)}"


def _text(content: Any) -> str:
    if isinstance(content, str):
        return _short(content, _LONGEST_FOLDED, one_line=False)
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") or part.get("tag") or "" for part in parts if isinstance(part, dict))
    return _short("\n".join(map(str, texts)), _LONGEST_FOLDED, one_line=False)


def _counted(last: Mapping[str, Any]) -> str:
    usage = last.get("usage")
    said = []
    if isinstance(usage, Mapping):
        names = (("input_tokens", "tokens in"), ("output_tokens", "out"))
        said += [f"{usage[name]:,} {word}" for name, word in names if usage.get(name) is not None]
    if last.get("cost") is not None:
        said.append(f"${last['cost']}")
    return ", ".join(said)


def _short(text: str, longest: int, *, one_line: bool = True) -> str:
    text = plain(text)
    text = " ".join(text.split()) if one_line else text
    return text if len(text) <= longest else f"{text[:longest]}…"
